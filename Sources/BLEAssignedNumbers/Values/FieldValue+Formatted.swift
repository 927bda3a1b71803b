/// Texts for people. The texts for programs, ``name`` and ``description``, are as the SIG defines them.
extension FieldValue {
    /// The name without what only distinguishes the forms of a value: `Systolic` for `Blood Pressure Measurement Compound
    /// Value - Systolic (mmHg)`, `Heart Rate` for `Heart Rate Measurement Value (8 bit resolution)`.
    public var shortName: String {
        var short = Substring(name)
        for form in Self.forms where short.hasSuffix(form) { short = short.dropLast(form.count) }
        let path = short.split(separator: "-", omittingEmptySubsequences: false)
        // A hyphen in a word, as in “RR-interval”, is not one between names.
        if path.count == 2, path[0].last == " ", path[1].first == " " { short = path[1].dropFirst() }
        if short.hasSuffix(Self.valueSuffix) { short = short.dropLast(Self.valueSuffix.count) }
        return String(short)
    }

    private static let forms = [
        " (8 bit resolution)", " (16 bit resolution)", " (24 bit resolution)", " (32 bit resolution)", " (mmHg)",
        " (kPa)",
        " (Celsius)", " (Fahrenheit)", " (unused)",
    ]
    private static let valueSuffix = " Measurement Value"

    /// The value with its unit, such as `72 bpm`, `10 kJ` or `2026-03-01 12:00:00`.
    ///
    /// Energies are in kilojoules from 10,000 J on, and pressures of which the SIG defines kilopascals in these. Binary
    /// fractions have at most four decimal places. A date and time whose parts are not known is `not known`; otherwise,
    /// question marks replace unknown parts. Text of a peripheral is returned as it was sent, with any control characters.
    public var formatted: String {
        switch content {
        case .integer(let value) where isThousandfold(Double(value)):
            "\((Double(value) / 1000).shortText) \(thousandfoldSymbol)"
        case .number(let value) where isThousandfold(value): "\((value / 1000).shortText) \(thousandfoldSymbol)"
        case .number(let value): value.shortened.map { Self.with(unitSymbol, $0) } ?? description
        case .fields(let fields):
            Self.partialDateTime(fields)
                ?? (description.first == "(" ? "(\(Self.formatted(fields)))" : description)
        default: description
        }
    }

    /// Returns several fields in one line: a single one without its name, otherwise each with its ``shortName``, separated
    /// by semicolons. Fields that only announce others are omitted.
    public static func formatted(_ values: [FieldValue]) -> String {
        guard values.count != 1 else { return values[0].formatted }
        return values.filter { !$0.isSilent }.map { "\($0.shortName): \($0.formatted)" }.joined(separator: "; ")
    }

    private func isThousandfold(_ value: Double) -> Bool {
        guard value.isFinite else { return false }
        return unitSymbol == "J" && value.magnitude >= 10_000 || unitSymbol == "Pa" && name.hasSuffix(" (kPa)")
    }

    private var thousandfoldSymbol: String { "k" + (unitSymbol ?? "") }

    /// Returns a date and time with unknown parts. Nil for other fields, and if all parts are known.
    private static func partialDateTime(_ values: [FieldValue]) -> String? {
        guard values.map(\.name) == dateTimeNames else { return nil }
        var (parts, known, areNumbers) = ([String](), 0, true)
        for (value, count) in zip(values, [4, 2, 2, 2, 2, 2]) {
            if case .integer(let number) = value.content {
                let digits = String(number)
                if number != 0 { known += 1 }
                parts.append(String(repeating: "0", count: max(0, count - digits.count)) + digits)
            } else {
                areNumbers = false
                parts.append(String(repeating: "?", count: count))
            }
        }
        if areNumbers { return nil }
        return known == 0
            ? "not known" : parts[..<3].joined(separator: "-") + " " + parts[3...].joined(separator: ":")
    }
}

extension Double {
    /// The number with four decimal places, if it is a multiple of 1/65536 that has more. Nil for all other numbers.
    fileprivate var shortened: String? {
        guard magnitude < 1e9, self * 65_536 == (self * 65_536).rounded() else { return nil }
        let short = (self * 10_000).rounded() / 10_000
        return short == self || short == 0 ? nil : short.shortText
    }
}
