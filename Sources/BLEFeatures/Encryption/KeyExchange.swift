internal import Crypto

/// One side of a key exchange: an X25519 key (RFC 7748) for a single exchange.
///
/// The central sends ``request(resuming:)``. The device decodes it as a ``KeyExchangeRequest`` and replies with the
/// result of ``answer(_:resuming:derivation:mode:)``. The central checks the reply with
/// ``keys(from:resuming:derivation:mode:)``. In `bound` mode, it then sends an empty encrypted message, which confirms
/// the keys to the device:
///
/// ```swift
/// let exchange = KeyExchange()
/// let reply: [UInt8] = try await send(exchange.request())
/// let keys = try exchange.keys(from: reply, derivation: derivation)
/// var cipher = MessageCipher(.bound, role: .central, keys: keys)
/// ```
///
/// If a pairing is resumed, each side proves to the other that it has the pairing key. A new pairing does not
/// authenticate either side: an attacker in the middle can agree on a key with each of them.
/// `Docs/MessageEncryption.md` describes the protocol.
public struct KeyExchange: Sendable {
    /// The length of a public key, in bytes.
    public static let publicKeySize = 32
    /// The length of the device's reply in `bound` mode, in bytes.
    static let replySize = publicKeySize + AgreedKeys.proofSize

    private let privateKey: Curve25519.KeyAgreement.PrivateKey

    /// Creates an exchange with a new random key.
    public init() {
        privateKey = Curve25519.KeyAgreement.PrivateKey()
    }

    /// Creates an exchange with a known key, for a test or a device with a fixed key. Throws `invalidPrivateKey` unless
    /// it has 32 bytes.
    public init(privateKey: [UInt8]) throws(MessageError) {
        guard let key = try? Curve25519.KeyAgreement.PrivateKey(rawRepresentation: privateKey) else {
            throw .invalidPrivateKey
        }
        self.privateKey = key
    }

    /// This side's public key, 32 bytes.
    public var publicKey: [UInt8] {
        [UInt8](privateKey.publicKey.rawRepresentation)
    }

    /// Returns the payload of the central's request: its public key, 32 bytes. To resume a pairing, it is followed by 8
    /// bytes that identify the pairing key in this exchange only.
    public func request(resuming pairingKey: MessageKey? = nil) -> [UInt8] {
        publicKey + (pairingKey?.identifier(for: publicKey) ?? [])
    }

    /// Returns the central's keys, based on the payload of the device's reply.
    ///
    /// Throws `invalidPublicKey`; in `bound` mode `confirmationFailed` if the reply does not prove that the device has
    /// the same keys; `keyUnknownToDevice` if the reply to a request that resumes a pairing is empty, which means that
    /// the device does not know the pairing key.
    ///
    /// - Parameter pairingKey: the key of the pairing to resume. Nil for a new pairing.
    public func keys(
        from reply: [UInt8], resuming pairingKey: MessageKey? = nil, derivation: KeyDerivation,
        mode: MessageCipher.Mode = .bound
    ) throws(MessageError) -> AgreedKeys {
        if pairingKey != nil, reply.isEmpty { throw .keyUnknownToDevice }
        let key = Array(reply.prefix(Self.publicKeySize))
        let proof = reply.dropFirst(Self.publicKeySize)
        guard mode == .bound || proof.isEmpty else { throw .invalidPublicKey }
        let keys = try Agreement(central: publicKey, device: key, secret: sharedSecret(with: key))
            .keys(resuming: pairingKey, derivation, mode)
        // Compares all bytes, so that the time does not reveal the first difference.
        let difference = zip(proof, keys.proof).reduce(0) { $0 | ($1.0 ^ $1.1) }
        guard proof.count == keys.proof.count, difference == 0 else { throw .confirmationFailed }
        return keys
    }

