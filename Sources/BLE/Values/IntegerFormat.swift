/// The width and the sign of an integer field. There is no format for unsigned integers of 64 bits, because they do not
/// fit in an `Int`.
public struct IntegerFormat: Hashable, Sendable {
    /// The number of bytes, 1 to 8.
    public let byteCount: Int
    /// Whether the integer is signed, as two's complement.
    public let isSigned: Bool

    private init(_ byteCount: Int, isSigned: Bool) {
        self.byteCount = byteCount
        self.isSigned = isSigned
    }

    /// 0 to 255.
    public static let uint8 = IntegerFormat(1, isSigned: false)
    /// 0 to 65535.
    public static let uint16 = IntegerFormat(2, isSigned: false)
    /// 0 to 16,777,215.
    public static let uint24 = IntegerFormat(3, isSigned: false)
    /// 0 to 4,294,967,295.
    public static let uint32 = IntegerFormat(4, isSigned: false)
    /// 0 to 2^40 - 1.
    public static let uint40 = IntegerFormat(5, isSigned: false)
    /// 0 to 2^48 - 1.
    public static let uint48 = IntegerFormat(6, isSigned: false)
    /// -128 to 127.
    public static let int8 = IntegerFormat(1, isSigned: true)
    /// -32768 to 32767.
    public static let int16 = IntegerFormat(2, isSigned: true)
    /// -8,388,608 to 8,388,607.
    public static let int24 = IntegerFormat(3, isSigned: true)
    /// -2,147,483,648 to 2,147,483,647.
    public static let int32 = IntegerFormat(4, isSigned: true)
    /// -2^47 to 2^47 - 1.
    public static let int48 = IntegerFormat(6, isSigned: true)
    /// -2^63 to 2^63 - 1.
    public static let int64 = IntegerFormat(8, isSigned: true)

    /// The range of numbers that fit.
    public var range: ClosedRange<Int> {
        isSigned ? Int.min >> (64 - 8 * byteCount)...Int.max >> (64 - 8 * byteCount) : 0...(1 << (8 * byteCount)) - 1
    }
}
