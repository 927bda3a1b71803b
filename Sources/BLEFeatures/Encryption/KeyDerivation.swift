internal import Crypto

/// Derives a pairing key from a shared secret: HKDF-SHA256 (RFC 5869) with a salt and an info text known to both sides.
public struct KeyDerivation: Sendable, Hashable {
    /// The salt, of any length.
    public var salt: [UInt8]
    /// The info, which distinguishes keys for different purposes.
    public var info: [UInt8]

    /// Creates a derivation with the given bytes.
    public init(salt: [UInt8], info: [UInt8]) {
        self.salt = salt
        self.info = info
    }

    /// Creates a derivation with the UTF-8 encoding of the given texts.
    public init(salt: String, info: String) {
        self.init(salt: Array(salt.utf8), info: Array(info.utf8))
    }

    /// Derives a 32-byte key from a secret of any length, which should be as hard to guess as a key.
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

    /// Returns the same derivation with bytes appended to its info.
    func appending(_ bytes: [UInt8]) -> KeyDerivation { KeyDerivation(salt: salt, info: info + bytes) }

    /// Returns a derivation for one link. Its results depend on both the link's shared secret and the pairing key.
    static func link(_ pairingKey: MessageKey, _ purpose: String, _ transcript: [UInt8]) -> KeyDerivation {
        KeyDerivation(salt: pairingKey.bytes, info: Array(purpose.utf8) + transcript)
    }
}
