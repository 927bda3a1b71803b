internal import Crypto

/// One side of a key exchange: an X25519 key (RFC 7748) that lives for one exchange.
///
/// The central sends ``request(resuming:)``, the peripheral reads it as a ``KeyExchangeRequest`` and answers with its own
/// ``publicKey``; each then has the same ``AgreedKeys``:
///
/// ```swift
/// let exchange = KeyExchange()
/// let reply = …                                       // to exchange.request()
/// let keys = try exchange.keys(with: reply, derivation: derivation)
/// var cipher = MessageCipher(.bound, role: .central, keys: keys)
/// ```
///
/// X25519 alone does not tell who the other side is. Whoever pairs anew trusts whom it reached; who resumes knows it is the
/// same device again, since the session's key depends on the pairing's.
public struct KeyExchange: Sendable {
    /// How many bytes a public key has.
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

    /// What the central sends: its public key; to resume, followed by the pairing key's identifier.
    public func request(resuming pairingKey: MessageKey? = nil) -> [UInt8] {
        publicKey + (pairingKey?.identifier ?? [])
    }

    /// What both sides have in common now that `publicKey` has come from the other one.
    ///
    /// With `pairingKey`, that key goes on; without, a new one is derived. Throws `invalidPublicKey`; and
    /// `keyUnknownToDevice` when there is a pairing key and the answer is empty, which is how a device says that it does not
    /// know it.
    public func keys(
        with publicKey: [UInt8], resuming pairingKey: MessageKey? = nil, derivation: KeyDerivation
    ) throws(MessageError) -> AgreedKeys {
        if pairingKey != nil, publicKey.isEmpty { throw .keyUnknownToDevice }
        let secret = try sharedSecret(with: publicKey)
        let pairingKey = pairingKey ?? derivation.key(from: secret)
        return AgreedKeys(
            pairingKey: pairingKey, sessionKey: KeyDerivation.session(pairingKey).key(from: secret))
    }

    /// The X25519 function of this key and the other side's.
    func sharedSecret(with publicKey: [UInt8]) throws(MessageError) -> SymmetricKey {
        guard publicKey.count == Self.publicKeySize,
            let publicKey = try? Curve25519.KeyAgreement.PublicKey(rawRepresentation: publicKey),
            let secret = try? privateKey.sharedSecretFromKeyAgreement(with: publicKey),
            // (a point of low order makes it zero, whatever this side's key: RFC 7748, section 6.1)
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

/// What a central asks for when it begins an exchange: what ``KeyExchange/request(resuming:)`` makes.
public struct KeyExchangeRequest: Sendable, Hashable {
    /// The central's public key, 32 bytes.
    public let publicKey: [UInt8]
    /// The ``MessageKey/identifier`` of the pairing key to resume with; nil to pair anew.
    public let identifier: [UInt8]?

    /// The request in a message's payload of 32 or 40 bytes; `invalidPublicKey` for any other length.
    public init(decoding payload: [UInt8]) throws(MessageError) {
        let size = KeyExchange.publicKeySize
        guard payload.count == size || payload.count == size + 8 else { throw .invalidPublicKey }
        publicKey = Array(payload.prefix(size))
        identifier = payload.count == size ? nil : Array(payload.dropFirst(size))
    }
}

/// The keys that both sides have after an exchange.
public struct AgreedKeys: Sendable, Equatable {
    /// The key of the pairing, to be kept for the next connection.
    public let pairingKey: MessageKey
    /// The key of this connection, to be forgotten with it.
    public let sessionKey: MessageKey
}
