extension ValueDecoder {
    /// A number of IEEE 11073-20601, scaled: an exponent of 4 or 8 bits above a mantissa, of which some values are no numbers.
    static func medfloat(_ raw: UInt128, bytes: Int, _ scale: DecimalScale) -> FieldValue.Content {
        let bits = bytes == 2 ? 12 : 24
        let shifted = Int(truncatingIfNeeded: raw) << (64 - bytes * 8)
        let exponent = shifted >> (64 - bytes * 8 + bits)
        let mantissa = (Int(truncatingIfNeeded: raw) << (64 - bits)) >> (64 - bits)
        let limit = 1 << (bits - 1)
        switch mantissa {
        case limit - 1: return .special("not a number")
        case -limit: return .special("not at this resolution")
        case limit - 2: return .special("infinity")
        case -limit + 2: return .special("-infinity")
        case -limit + 1: return .special("reserved")
        default:
            let product = Int128(mantissa) * Int128(scale.multiplier)
            return .number(DecimalScale.decimal(product, exponent: exponent + scale.decimal))
        }
    }
}
