/// The beginning of some bytes, of which a mask may leave out bits.
///
/// ```swift
/// .manufacturer(0x004C, [0x02, 0x15])                                  // an iBeacon
/// .manufacturer(0xFFFF, BytePattern([0x10], mask: [0xF0]))             // first digit 1
/// ```
public struct BytePattern: Hashable, Sendable {
    /// What the bytes begin with.
    public var bytes: [UInt8]
    /// The bits that count, a 1 for each. Nil for all bits of ``bytes``.
    public var mask: [UInt8]?

    /// A pattern. The empty one matches everything.
    public init(_ bytes: [UInt8], mask: [UInt8]? = nil) {
        self.bytes = bytes
        self.mask = mask
    }

    /// Whether `data` begins so. Bytes that are absent, of the data or of the pattern, count as 0; where the mask has no byte,
    /// nothing counts.
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
    /// Bytes that all count.
    public init(arrayLiteral bytes: UInt8...) { self.init(bytes) }
}
