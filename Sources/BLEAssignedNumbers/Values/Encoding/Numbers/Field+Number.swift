internal import BLE

extension ValueFormat.Field {
    /// Encodes a number in the field's unit.
    ///
    /// - Parameter value: a Double that the number was made from. Its rounding errors are ignored.
    func number(_ number: DecimalNumber, nearTo value: Double? = nil) throws(BLEError) -> EncodedField {
        switch kind {
        case .integer(_, let bits, let isSigned):
            try integer(number, IntegerBounds(self, bits: bits, isSigned: isSigned), value)
        case .bits(let count): try integer(number, IntegerBounds(self, bits: count, isSigned: false), value)
        case .medFloat(let count): try MedFloatEncoder(self, bytes: count).encode(number, isExact: value == nil)
        case .float(let count):
            try float(Float("\(number)") ?? .nan, Double("\(number)") ?? .nan, bytes: count, number)
        case .timeExponential: try exponential(number)
        case .appearance, .boolean, .flags, .text, .terminatedText, .text16, .uuid, .bytes, .structure:
            throw error("cannot be a number")
        }
    }

    /// Returns a number with the field's unit.
    func measure(_ number: some CustomStringConvertible) -> String { FieldValue.with(unitSymbol, "\(number)") }

    func error(_ number: DecimalNumber, isNotFrom lower: DecimalNumber?, to upper: DecimalNumber?) -> BLEError {
        guard let lower, let upper else { return error("is \(measure(number)), which is out of range") }
        return error("is \(measure(number)), which is not from \(measure(lower)) to \(measure(upper))")
    }

    func error(_ number: DecimalNumber, isBetween lower: DecimalNumber?, and upper: DecimalNumber?) -> BLEError {
        guard let lower, let upper else { return error("is \(measure(number)), which has too many digits") }
        return error(
            "is \(measure(number)), which cannot be encoded exactly: the nearest values are \(measure(lower)) and "
                + measure(upper))
    }

    func error(wrongUnit unit: some StringProtocol) -> BLEError {
        let own = unitSymbol.map { "its unit is \($0)" } ?? "it has no unit"
        return error("cannot be in “\(unit.prefix(32))”: \(own)")
    }

    // MARK: Integers

    private func integer(
        _ number: DecimalNumber, _ bounds: IntegerBounds, _ value: Double?
    ) throws(BLEError) -> EncodedField {
        func multiple(_ count: UInt128) -> DecimalNumber? {
            DecimalNumber(count, isNegative: number.isNegative, scale)
        }
        /// Whether a multiple differs from the Double only by its rounding errors.
        func isMeant(_ count: UInt128) -> Bool {
            guard let value, let multiple = multiple(count).flatMap({ Double("\($0)") }) else { return false }
            return abs(multiple - value) <= 8 * value.ulp
        }
        let count: UInt128
        switch number.steps(of: scale) {
        case .exact(let exact): count = exact
        case .between(let lower, let isNearerToNext):
            let nearest = isNearerToNext ? lower + 1 : lower
            if isMeant(nearest) {
                count = nearest
            } else {
                guard bounds.contains(lower, isNegative: number.isNegative) else {
                    throw error(number, isNotFrom: bounds.lowest(scale), to: bounds.highest(scale))
                }
                let ends = [multiple(lower), multiple(lower + 1)]
                throw error(number, isBetween: ends[number.isNegative ? 1 : 0], and: ends[number.isNegative ? 0 : 1])
            }
        case .tooLarge: throw error(number, isNotFrom: bounds.lowest(scale), to: bounds.highest(scale))
        }
        if bounds.contains(count, isNegative: number.isNegative) {
            let bits = bounds.bits(count, isNegative: number.isNegative)
            if let special = bounds.special(bits) {
                throw error("is \(measure(number)), whose bits mean “\(special)”")
            }
            return .bits(bits)
        }
        guard !number.isNegative, isMeant(bounds.upper) else {
            throw error(number, isNotFrom: bounds.lowest(scale), to: bounds.highest(scale))
        }
        return .bits(bounds.upper)
    }

    // MARK: Floats

    /// Encodes a number of IEEE 754. The single and the double are the nearest ones.
    func float(
        _ single: Float, _ double: Double, bytes: Int, _ number: DecimalNumber
    ) throws(BLEError) -> EncodedField {
        let (isFinite, isZero) = bytes == 4 ? (single.isFinite, single.isZero) : (double.isFinite, double.isZero)
        guard isFinite, isZero == number.isZero else {
            throw error("is \(measure(number)), which is out of range")
        }
        return .bits(bytes == 4 ? UInt128(single.bitPattern) : UInt128(double.bitPattern))
    }

    /// Encodes a power of 1.1. The number must have at least six correct digits.
    private func exponential(_ number: DecimalNumber) throws(BLEError) -> EncodedField {
        guard !number.isNegative, let value = Double("\(number)") else {
            throw error("is \(measure(number)), which is out of range")
        }
        func power(_ step: Int) -> Double {
            let power = (0..<abs(step - 64)).reduce(1.0) { power, _ in power * 1.1 }
            return step < 64 ? 1 / power : power
        }
        let steps = (0...255).filter { specials[UInt64($0)] == nil }
        guard let lowest = steps.first, let highest = steps.last else { throw error("cannot be a number") }
        if let step = steps.first(where: { abs(power($0) - value) <= power($0) * 1e-6 }) { return .bits(UInt128(step)) }
        guard let next = steps.first(where: { power($0) > value }), next > lowest else {
            throw error(
                number, isNotFrom: DecimalNumber(power(lowest))?.rounded, to: DecimalNumber(power(highest))?.rounded)
        }
        throw error(
            number, isBetween: DecimalNumber(power(next - 1).shortText), and: DecimalNumber(power(next).shortText))
    }
}
