/// A type that encodes and decodes a characteristic's value.
///
/// ```swift
/// struct FanState: ValueCodable {
///     var speedPercent: UInt8
///     var temperatureCelsius: Double
///
///     init(from reader: inout ValueReader) throws(BLEError) {
///         speedPercent = try reader.uint8()
///         temperatureCelsius = Double(try reader.int16()) / 100
///     }
///     func encode(into writer: inout ValueWriter) throws(BLEError) {
///         writer.uint8(speedPercent)
///         try writer.rounded(temperatureCelsius * 100, .int16)
///     }
/// }
/// ```
///
/// Integers, floating-point numbers, strings, and types with an integer raw value need only declare the conformance.
public protocol ValueCodable: Sendable {
    /// Decodes the next value. Throws `invalidValue` if the bytes do not encode a value.
    init(from reader: inout ValueReader) throws(BLEError)
    /// Encodes the value. Throws `invalidValue` if it cannot be encoded.
    func encode(into writer: inout ValueWriter) throws(BLEError)
    /// Whether bytes after the value are ignored, as required by specifications whose later versions may add fields.
    /// False by default: additional bytes then throw `invalidValue`.
    static var ignoresTrailingBytes: Bool { get }
}

extension ValueCodable {
    /// False.
    public static var ignoresTrailingBytes: Bool { false }

    /// Decodes a value. Throws `invalidValue` if there are too few or too many bytes, or if they do not encode a value.
    public init(decoding bytes: Span<UInt8>) throws(BLEError) {
        self = try bytes.withUnsafeBufferPointer { (bytes) throws(BLEError) in
            var reader = ValueReader(bytes)
            let value = try Self(from: &reader)
            if !Self.ignoresTrailingBytes { try reader.end() }
            return value
        }
    }

    /// Decodes a value. Throws `invalidValue` if there are too few or too many bytes, or if they do not encode a value.
    public init(bytes: [UInt8]) throws(BLEError) {
        let span = bytes.span
        try self.init(decoding: span)
    }

    /// Encodes the value. Throws `invalidValue` if it cannot be encoded.
    public func encoded() throws(BLEError) -> [UInt8] {
        var writer = ValueWriter()
        try encode(into: &writer)
        return writer.bytes
    }
}

extension ValueCodable where Self: FixedWidthInteger {
    /// The bytes of the integer, the least significant first.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try reader.integer() }
    /// The bytes of the integer, the least significant first.
    public func encode(into writer: inout ValueWriter) { writer.integer(self) }
}

extension UInt8: ValueCodable {}
extension UInt16: ValueCodable {}
extension UInt32: ValueCodable {}
extension UInt64: ValueCodable {}
extension Int8: ValueCodable {}
extension Int16: ValueCodable {}
extension Int32: ValueCodable {}
extension Int64: ValueCodable {}

extension Float: ValueCodable {
    /// Four bytes of IEEE 754, the least significant first.
    public init(from reader: inout ValueReader) throws(BLEError) { self.init(bitPattern: try reader.integer()) }
    /// Four bytes of IEEE 754, the least significant first.
    public func encode(into writer: inout ValueWriter) { writer.integer(bitPattern) }
}

extension Double: ValueCodable {
    /// Eight bytes of IEEE 754, the least significant first.
    public init(from reader: inout ValueReader) throws(BLEError) { self.init(bitPattern: try reader.integer()) }
    /// Eight bytes of IEEE 754, the least significant first.
    public func encode(into writer: inout ValueWriter) { writer.integer(bitPattern) }
}

extension Bool: ValueCodable {
    /// One byte, 0 or 1. Other values throw `invalidValue`.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let byte = try reader.uint8()
        guard byte <= 1 else { throw reader.invalid("\(byte) is neither 0 nor 1") }
        self = byte == 1
    }
    /// One byte, 0 or 1.
    public func encode(into writer: inout ValueWriter) { writer.uint8(self ? 1 : 0) }
}

extension String: ValueCodable {
    /// UTF-8 up to the end or the first NUL. Invalid UTF-8 becomes U+FFFD.
    public init(from reader: inout ValueReader) { self.init(decoding: reader.rest().prefix { $0 != 0 }, as: UTF8.self) }
    /// UTF-8 without a terminator.
    public func encode(into writer: inout ValueWriter) { writer.bytes(utf8) }
}

extension ValueCodable where Self: RawRepresentable, RawValue: FixedWidthInteger {
    /// The raw value's bytes. Throws `invalidValue` for a number that is not a raw value of the type.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try reader.raw() }
    /// The raw value's bytes.
    public func encode(into writer: inout ValueWriter) { writer.raw(self) }
}
