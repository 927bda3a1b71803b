/// The integers that a field can contain, apart from special values at the ends.
struct IntegerBounds: Hashable {
    private let width: Int
    private let specials: [UInt64: String]
    private(set) var lower: Int128
    private(set) var upper: UInt128

    init(_ field: ValueFormat.Field, bits width: Int, isSigned: Bool) {
        self.width = width
        specials = width <= 64 ? field.specials : [:]
        lower = isSigned ? Int128.min >> Int128(128 - width) : 0
        upper = UInt128.max >> UInt128(128 - width + (isSigned ? 1 : 0))
        if let range = field.range {
            lower = max(lower, Int128(range.lowerBound))
            upper = min(upper, UInt128(clamping: range.upperBound))
        }
        while upper > 0, special(upper) != nil { upper -= 1 }
        while lower < 0 || UInt128(lower) < upper, special(UInt128(truncatingIfNeeded: lower) & mask) != nil {
            lower += 1
        }
    }

    private var mask: UInt128 { UInt128.max >> UInt128(128 - width) }

    func contains(_ magnitude: UInt128, isNegative: Bool) -> Bool {
        guard isNegative, magnitude > 0 else { return magnitude <= upper && (lower < 0 || UInt128(lower) <= magnitude) }
        return lower < 0 && magnitude <= lower.magnitude
    }

    /// Returns the bits of an integer.
    func bits(_ magnitude: UInt128, isNegative: Bool) -> UInt128 { (isNegative ? 0 &- magnitude : magnitude) & mask }

    /// Returns the name of a special value.
    func special(_ bits: UInt128) -> String? { UInt64(exactly: bits).flatMap { specials[$0] } }

    /// The lowest number.
    func lowest(_ scale: DecimalScale) -> DecimalNumber? {
        DecimalNumber(lower.magnitude, isNegative: lower < 0, scale)
    }

    /// The highest number.
    func highest(_ scale: DecimalScale) -> DecimalNumber? { DecimalNumber(upper, isNegative: false, scale) }
}
