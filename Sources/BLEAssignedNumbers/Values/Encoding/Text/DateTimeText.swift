internal import BLE

/// A date and time as text.
struct DateTimeText {
    /// The fields, in order.
    let items: [EncodedItem]

    /// Parses `2026-03-01T12:00:00`, with a space in place of the T, without seconds, or with question marks for an
    /// unknown year, month or day; or `not known`. The field is for messages.
    init(_ text: Substring, _ field: ValueFormat.Field) throws(BLEError) {
        guard !["unknown", "not known"].contains(text.lowercased()) else {
            items = Self.items([nil, nil, nil, 0, 0, 0])
            return
        }
        let mistake = field.error("is a date and time such as 2026-03-01T12:00:00, not \(text.quoted)")
        let halves = text.split(omittingEmptySubsequences: false) { $0 == "T" || $0 == "t" || $0 == " " }
        guard halves.count == 2 else { throw mistake }
        let date = halves[0].split(separator: "-", omittingEmptySubsequences: false)
        var time = halves[1].split(separator: ":", omittingEmptySubsequences: false)
        if time.count == 2 { time.append("00") }
        guard date.map(\.count) == [4, 2, 2], time.map(\.count) == [2, 2, 2] else { throw mistake }
        var parts: [Int?] = []
        for (index, digits) in (date + time).enumerated() {
            if index < 3, digits.allSatisfy({ $0 == "?" }) {
                parts.append(nil)
            } else {
                guard digits.allSatisfy({ $0.isASCII && $0.isNumber }), let number = Int(digits) else { throw mistake }
                parts.append(number)
            }
        }
        let last = Self.lastDay(year: parts[0], month: parts[1])
        for (part, range) in zip(parts, [1582...9999, 1...12, 1...last, 0...23, 0...59, 0...59]) {
            guard part.map(range.contains) ?? true else {
                throw field.error("is \(text.quoted), which is not a date and time from the year 1582 on")
            }
        }
        items = Self.items(parts)
    }

    private static func items(_ parts: [Int?]) -> [EncodedItem] {
        zip(FieldValue.dateTimeNames, parts).map { name, part in
            EncodedItem(
                name: name,
                input: .content(part.map { .integer(Int128($0)) } ?? .special("value is not known")))
        }
    }

    /// Returns the number of days of a month. Leap years are those of the Gregorian calendar.
    private static func lastDay(year: Int?, month: Int?) -> Int {
        switch month {
        case 4, 6, 9, 11: 30
        case 2:
            if let year, !year.isMultiple(of: 4) || year.isMultiple(of: 100) && !year.isMultiple(of: 400) {
                28
            } else {
                29
            }
        default: 31
        }
    }
}

extension [ValueFormat.Field] {
    /// Whether the fields are those of a date and time.
    var isDateTime: Bool { map(\.name) == FieldValue.dateTimeNames }
}
