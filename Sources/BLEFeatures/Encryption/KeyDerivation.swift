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

    func bytes(_ count: Int, from secret: SymmetricKey) -> [UInt8] {
        HKDF<SHA256>.deriveKey(inputKeyMaterial: secret, salt: salt, info: info, outputByteCount: count)
            .withUnsafeBytes { [UInt8]($0) }
    }

    /// The same derivation with more bytes at the end of its info.
    func appending(_ bytes: [UInt8]) -> KeyDerivation { KeyDerivation(salt: salt, info: info + bytes) }

    /// The derivation of something of one link from its shared secret: only who has both that secret and the pairing key can make it.
    static func link(_ pairingKey: MessageKey, _ purpose: String, _ transcript: [UInt8]) -> KeyDerivation {
        KeyDerivation(salt: pairingKey.bytes, info: Array(purpose.utf8) + transcript)
    }
}
