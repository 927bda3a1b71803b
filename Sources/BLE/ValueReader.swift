/// Reads little-endian fields off the bytes of a value, in order.
///
/// Every read throws `invalidValue` when too few bytes are left.
public struct ValueReader: Sendable {
    private let bytes: [UInt8]
    private var position = 0

    /// A reader at the first byte.
    public init(_ bytes: [UInt8]) {
        self.bytes = bytes
    }

    /// How many bytes are left.
    public var remaining: Int { bytes.count - position }

    /// The next `count` bytes.
    public mutating func take(_ count: Int) throws(BLEError) -> ArraySlice<UInt8> {
        guard count >= 0, count <= remaining else {
            throw BLEError(
                .invalidValue,
                "the value 0x\(Hex.string(bytes)) is too short: \(count) more bytes expected after \(position)")
        }
        defer { position += count }
        return bytes[position..<position + count]
    }

    /// An unsigned integer of 8 bits.
    public mutating func uint8() throws(BLEError) -> UInt8 {
        try take(1).first!
    }

    /// An unsigned integer of 16 bits.
    public mutating func uint16() throws(BLEError) -> UInt16 {
        UInt16(truncatingIfNeeded: try unsigned(2))
    }

    /// An unsigned integer of `count` bytes, at most 8.
    public mutating func unsigned(_ count: Int) throws(BLEError) -> UInt64 {
        try take(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
