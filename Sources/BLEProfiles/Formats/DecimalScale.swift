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
        // Of more bits than a Double has, the digits tell the nearest one.
        let isExact = product.magnitude < 1 << 53
        let scaled = isExact ? .decimal(Int(product), decimal) : Double("\(product)e\(decimal)") ?? .nan
        return binary == 0 ? scaled : scaled * Double(sign: .plus, exponent: binary, significand: 1)
    }
}
