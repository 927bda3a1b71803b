internal import BLE

/// Encodes decimal numbers of 2 or 4 bytes (IEEE 11073-20601, annex F). Preserves the digits, if there is space.
struct MedFloatEncoder {
    private let field: ValueFormat.Field
    private let mantissaBits: Int
    private let exponents: ClosedRange<Int>

    init(_ field: ValueFormat.Field, bytes: Int) {
        self.field = field
        mantissaBits = bytes == 2 ? 12 : 24
        exponents = bytes == 2 ? -8...7 : -128...127
    }

    /// - Parameter isExact: whether all digits are meant. Otherwise, the 16th and the following ones may be rounding
    ///   errors.
    func encode(_ number: DecimalNumber, isExact: Bool) throws(BLEError) -> EncodedField {
        guard field.scale.multiplier == 1 else { throw field.error("has a multiplier, which cannot be encoded") }
        var number = number
        number.exponent -= field.scale.decimal
        if let bits = bits(number) ?? (isExact ? nil : bits(number.rounded)) { return .bits(bits) }
        guard let ends = neighbors(number) else {
            let highest = shown(DecimalNumber(digits: largest(1), exponent: exponents.upperBound))
            var lowest = highest
            lowest.isNegative = true
            throw field.error(shown(number), isNotFrom: lowest, to: highest)
        }
        throw field.error(shown(number), isBetween: shown(ends.0), and: shown(ends.1))
    }

    /// Returns a number of the mantissa and exponent in the field's unit.
    private func shown(_ number: DecimalNumber) -> DecimalNumber {
        var number = number
        number.exponent += field.scale.decimal
        return number
    }

    /// The largest mantissa. Those that are larger by up to 2 are special values if the exponent is 0.
    private func largest(_ exponent: Int) -> UInt128 { 1 << UInt128(mantissaBits - 1) - (exponent == 0 ? 3 : 1) }

    private func bits(_ number: DecimalNumber) -> UInt128? {
        var (digits, exponent) = (number.digits, number.exponent)
        if digits == 0 { exponent = min(max(exponent, exponents.lowerBound), exponents.upperBound) }
        while digits > largest(exponent) || exponent < exponents.lowerBound, digits.isMultiple(of: 10), digits > 0 {
            (digits, exponent) = (digits / 10, exponent + 1)
        }
        while exponent > 0, digits > 0, digits <= largest(exponent - 1) / 10 {
            (digits, exponent) = (digits * 10, exponent - 1)
        }
        // The mantissa of the smallest number has no positive counterpart.
        let isLowest = number.isNegative && exponent != 0 && digits == largest(1) + 1
        guard digits <= largest(exponent) || isLowest, exponents.contains(exponent) else { return nil }
        let mantissa = number.isNegative ? 0 &- digits : digits
        let mask = UInt128(1) << UInt128(mantissaBits) - 1
        let width = UInt128(mantissaBits == 12 ? 0xFFFF : 0xFFFF_FFFF)
        return (UInt128(truncatingIfNeeded: exponent) << UInt128(mantissaBits) | mantissa & mask) & width
    }

    /// Returns the nearest smaller and larger numbers. Returns nil if there are none.
    private func neighbors(_ number: DecimalNumber) -> (DecimalNumber, DecimalNumber)? {
        var (digits, exponent) = (number.digits, number.exponent)
        while digits > 0, exponent < exponents.lowerBound || digits >= largest(exponent) {
            (digits, exponent) = (digits / 10, exponent + 1)
        }
        exponent = max(exponent, exponents.lowerBound)
        guard exponent <= exponents.upperBound else { return nil }
        var (near, far) = (number, number)
        (near.digits, near.exponent) = (digits, exponent)
        (far.digits, far.exponent) = (digits + 1, exponent)
        // The largest mantissa with one digit more may be nearer.
        if exponent > exponents.lowerBound, largest(exponent - 1) > digits * 10 {
            (near.digits, near.exponent) = (largest(exponent - 1), exponent - 1)
        }
        return number.isNegative ? (far, near) : (near, far)
    }
}
