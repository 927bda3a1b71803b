/// A decimal number of 16 bits, the SFLOAT of IEEE 11073-20601.
///
/// It is a mantissa of 12 bits times ten to the power of an exponent of 4 bits, both signed.
public typealias MedFloat16 = MedFloat<UInt16>

/// A decimal number of 32 bits, the FLOAT of IEEE 11073-20601.
///
/// It is a mantissa of 24 bits times ten to the power of an exponent of 8 bits, both signed.
public typealias MedFloat32 = MedFloat<UInt32>

/// The type of the bits of a decimal number: `UInt16` or `UInt32`.
public protocol MedFloatBits: FixedWidthInteger, UnsignedInteger, Sendable {
    /// The number of exponent bits, which are the upper ones.
    static var exponentBitCount: Int { get }
}

extension UInt16: MedFloatBits {
    /// 4.
    public static var exponentBitCount: Int { 4 }
}

extension UInt32: MedFloatBits {
    /// 8.
    public static var exponentBitCount: Int { 8 }
}

/// A decimal number as sent by medical devices (IEEE 11073-20601, annex F), ``MedFloat16`` or ``MedFloat32``.
///
/// It preserves the digits that were sent: 36.0 and 36 are different values. In addition to numbers, there are the
/// values ``nan``, ``notAtThisResolution``, ``infinity``, ``negativeInfinity`` and ``reserved``.
public struct MedFloat<Bits: MedFloatBits>: RawRepresentable, Hashable, Sendable {
    /// The bits, with the exponent above the mantissa.
    public let rawValue: Bits

    /// Creates a number from its bits.
    public init(rawValue: Bits) { self.rawValue = rawValue }

    /// Creates a number from its parts. Returns nil if a part is out of range. Mantissas range from -2045 to 2045, or
    /// from -8,388,605 to 8,388,605; exponents from -8 to 7, or from -128 to 127.
    public init?(mantissa: Int, exponent: Int = 0) {
        guard mantissa.magnitude <= Self.largestMantissa, Self.exponents.contains(exponent) else { return nil }
        rawValue = Bits(truncatingIfNeeded: exponent << Self.mantissaBitCount | mantissa & Int(Self.mantissaMask))
    }

    /// Creates the number nearest to `value`: with the fewest digits if it is exact, otherwise with as many as
    /// possible. A value that is too large becomes infinite.
    public init(_ value: Double) {
        guard !value.isNaN else {
            self = .nan
            return
        }
        func mantissa(_ exponent: Int) -> Double { (value / .decimal(1, exponent)).rounded() }
        let fitting = Self.exponents.filter { abs(mantissa($0)) <= Double(Self.largestMantissa) }
        let exact = fitting.filter { .decimal(Int(mantissa($0)), $0) == value }.min { abs($0) < abs($1) }
        guard
            let exponent = exact ?? fitting.first,
            let number = Self(mantissa: Int(mantissa(exponent)), exponent: exponent)
        else {
            self = value < 0 ? .negativeInfinity : .infinity
            return
        }
        self = number
    }

    /// Not a number: a value that could not be measured.
    public static var nan: Self { Self(rawValue: mantissaMask >> 1) }
    /// Not at this resolution: a value that the format cannot express.
    public static var notAtThisResolution: Self { Self(rawValue: mantissaMask >> 1 + 1) }
    /// A number above the range that can be represented or measured.
    public static var infinity: Self { Self(rawValue: mantissaMask >> 1 - 1) }
    /// A number below the range that can be represented or measured.
    public static var negativeInfinity: Self { Self(rawValue: mantissaMask >> 1 + 3) }
    /// Reserved for future use.
    public static var reserved: Self { Self(rawValue: mantissaMask >> 1 + 2) }

    /// The mantissa and the exponent. Nil for the special values.
    public var decimal: (mantissa: Int, exponent: Int)? {
        let exponent = Self.signed(rawValue >> Self.mantissaBitCount, Bits.exponentBitCount)
        let mantissa = Self.signed(rawValue & Self.mantissaMask, Self.mantissaBitCount)
        // The special values have the exponent 0.
        return exponent == 0 && abs(mantissa) > Self.largestMantissa ? nil : (mantissa, exponent)
    }

