// The parts of the texts of fields.

extension FieldValue {
    /// The name without the parts that only distinguish the forms of a value: `Systolic` for `Blood Pressure
    /// Measurement Compound Value - Systolic (mmHg)`, `Heart Rate` for `Heart Rate Measurement Value (8 bit
    /// resolution)`.
    public var shortName: String {
        var short = Substring(name)
        for form in Self.forms where short.hasSuffix(form) { short = short.dropLast(form.count) }
        let path = short.split(separator: "-", omittingEmptySubsequences: false)
        // A hyphen in a word, as in “RR-interval”, does not separate names.
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

    static let dateTimeNames = ["Year", "Month", "Day", "Hours", "Minutes", "Seconds"]

    /// Returns a date and time, with question marks for unknown parts. Nil for other fields.
    static func dateTime(_ values: [FieldValue]) -> String? {
        guard values.map(\.name) == dateTimeNames else { return nil }
        var (parts, isKnown) = ([String](), false)
        for (value, count) in zip(values, [4, 2, 2, 2, 2, 2]) {
            if case .integer(let number) = value.content {
                let digits = String(number)
                if number != 0 { isKnown = true }
                parts.append(String(repeating: "0", count: max(0, count - digits.count)) + digits)
            } else {
                parts.append(String(repeating: "?", count: count))
            }
        }
        let areNumbers = !parts.contains { $0.first == "?" }
        return isKnown || areNumbers
            ? parts[..<3].joined(separator: "-") + " " + parts[3...].joined(separator: ":") : "not known"
    }
}

extension Double {
    /// The number with four decimal places, if it is a multiple of 1/65536 with more decimal places. Nil for all other
    /// numbers.
    var shortened: String? {
        guard magnitude < 1e9, self * 65_536 == (self * 65_536).rounded() else { return nil }
        let short = (self * 10_000).rounded() / 10_000
        return short == self || short == 0 ? nil : short.shortText
    }
}
