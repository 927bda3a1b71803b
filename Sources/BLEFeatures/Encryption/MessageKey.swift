internal import Crypto

/// A secret key of 32 bytes: a pairing key, which both sides keep, or a session key, which a connection uses.
///
/// Its memory is overwritten when the last copy goes. It shows its bytes only to who asks for ``bytes``; keys are compared
/// in constant time.
public struct MessageKey: Sendable, Equatable {
    /// How many bytes a key has.
    public static let size = 32

    let material: SymmetricKey

    init(_ material: SymmetricKey) {
        self.material = material
    }

    /// The key of these bytes, as ``bytes`` gave them; nil unless they are 32.
    public init?(_ bytes: [UInt8]) {
        guard bytes.count == Self.size else { return nil }
        self.init(SymmetricKey(data: bytes))
    }

    /// The 32 bytes, for storing a pairing key. The array is not overwritten when it goes.
    public var bytes: [UInt8] {
        material.withUnsafeBytes { [UInt8]($0) }
    }

    static let identifierSize = 8

    /// What names the key in the exchange that a central begins with this public key. Without the key, two such names do not tell
    /// whether they name the same one.
    func identifier(for publicKey: [UInt8]) -> [UInt8] {
        KeyDerivation(salt: publicKey, info: Array("swift-ble identifier".utf8))
            .bytes(Self.identifierSize, from: material)
    }
}

extension MessageKey: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// That it is a key; not which.
    public var description: String { "key of \(Self.size) bytes" }
    /// The same.
    public var debugDescription: String { description }
    /// Nothing inside.
    public var customMirror: Mirror { Mirror(self, children: []) }
}