    /// The number as a Double. Infinite for ``infinity`` and ``negativeInfinity``, NaN for the other special values.
    public var doubleValue: Double {
        if let (mantissa, exponent) = decimal { return .decimal(mantissa, exponent) }
        return self == .infinity ? .infinity : self == .negativeInfinity ? -.infinity : .nan
    }

    /// Returns the number times `factor` and ten to the power of `exponent`, rounded to one digit more than were sent.
    /// The same as ``doubleValue`` for the special values.
    package func converted(by factor: Double, exponent: Int = 0) -> Double {
        guard let (mantissa, ownExponent) = decimal else { return doubleValue }
        let scaled = Double(mantissa) * factor
        let digitCount = String(mantissa.magnitude).count + 1
        // The position of the last digit, for factors from 1/1000 to 1000.
        var place = -4
        while place < 3, scaled.magnitude >= .decimal(1, digitCount + place) { place += 1 }
        return .decimal(Int((scaled / .decimal(1, place)).rounded()), ownExponent + exponent + place)
    }

    /// Returns the lower `count` bits as a signed number.
    private static func signed(_ bits: Bits, _ count: Int) -> Int { (Int(bits) << (64 - count)) >> (64 - count) }

    private static var mantissaBitCount: Int { Bits.bitWidth - Bits.exponentBitCount }
    private static var mantissaMask: Bits { 1 << Bits(mantissaBitCount) - 1 }
    private static var largestMantissa: Int { 1 << (mantissaBitCount - 1) - 3 }
    private static var exponents: ClosedRange<Int> {
        -(1 << (Bits.exponentBitCount - 1))...(1 << (Bits.exponentBitCount - 1)) - 1
    }
}

extension MedFloat: ValueCodable {}

extension MedFloat: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    /// Creates the nearest decimal number.
    public init(integerLiteral value: Int) { self.init(Double(value)) }
    /// Creates the nearest decimal number.
    public init(floatLiteral value: Double) { self.init(value) }
}

extension MedFloat: CustomStringConvertible {
    /// The number with the digits that were sent, such as `36.0`, or `NaN`, `NRes`, `+INFINITY`, `-INFINITY`,
    /// `reserved`.
    public var description: String {
        guard let (mantissa, exponent) = decimal else {
            switch self {
            case .infinity: return "+INFINITY"
            case .negativeInfinity: return "-INFINITY"
            case .nan: return "NaN"
            case .notAtThisResolution: return "NRes"
            default: return "reserved"
            }
        }
        guard -8..<0 ~= exponent else {
            return 0...7 ~= exponent ? "\(Int(Double.decimal(mantissa, exponent)))" : "\(mantissa)e\(exponent)"
        }
        let digits = String(mantissa.magnitude)
        let padded = String(repeating: "0", count: max(0, 1 - exponent - digits.count)) + digits
        return (mantissa < 0 ? "-" : "") + padded.dropLast(-exponent) + "." + padded.suffix(-exponent)
    }
}

extension ValueReader {
    /// Decodes a decimal number of 16 bits.
    public mutating func medFloat16() throws(BLEError) -> MedFloat16 { try raw() }
    /// Decodes a decimal number of 32 bits.
    public mutating func medFloat32() throws(BLEError) -> MedFloat32 { try raw() }
}

extension Double {
    /// Returns the number nearest to `mantissa` times ten to the power of `exponent`.
    package static func decimal(_ mantissa: Int, _ exponent: Int) -> Double {
        // Powers of ten up to the 22nd are exact, so a single operation rounds only once.
        switch exponent {
        case 0: Double(mantissa)
        case 1...22: Double(mantissa) * powersOfTen[exponent]
        case -22 ... -1: Double(mantissa) / powersOfTen[-exponent]
        default: Double("\(mantissa)e\(exponent)") ?? .nan
        }
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20,
        1e21, 1e22,
    ]
}
