import BLE
import BLEProfiles

/// How people read a field. For programs it is as the SIG has it.
extension FieldValue {
    /// The name, without what only says how many bits the number has.
    var shownName: String {
        for bits in ["8", "16", "24", "32"] {
            let suffix = " (\(bits) bit resolution)"
            if name.hasSuffix(suffix) { return String(name.dropLast(suffix.count)) }
        }
        return name
    }

    /// The value with its unit: from 10 000 J on in kilojoules, and binary fractions with at most four digits behind the point.
    /// Nothing in it commands a terminal.
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

    /// Several in a line; see `text(_:)`.
    static func shownText(_ values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].shownText }
        return values.filter { !$0.isSilent }.map { "\($0.shownName): \($0.shownText)" }.joined(separator: "; ")
    }

    /// Signs of angle follow without a space.
    private func withUnit(_ number: String) -> String {
        guard let unitSymbol else { return number }
        return number + (["°", "′", "″"].contains(unitSymbol) ? "" : " ") + unitSymbol
    }

    private func isLargeEnergy(_ value: Double) -> Bool {
        unitSymbol == "J" && value.isFinite && value.magnitude >= 10_000
    }
}

extension Double {
    /// The shortest digits that mean this number.
    fileprivate var digits: String {
        let text = "\(self)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    /// A fraction of 1024 or another power of two up to 65536 that has many decimal digits, with four of them; nil for any other.
    fileprivate var shortened: String? {
        guard magnitude < 1e9, self * 65_536 == (self * 65_536).rounded() else { return nil }
        let short = (self * 10_000).rounded() / 10_000
        return short == self || short == 0 ? nil : short.digits
    }
}
