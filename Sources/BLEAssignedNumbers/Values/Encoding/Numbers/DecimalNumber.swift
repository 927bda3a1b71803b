internal import BLE

/// An exact decimal number: an integer of up to 128 bits times a power of ten.
struct DecimalNumber: Hashable {
    var isNegative = false
    var digits: UInt128
    var exponent = 0

    /// Whether the number is zero.
    var isZero: Bool { digits == 0 }

    /// The magnitude of the exponent beyond which no format has numbers.
    private static let largestExponent = 100_000

    init(isNegative: Bool = false, digits: UInt128, exponent: Int = 0) {
        (self.isNegative, self.digits, self.exponent) = (isNegative, digits, exponent)
    }

    /// Parses a number such as `21.5`, `-3`, `.5` or `1e-3`, with its trailing zeros. Returns nil for other text, and
    /// for numbers with more digits than 128 bits have.
    init?(_ text: some StringProtocol) {
        var rest = Substring(text)[...]
        if let sign = rest.first, "+-−".contains(sign) {
            isNegative = sign != "+"
            rest = rest.dropFirst()
        }
        var (digits, exponent, count, isFraction) = (UInt128(0), 0, 0, false)
        while let character = rest.first, character != "e", character != "E" {
            rest = rest.dropFirst()
            if character == ".", !isFraction {
                isFraction = true
                continue
            }
            guard character.isASCII, let digit = character.wholeNumberValue else { return nil }
            let (tens, overflow) = digits.multipliedReportingOverflow(by: 10)
            let (sum, carry) = tens.addingReportingOverflow(UInt128(digit))
            guard !overflow, !carry else { return nil }
            (digits, exponent, count) = (sum, exponent - (isFraction ? 1 : 0), count + 1)
        }
        guard count > 0 else { return nil }
        if !rest.isEmpty {
            var power = rest.dropFirst()
            let isDivision = power.first == "-"
            if let sign = power.first, "+-".contains(sign) { power = power.dropFirst() }
            guard !power.isEmpty, power.allSatisfy({ $0.isASCII && $0.isNumber }) else { return nil }
            let magnitude = min(Int(power) ?? Self.largestExponent, Self.largestExponent)
            exponent += isDivision ? -magnitude : magnitude
        }
        (self.digits, self.exponent) = (digits, exponent)
    }

    /// Creates the number with the fewest digits to which `value` is the nearest Double. Returns nil for infinity and
    /// NaN.
    init?(_ value: Double) {
        guard value.isFinite else { return nil }
        self.init("\(value)")
        while !isZero, digits.isMultiple(of: 10) { (digits, exponent) = (digits / 10, exponent + 1) }
    }

    /// Creates the exact value of a scaled integer. Returns nil if it has more than 128 bits of digits.
    init?(_ integer: UInt128, isNegative: Bool, _ scale: DecimalScale) {
        var (digits, overflow) = integer.multipliedReportingOverflow(by: UInt128(scale.multiplier))
        // A division by two is a multiplication by five and a shift of the decimal point.
        let factor: UInt128 = scale.binary < 0 ? 5 : 2
        for _ in 0..<abs(scale.binary) where !overflow {
            (digits, overflow) = digits.multipliedReportingOverflow(by: factor)
        }
        guard !overflow else { return nil }
        self.init(isNegative: isNegative, digits: digits, exponent: scale.decimal + min(scale.binary, 0))
        while !isZero, self.digits.isMultiple(of: 10) {
            (self.digits, self.exponent) = (self.digits / 10, self.exponent + 1)
        }
    }

    /// Returns the number rounded to 15 digits, which hides the errors of calculations with Doubles.
    var rounded: DecimalNumber {
        var number = self
        while number.digits >= 1_000_000_000_000_000 {
            (number.digits, number.exponent) = ((number.digits + 5) / 10, number.exponent + 1)
        }
        while !number.isZero, number.digits.isMultiple(of: 10) {
            (number.digits, number.exponent) = (number.digits / 10, number.exponent + 1)
        }
        return number
    }
}

// MARK: Division

extension DecimalNumber {
    /// The number of steps of a scale in a number's magnitude.
    enum Steps: Hashable {
        case exact(UInt128)
        /// The number lies between this number of steps and the next one. The second is true if that one is nearer.
        case between(UInt128, isNearerToNext: Bool)
        /// The number of steps, or the digits of the number, have more than 128 bits.
        case tooLarge
    }

    /// Returns the number of steps in the magnitude.
    func steps(of scale: DecimalScale) -> Steps {
        guard !isZero else { return .exact(0) }
        var (numerator, denominator) = (digits, UInt128(scale.multiplier))
        let power = exponent - scale.decimal
        let isLarge = !Self.multiply(&numerator, 10, power) || !Self.multiply(&numerator, 2, -scale.binary)
        let isSmall = !Self.multiply(&denominator, 10, -power) || !Self.multiply(&denominator, 2, scale.binary)
        if isLarge { return .tooLarge }
        if isSmall { return .between(0, isNearerToNext: false) }
        let (quotient, remainder) = numerator.quotientAndRemainder(dividingBy: denominator)
        return remainder == 0
            ? .exact(quotient) : .between(quotient, isNearerToNext: remainder > denominator - remainder)
    }

    /// Multiplies a number by a power. Does nothing if the exponent is negative. Returns false on overflow.
    private static func multiply(_ number: inout UInt128, _ base: UInt128, _ exponent: Int) -> Bool {
        guard exponent > 0 else { return true }
        for _ in 0..<exponent {
            let (product, overflow) = number.multipliedReportingOverflow(by: base)
            guard !overflow else { return false }
            number = product
        }
        return true
    }
}

extension DecimalNumber: CustomStringConvertible {
    /// All digits, with an exponent only if there would be many zeros.
    var description: String {
        let text = String(digits)
        let sign = isNegative && !isZero ? "-" : ""
        let point = text.count + exponent
        if isZero { return "0" }
        if exponent >= 0 {
            return exponent > 12 ? "\(sign)\(text)e\(exponent)" : sign + text + String(repeating: "0", count: exponent)
        }
        guard point > -12 else { return "\(sign)\(text)e\(exponent)" }
        if point > 0 { return sign + text.prefix(point) + "." + text.suffix(-exponent) }
        return sign + "0." + String(repeating: "0", count: -point) + text
    }
}
