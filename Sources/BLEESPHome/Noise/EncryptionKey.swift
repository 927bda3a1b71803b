internal import Crypto
internal import FoundationEssentials

/// The key that a proxy and its clients share: 32 bytes, written as Base64, as in the configuration of ESPHome.
public struct EncryptionKey: Sendable {
    let bytes: SymmetricKey

    /// Reads a key. Nil if the text is not the Base64 form of 32 bytes.
    public init?(_ text: String) {
        guard let data = Data(base64Encoded: text) else { return nil }
        self.init(bytes: Array(data))
    }

    /// Creates a key. Nil if it does not have 32 bytes.
    public init?(bytes: [UInt8]) {
        guard bytes.count == 32 else { return nil }
        self.bytes = SymmetricKey(data: bytes)
    }

    private init(_ bytes: SymmetricKey) { self.bytes = bytes }

    /// Makes a random key.
    public static func random() -> EncryptionKey { EncryptionKey(SymmetricKey(size: .bits256)) }

    /// The key as Base64: 44 characters.
    public var text: String { bytes.withUnsafeBytes { Data($0).base64EncodedString() } }
}

extension EncryptionKey: CustomStringConvertible {
    /// A placeholder, so that a key does not get into a log. ``text`` is the key.
    public var description: String { "a key" }
}
