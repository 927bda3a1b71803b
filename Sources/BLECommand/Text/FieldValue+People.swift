import BLE
import BLEAssignedNumbers

/// The form of a field for people. For programs, it is as the SIG defines it.
extension FieldValue {
    /// The name, without a suffix for the number of bits.
    var shownName: String {
        for bits in ["8", "16", "24", "32"] {
            let suffix = " (\(bits) bit resolution)"
            if name.hasSuffix(suffix) { return String(name.dropLast(suffix.count)) }
        }
        return name
    }

    /// The value with its unit. From 10 000 J on, energies are in kilojoules. Binary fractions have at most four
    /// decimal places. Contains no terminal control characters.
    var shownText: String {
        switch content {
        case .integer(let value) where isLargeEnergy(Double(value)): "\((Double(value) / 1000).digits) kJ"
        case .number(let value) where isLargeEnergy(value): "\((value / 1000).digits) kJ"
        case .number(let value):
            value.shortened.map(withUnit) ?? description
        case .fields(let fields) where description.first == "(": "(\(Self.shownText(fields)))"
        default: description.harmless
        }
    }

    /// Returns several values in one line; see `text(_:)`.
    static func shownText(_ values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].shownText }
        return values.filter { !$0.isSilent }.map { "\($0.shownName): \($0.shownText)" }.joined(separator: "; ")
    }

    /// Appends the unit's symbol. Symbols for angles follow without a space.
    private func withUnit(_ number: String) -> String {
        guard let unitSymbol else { return number }
        return number + (["°", "′", "″"].contains(unitSymbol) ? "" : " ") + unitSymbol
    }

    private func isLargeEnergy(_ value: Double) -> Bool {
        unitSymbol == "J" && value.isFinite && value.magnitude >= 10_000
    }
}

extension Double {
    /// The shortest digits that represent this number.
    fileprivate var digits: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// The number with four decimal places, if it is a multiple of 1/65536 that has more. Nil for all other numbers.
    fileprivate var shortened: String? {
        guard magnitude < 1e9, self * 65_536 == (self * 65_536).rounded() else { return nil }
        let short = (self * 10_000).rounded() / 10_000
        return short == self || short == 0 ? nil : short.digits
    }
}
