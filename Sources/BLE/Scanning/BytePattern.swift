/// A prefix to compare with some bytes, with a mask that can exclude bits.
///
/// ```swift
/// let beacons = DiscoveryCriteria.manufacturer(0x004C, [0x02, 0x15])  // iBeacons
/// let robots = DiscoveryCriteria.manufacturer(0xFFFF, BytePattern([0x10], mask: [0xF0]))  // first digit 1
/// ```
public struct BytePattern: Hashable, Sendable {
    /// The bytes of the prefix.
    public var bytes: [UInt8]
    /// The mask: bits that are 1 are compared. Nil for all bits of ``bytes``.
    public var mask: [UInt8]?

    /// Creates a pattern. An empty pattern matches everything.
    public init(_ bytes: [UInt8], mask: [UInt8]? = nil) {
        self.bytes = bytes
        self.mask = mask
    }

    /// Returns whether `data` begins with the pattern. Missing bytes, of the data or of the pattern, count as 0. Bytes
    /// beyond the mask are not compared.
    public func matches(_ data: [UInt8]) -> Bool {
        (0..<(mask ?? bytes).count).allSatisfy { index in
            (Self.byte(data, index) ^ Self.byte(bytes, index)) & (mask?[index] ?? 0xFF) == 0
        }
    }

    private static func byte(_ bytes: [UInt8], _ index: Int) -> UInt8 {
        index < bytes.count ? bytes[index] : 0
    }
}

extension BytePattern: ExpressibleByArrayLiteral {
    /// Creates a pattern that compares all bits.
    public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
}
