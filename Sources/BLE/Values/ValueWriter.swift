/// Writes the little-endian fields of a value, in order.
public struct ValueWriter: Sendable {
    /// The bytes written so far.
    public private(set) var bytes: [UInt8] = []

    /// Creates a writer without bytes.
    public init() {}

    /// Writes an unsigned integer of 8 bits.
    public mutating func uint8(_ value: UInt8) { bytes.append(value) }

    /// Writes an unsigned integer of 16 bits.
    public mutating func uint16(_ value: UInt16) { integer(value) }

    /// Writes an unsigned integer of 32 bits.
    public mutating func uint32(_ value: UInt32) { integer(value) }

    /// Writes an integer of the type's width.
    public mutating func integer<Integer: FixedWidthInteger>(_ value: Integer) {
        for shift in stride(from: 0, to: Integer.bitWidth, by: 8) {
            bytes.append(UInt8(truncatingIfNeeded: value >> shift))
        }
    }

    /// Writes an integer in a field of the given format. Throws `invalidValue` if it does not fit.
    public mutating func integer(_ value: Int, _ format: IntegerFormat) throws(BLEError) {
        guard format.range.contains(value) else {
            throw BLEError(.invalidValue, "\(value) is not in the range \(format.range) of its field")
        }
        for index in 0..<format.byteCount { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    /// Writes a number, rounded to the nearest integer, in a field of the given format. Throws `invalidValue` if it
    /// does not fit.
    public mutating func rounded(_ value: Double, _ format: IntegerFormat) throws(BLEError) {
        guard let integer = Int(exactly: value.rounded()) else {
            throw BLEError(.invalidValue, "\(value) cannot be represented as an integer")
        }
        try self.integer(integer, format)
    }

    /// Writes a raw value, such as a number, an enumeration case or a set of flags.
    public mutating func raw<Value: RawRepresentable>(_ value: Value) where Value.RawValue: FixedWidthInteger {
        integer(value.rawValue)
    }

    /// Writes bytes unchanged.
    public mutating func bytes(_ bytes: some Sequence<UInt8>) { self.bytes += bytes }
}
