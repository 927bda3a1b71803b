internal import BLE

/// The factor of a field's integer: `multiplier` × 10^`decimal` × 2^`binary`.
struct DecimalScale: Hashable, Sendable {
    var multiplier = 1
    var decimal = 0
    var binary = 0

    /// Whether the factor is 1.
    var isOne: Bool { self == DecimalScale() }

    /// Returns the number nearest to the scaled integer. If the multiplier is not 1, the integer must have at most 64
    /// bits.
    func apply(to integer: Int128) -> Double {
        let product = integer &* Int128(multiplier)
        // If the product has more bits than a Double, the nearest Double is determined from the digits.
        let isExact = product.magnitude < 1 << 53
        let scaled = isExact ? .decimal(Int(product), decimal) : Double("\(product)e\(decimal)") ?? .nan
        return binary == 0 ? scaled : scaled * Double(sign: .plus, exponent: binary, significand: 1)
    }
}
