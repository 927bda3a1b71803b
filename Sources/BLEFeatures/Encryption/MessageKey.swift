internal import Crypto

/// A secret key of 32 bytes: a pairing key, which both sides store, or a session key for one connection.
///
/// Its memory is overwritten when the last copy is released. Only ``bytes`` reveals the key. Keys are compared in
/// constant time.
public struct MessageKey: Sendable, Equatable {
    /// The length of a key, in bytes.
    public static let size = 32

    let material: SymmetricKey

    init(_ material: SymmetricKey) {
        self.material = material
    }

    /// Creates a key from its ``bytes``. Returns nil unless there are 32.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.init(SymmetricKey(data: bytes))
    }

    /// The 32 bytes, for storing a pairing key. The array is not overwritten when it is released.
    public var bytes: [UInt8] {
        material.withUnsafeBytes { [UInt8]($0) }
    }

    static let identifierSize = 8

    /// Returns bytes that identify the key in the exchange with the given public key of the central. Without the key,
    /// it cannot be determined whether two identifiers belong to the same key.
    func identifier(for publicKey: [UInt8]) -> [UInt8] {
        KeyDerivation(salt: publicKey, info: Array("swift-ble identifier".utf8))
            .bytes(Self.identifierSize, from: material)
    }
}

extension MessageKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// A description that does not contain the key.
    public var description: String { "key of \(Self.size) bytes" }
    /// The same as `description`.
    public var debugDescription: String { description }
    /// A mirror without children, so that the key is not shown.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
