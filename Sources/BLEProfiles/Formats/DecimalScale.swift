/// What the integer of a field is to be multiplied by: `multiplier` × 10^`decimal` × 2^`binary`.
struct DecimalScale: Hashable, Sendable {
    var multiplier = 1
    var decimal = 0
    var binary = 0

    /// Whether an integer stands for itself.
    var isOne: Bool { self == DecimalScale() }

    /// The number nearest to the scaled integer, which is itself of at most 64 bits where the multiplier is not 1.
    func apply(to integer: Int128) -> Double {
        let product = integer &* Int128(multiplier)
        let scaled = Self.decimal(product, exponent: decimal)
        return binary == 0 ? scaled : scaled * Double(sign: .plus, exponent: binary, significand: 1)
    }

    /// The number nearest to `integer` × 10^`exponent`.
    static func decimal(_ integer: Int128, exponent: Int) -> Double {
        // Both operands are exact, so that the result is rounded once.
        if integer.magnitude < 1 << 53, abs(exponent) < powersOfTen.count {
            return exponent < 0 ? Double(integer) / powersOfTen[-exponent] : Double(integer) * powersOfTen[exponent]
        }
        return Double("\(integer)e\(exponent)") ?? .nan
    }

    /// Those that a `Double` holds exactly.
    private static let powersOfTen: [Double] = (0...22).map { exponent in
        (0..<exponent).reduce(1) { power, _ in power * 10 }
    }
}
