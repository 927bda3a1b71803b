public import BLE
internal import Crypto

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// The key that a proxy and its clients share: 32 bytes, written as Base64, as in the configuration of ESPHome.
public struct EncryptionKey: Sendable {
    let bytes: SymmetricKey

    /// Reads a key. Throws `invalidArgument` if the text is not the Base64 form of 32 bytes.
    ///
    /// It throws rather than returning nil, which would stand for a connection without encryption.
    public init(_ text: String) throws(BLEError) {
        guard let data = Data(base64Encoded: text) else { throw Self.invalid }
        try self.init(bytes: Array(data))
    }

    /// Creates a key. Throws `invalidArgument` if it does not have 32 bytes.
    public init(bytes: [UInt8]) throws(BLEError) {
        guard bytes.count == 32 else { throw Self.invalid }
        self.bytes = SymmetricKey(data: bytes)
    }

    private static var invalid: BLEError {
        BLEError(
            .invalidArgument, "A key has 32 bytes, in Base64 44 characters.",
            remedy: "Copy the key from the configuration of the proxy: api, encryption, key.")
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
