internal import Crypto

/// How a pairing key is made of a shared secret: HKDF-SHA256 (RFC 5869) with a salt and an info text that both sides know.
public struct KeyDerivation: Sendable, Hashable {
    /// The salt, of any length.
    public var salt: [UInt8]
    /// What the key is for.
    public var info: [UInt8]

    /// A derivation with these bytes.
    public init(salt: [UInt8], info: [UInt8]) {
        self.salt = salt
        self.info = info
    }

    /// A derivation with the UTF-8 of these texts.
    public init(salt: String, info: String) {
        self.init(salt: Array(salt.utf8), info: Array(info.utf8))
    }

    /// The 32-byte key that follows from a secret of any length, which should be as hard to guess as a key.
    public func key(from secret: [UInt8]) -> MessageKey {
        key(from: SymmetricKey(data: secret))
    }

    func key(from secret: SymmetricKey) -> MessageKey {
        MessageKey(
            HKDF<SHA256>.deriveKey(
                inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: MessageKey.size))
    }

    /// The derivation of a connection's session key from its own shared secret: nobody can make the key who lacks either
    /// that secret or the pairing key.
    static func session(_ pairingKey: MessageKey) -> KeyDerivation {
        KeyDerivation(salt: pairingKey.bytes, info: Array("swift-ble session".utf8))
    }
}
