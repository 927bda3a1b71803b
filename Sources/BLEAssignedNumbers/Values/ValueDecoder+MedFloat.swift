internal import BLE

extension ValueDecoder {
    /// Returns a decimal number of 2 or 4 bytes, scaled.
    static func medFloat(_ bits: UInt128, bytes: Int, _ scale: DecimalScale) -> FieldValue.Content {
        bytes == 2
            ? scaled(MedFloat16(rawValue: UInt16(truncatingIfNeeded: bits)), scale)
            : scaled(MedFloat32(rawValue: UInt32(truncatingIfNeeded: bits)), scale)
    }

    private static func scaled<Bits>(_ value: MedFloat<Bits>, _ scale: DecimalScale) -> FieldValue.Content {
        if let (mantissa, exponent) = value.decimal {
            return .number(.decimal(mantissa * scale.multiplier, exponent + scale.decimal))
        }
        switch value {
        case .infinity: return .special("infinity")
        case .negativeInfinity: return .special("-infinity")
        case .nan: return .special("not a number")
        case .notAtThisResolution: return .special("not at this resolution")
        default: return .special("reserved")
        }
    }
}
