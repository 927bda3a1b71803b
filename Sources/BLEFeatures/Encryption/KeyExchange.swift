internal import Crypto

/// One side of a key exchange: an X25519 key (RFC 7748) that lives for one exchange.
///
/// The central sends ``request(resuming:)``. The device reads it as a ``KeyExchangeRequest`` and replies with what
/// ``answer(_:resuming:derivation:mode:)`` returns. The central checks the reply with ``keys(from:resuming:derivation:mode:)``, and
/// in `bound` mode sends an empty encrypted message next, which confirms the keys to the device:
///
/// ```swift
/// let exchange = KeyExchange()
/// let reply = …                                       // to exchange.request()
/// let keys = try exchange.keys(from: reply, derivation: derivation)
/// var cipher = MessageCipher(.bound, role: .central, keys: keys)
/// ```
///
/// Resuming a pairing proves to each side that the other has the pairing key. Pairing anew does not tell who the other side is: an
/// attacker who stands between the two while they pair shares keys with both. `Docs/MessageEncryption.md` has the protocol.
public struct KeyExchange: Sendable {
    /// The length of a public key, in bytes.
    public static let publicKeySize = 32

    private let privateKey: Curve25519.KeyAgreement.PrivateKey

    /// An exchange with a new random key.
    public init() {
        privateKey = Curve25519.KeyAgreement.PrivateKey()
    }

    /// An exchange with a known key, for a test or a device with a fixed one. Throws `invalidPrivateKey` unless it has 32
    /// bytes.
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

    /// The payload that the central sends: its public key, 32 bytes; to resume a pairing, followed by 8 bytes that name the pairing
    /// key in this exchange only.
    public func request(resuming pairingKey: MessageKey? = nil) -> [UInt8] {
        publicKey + (pairingKey?.identifier(for: publicKey) ?? [])
    }

    /// The central's keys, from the payload of the device's reply.
    ///
    /// Throws `invalidPublicKey`; `confirmationFailed` in `bound` mode if the reply does not prove that the device has the same
    /// keys; `keyUnknownToDevice` if a pairing is to be resumed and the reply is empty, which is how a device says that it does
    /// not know the pairing key.
    ///
    /// - Parameter pairingKey: the key of the pairing to resume; nil to pair anew.
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
        // Every byte is compared, so that the time does not tell where they differ.
        let difference = zip(proof, keys.proof).reduce(0) { $0 | ($1.0 ^ $1.1) }
        guard proof.count == keys.proof.count, difference == 0 else { throw .confirmationFailed }
        return keys
    }

    /// The device's keys, and the payload of its reply: its public key, 32 bytes; in `bound` mode followed by 16 bytes that prove
    /// that it has the keys.
    ///
    /// In `bound` mode, keep and use the keys only after the central has confirmed them, with an empty encrypted message of the
    /// exchange's command. Throws `invalidPublicKey`.
    ///
    /// - Parameter pairingKey: the key of the pairing that the request resumes, ``KeyExchangeRequest/pairingKey(among:)``; nil to
    ///   pair anew.
    public func answer(
        _ request: KeyExchangeRequest, resuming pairingKey: MessageKey? = nil, derivation: KeyDerivation,
        mode: MessageCipher.Mode = .bound
    ) throws(MessageError) -> (keys: AgreedKeys, reply: [UInt8]) {
        let secret = try sharedSecret(with: request.publicKey)
        let keys = Agreement(central: request.publicKey, device: publicKey, secret: secret)
            .keys(resuming: pairingKey, derivation, mode)
        return (keys, publicKey + keys.proof)
    }

    /// The X25519 function of this key and the other side's.
    private func sharedSecret(with publicKey: [UInt8]) throws(MessageError) -> SymmetricKey {
        guard publicKey.count == Self.publicKeySize,
            let publicKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? privateKey.sharedSecretFromKeyAgreement(with: publicKey),
            // A point of low order makes it zero, whatever this side's key (RFC 7748, section 6.1).
            secret.withUnsafeBytes({ $0.reduce(0, |) }) != 0
        else { throw .invalidPublicKey }
        return SymmetricKey(data: secret)
    }
}

extension KeyExchange: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That it is a key exchange; not with which key.
    public var description: String { "X25519 key exchange" }
    /// The same.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

/// The public keys of an exchange as they were sent, and the secret that both sides compute.
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

/// What a central asks for when it begins an exchange: what ``KeyExchange/request(resuming:)`` makes.
public struct KeyExchangeRequest: Sendable, Hashable {
    /// The central's public key, 32 bytes.
    public let publicKey: [UInt8]
    /// Eight bytes that name the pairing key to resume with, in this exchange only; nil to pair anew.
    public let identifier: [UInt8]?

    /// The request in a message's payload of 32 or 40 bytes; `invalidPublicKey` for any other length.
    public init(decoding payload: [UInt8]) throws(MessageError) {
        let size = KeyExchange.publicKeySize
        guard payload.count == size || payload.count == size + MessageKey.identifierSize else {
            throw .invalidPublicKey
        }
        publicKey = Array(payload.prefix(size))
        identifier = payload.count == size ? nil : Array(payload.dropFirst(size))
    }

    /// The pairing key that the request resumes; nil if it is not among `keys`, or the request pairs anew.
    public func pairingKey(among keys: some Sequence<MessageKey>) -> MessageKey? {
        guard let identifier else { return nil }
        return keys.first { $0.identifier(for: publicKey) == identifier }
    }
}

/// The keys that both sides have after an exchange.
public struct AgreedKeys: Sendable, Equatable {
    static let proofSize = 16

    /// The key of the pairing, to be kept for the next connection.
    public let pairingKey: MessageKey
    /// The key of this connection, to be forgotten with it. In `firmware` mode it is the pairing key.
    public let sessionKey: MessageKey
    /// What shows the central that the device has the keys; empty in `firmware` mode.
    let proof: [UInt8]
}