    /// Returns the device's keys and the payload of its reply.
    ///
    /// The reply is the device's public key, 32 bytes. In `bound` mode, it is followed by 16 bytes that prove that the
    /// device has the keys.
    ///
    /// In `bound` mode, store and use the keys only after the central has confirmed them with an empty encrypted
    /// message that has the exchange's command. Throws `invalidPublicKey`.
    ///
    /// - Parameter pairingKey: the key of the pairing that the request resumes, see
    ///   ``KeyExchangeRequest/pairingKey(among:)``. Nil for a new pairing.
    public func answer(
        _ request: KeyExchangeRequest, resuming pairingKey: MessageKey? = nil, derivation: KeyDerivation,
        mode: MessageCipher.Mode = .bound
    ) throws(MessageError) -> (keys: AgreedKeys, reply: [UInt8]) {
        let secret = try sharedSecret(with: request.publicKey)
        let keys = Agreement(central: request.publicKey, device: publicKey, secret: secret)
            .keys(resuming: pairingKey, derivation, mode)
        return (keys, publicKey + keys.proof)
    }

    /// Computes the X25519 function of this side's private key and the other side's public key.
    private func sharedSecret(with publicKey: [UInt8]) throws(MessageError) -> SymmetricKey {
        guard publicKey.count == Self.publicKeySize,
            let publicKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? privateKey.sharedSecretFromKeyAgreement(with: publicKey),
            // With a point of low order, the secret is zero for any private key (RFC 7748, section 6.1).
            secret.withUnsafeBytes({ $0.reduce(0, |) }) != 0
        else { throw .invalidPublicKey }
        return SymmetricKey(data: secret)
    }
}

extension KeyExchange: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description that does not contain the key.
    public var description: String { "X25519 key exchange" }
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children, so that the key is not shown.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public keys of an exchange as sent, and the shared secret.
private struct Agreement {
    let central: [UInt8]
    let device: [UInt8]
    let secret: SymmetricKey

    func keys(
        resuming resumed: MessageKey?, _ derivation: KeyDerivation, _ mode: MessageCipher.Mode
    ) -> AgreedKeys {
        switch mode {
        case .firmware:
            let key = resumed ?? derivation.key(from: secret)
            return AgreedKeys(pairingKey: key, sessionKey: key, proof: [])
        case .bound:
            let transcript = central + device
            let key = resumed ?? derivation.appending(transcript).key(from: secret)
            let proof = KeyDerivation.link(key, "swift-ble confirmation", transcript)
            return AgreedKeys(
                pairingKey: key,
                sessionKey: KeyDerivation.link(key, "swift-ble session", transcript).key(from: secret),
                proof: proof.bytes(AgreedKeys.proofSize, from: secret))
        }
    }
}

/// The central's request for a key exchange, as created by ``KeyExchange/request(resuming:)``.
public struct KeyExchangeRequest: Sendable, Hashable {
    /// The central's public key, 32 bytes.
    public let publicKey: [UInt8]
    /// The 8 bytes that identify the pairing key to resume, in this exchange only. Nil for a new pairing.
    public let identifier: [UInt8]?

    /// Decodes the payload of a message, which has 32 or 40 bytes. Throws `invalidPublicKey` for any other length.
    public init(decoding payload: [UInt8]) throws(MessageError) {
        let size = KeyExchange.publicKeySize
        guard payload.count == size || payload.count == size + MessageKey.identifierSize else {
            throw .invalidPublicKey
        }
        publicKey = Array(payload.prefix(size))
        identifier = payload.count == size ? nil : Array(payload.dropFirst(size))
    }

    /// Returns the pairing key that the request resumes. Nil if the key is not among `keys`, or if the request is for a
    /// new pairing.
    public func pairingKey(among keys: some Sequence<MessageKey>) -> MessageKey? {
        guard let identifier else { return nil }
        return keys.first { $0.identifier(for: publicKey) == identifier }
    }
}

/// The keys that both sides have after an exchange.
public struct AgreedKeys: Sendable, Equatable {
    static let proofSize = 16

    /// The pairing key, to be stored for later connections.
    public let pairingKey: MessageKey
    /// The key of this connection, to be discarded with it. In `firmware` mode, it is the pairing key.
    public let sessionKey: MessageKey
    /// The proof for the central that the device has the keys. Empty in `firmware` mode.
    let proof: [UInt8]
}
