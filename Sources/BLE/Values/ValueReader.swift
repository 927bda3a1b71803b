/// Reads the little-endian fields of a value, in order.
///
/// The initializer of a ``ValueCodable`` type borrows a reader. Every read throws `invalidValue` if too few bytes are
/// left.
public struct ValueReader: ~Copyable {
    // A reader exists only within the scope of these bytes, and cannot be copied out of it.
    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0

    init(_ bytes: UnsafeBufferPointer<UInt8>) {
        self.bytes = bytes
    }

    /// The number of bytes left.
    public var remaining: Int { bytes.count - position }

    /// Reads an unsigned integer of 8 bits.
    public mutating func uint8() throws(BLEError) -> UInt8 { try integer() }

    /// Reads an unsigned integer of 16 bits.
    public mutating func uint16() throws(BLEError) -> UInt16 { try integer() }

    /// Reads an unsigned integer of 24 bits.
    public mutating func uint24() throws(BLEError) -> UInt32 { UInt32(try unsigned(3)) }

    /// Reads an unsigned integer of 32 bits.
    public mutating func uint32() throws(BLEError) -> UInt32 { try integer() }

    /// Reads an unsigned integer of 48 bits.
    public mutating func uint48() throws(BLEError) -> UInt64 { try unsigned(6) }

    /// Reads a signed integer of 8 bits.
    public mutating func int8() throws(BLEError) -> Int8 { try integer() }

    /// Reads a signed integer of 16 bits.
    public mutating func int16() throws(BLEError) -> Int16 { try integer() }

    /// Reads a signed integer of 32 bits.
    public mutating func int32() throws(BLEError) -> Int32 { try integer() }

    /// Reads an integer of the type's width.
    public mutating func integer<Integer: FixedWidthInteger>(_: Integer.Type = Integer.self) throws(BLEError) -> Integer
    {
        try require(Integer.bitWidth / 8)
        var value: Integer = 0
        for shift in stride(from: 0, to: Integer.bitWidth, by: 8) {
            value |= Integer(truncatingIfNeeded: bytes[position]) << shift
            position += 1
        }
        return value
    }

    /// Reads an integer of a format, for widths without a Swift type and for formats chosen at run time.
    public mutating func integer(_ format: IntegerFormat) throws(BLEError) -> Int {
        let bits = try unsigned(format.byteCount)
        guard format.isSigned else { return Int(truncatingIfNeeded: bits) }
        let unused = 64 - 8 * format.byteCount
        return Int(truncatingIfNeeded: Int64(bitPattern: bits << unused) >> unused)
    }

    /// Reads a raw value, such as a number, an enumeration case or a set of flags.
    public mutating func raw<Value: RawRepresentable>(
        _: Value.Type = Value.self
    ) throws(BLEError) -> Value where Value.RawValue: FixedWidthInteger {
        let number = try integer(Value.RawValue.self)
        guard let value = Value(rawValue: number) else { throw invalid("\(number) is not a valid \(Value.self)") }
        return value
    }

    /// Reads an unsigned integer of `count` bytes, 0 to 8. Throws `invalidArgument` for more.
    public mutating func unsigned(_ count: Int) throws(BLEError) -> UInt64 {
        guard count <= 8 else {
            throw BLEError(.invalidArgument, "an integer cannot have \(count) bytes; at most 8 are supported")
        }
        try require(count)
        var value: UInt64 = 0
        for index in 0..<count { value |= UInt64(bytes[position + index]) << (8 * index) }
        position += count
        return value
    }

    /// Reads the next `count` bytes.
    public mutating func bytes(_ count: Int) throws(BLEError) -> [UInt8] {
        try require(count)
        defer { position += count }
        return Array(bytes[position..<position + count])
    }

    /// Reads all bytes that are left, possibly none.
    public mutating func rest() -> [UInt8] {
        defer { position = bytes.count }
        return Array(bytes[position...])
    }

    /// Returns the error to throw for a value that the type's rules do not allow. Its message contains the value's
    /// bytes.
    public func invalid(_ message: String) -> BLEError {
        BLEError(.invalidValue, "\(message), in the value 0x\(Hex.string(Array(bytes)))")
    }

    /// Throws `invalidValue` if bytes are left.
    func end() throws(BLEError) {
        guard remaining == 0 else { throw invalid("bytes after the last field: \(remaining)") }
    }

    private func require(_ count: Int) throws(BLEError) {
        guard count >= 0, count <= remaining else {
            throw BLEError(
                .invalidValue,
                "the value 0x\(Hex.string(Array(bytes))) is too short: byte \(position) begins a field of \(count), "
                    + "but only \(remaining) are left")
        }
    }
}
