internal import BLE

// The parts of the descriptions of measurements.

extension [String?] {
    /// The parts that are present, separated by commas. `not known` if there are none.
    var line: String { isVoid ? "not known" : compactMap(\.self).joined(separator: ", ") }

    private var isVoid: Bool { allSatisfy { $0 == nil } }
}

extension Double {
    /// Returns the number with its unit and without trailing zeros, such as `21.37 °C`, `90°` or `5`.
    ///
    /// Special values have no unit: `not known` for NaN, and `above the range` or `below the range` for infinity. A
    /// number that would be rounded to 0 is not rounded.
    ///
    /// - Parameter places: the maximum number of decimal places, 0 to 6.
    func text(_ unit: String = "", places: Int = 6) -> String {
        guard isFinite else { return isNaN ? "not known" : self < 0 ? "below the range" : "above the range" }
        return digits(places) + (unit.isEmpty || unit == "°" ? "" : " ") + unit
    }

    private func digits(_ places: Int) -> String {
        let steps = (self * .decimal(1, places)).rounded()
        guard self != 0 else { return "0" }
        // The limit prevents overflow of the integer.
        guard magnitude < 1e12, steps != 0 else {
            let text = "\(self)"
            return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
        }
        let digits = String(Int(steps.magnitude))
        let padded = String(repeating: "0", count: Swift.max(0, places + 1 - digits.count)) + digits
        var fraction = padded.suffix(places)
        while fraction.last == "0" { fraction.removeLast() }
        return (steps < 0 ? "-" : "") + padded.dropLast(places) + (fraction.isEmpty ? "" : ".") + fraction
    }
}

extension MedFloat {
    /// Returns the number with its unit, in the same form as for a Double.
    func text(_ unit: String = "") -> String { doubleValue.text(unit) }

    /// Returns the number with its unit, such as `72 bpm`, or the name of a special value, such as `pulse not known`.
    func text(_ unit: String, of name: String) -> String { (isNumber ? "" : "\(name) ") + text(unit) }

    /// Whether the value is a number, not a special value.
    var isNumber: Bool { decimal != nil }
}

extension Int {
    /// Returns the number with a noun, such as `1 floor` or `12 floors`.
    func counted(_ noun: String) -> String { "\(self) \(noun)\(self == 1 ? "" : "s")" }

    /// The number of seconds as a time, such as `42 s` or `1 h 2 min 3 s`.
    var secondsText: String {
        guard self >= 60 else { return "\(self) s" }
        let parts = [(self / 86400, "d"), (self / 3600 % 24, "h"), (self / 60 % 60, "min"), (self % 60, "s")]
        return parts.filter { $0.0 != 0 }.map { "\($0.0) \($0.1)" }.joined(separator: " ")
    }

    /// The number of minutes as a time, such as `5 min` or `1 d 2 h 3 min`.
    var minutesText: String {
        let (seconds, isTooLarge) = multipliedReportingOverflow(by: 60)
        return self < 1 || isTooLarge ? "\(self) min" : seconds.secondsText
    }
}

extension NamedConstants {
    /// The name in words, such as `capillary whole blood`. `12 (reserved)` for a number without a name.
    var words: String { Self.names[rawValue].map(Self.words) ?? "\(rawValue) (reserved)" }

    fileprivate static func words(_ name: String) -> String {
        name.reduce(into: "") { $0 += $1.isUppercase ? " \($1.lowercased())" : "\($1)" }
    }
}

extension NamedConstants where Self: OptionSet {
    /// The names of the flags in words, separated by commas. Nil for an empty set.
    var flagWords: String? {
        guard rawValue != 0 else { return nil }
        // Flags without a name are a hexadecimal number.
        let names = description.split(separator: ",").map { part in
            let name = String(part.drop { $0 == " " })
            return name.first == "0" ? name : Self.words(name)
        }
        return names.joined(separator: ", ")
    }
}

extension UserIndex {
    /// The user in words, `user 2` or `unknown user`.
    var words: String { isKnown ? "user \(rawValue)" : "unknown user" }
}
