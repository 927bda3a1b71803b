import BLE
import BLEAssignedNumbers

/// A field of a value, for comparison: its full name, and its value.
struct ReadField {
    enum Content {
        case integer(Int128)
        case number(Double)
        case text(String)
        case special(String)
    }

    let name: String
    let content: Content
    /// The symbol of the unit.
    var unit: String?

    /// The fields of a value: those of structures as `Wheel Revolution Data.Last Wheel Event Time`, several with the
    /// same name as `Units[0]`, dates and times as one field.
    static func all(_ values: [FieldValue], in prefix: String = "") -> [ReadField] {
        if let time = dateTime(values) {
            return [ReadField(name: prefix.isEmpty ? "" : String(prefix.dropLast()), content: .text(time))]
        }
        let occurrences = Dictionary(values.map { ($0.name, 1) }, uniquingKeysWith: +)
        var counts: [String: Int] = [:]
        return values.flatMap { value -> [ReadField] in
            var name = prefix + value.name
            if occurrences[value.name, default: 0] > 1 {
                name += "[\(counts[value.name, default: 0])]"
                counts[value.name, default: 0] += 1
            }
            return switch value.content {
            case .integer(let integer): [ReadField(name: name, content: .integer(integer), unit: value.unitSymbol)]
            case .number(let number): [ReadField(name: name, content: .number(number), unit: value.unitSymbol)]
            case .text(let text): [ReadField(name: name, content: .text(text))]
            case .flags(let bits, _): [ReadField(name: name, content: .integer(Int128(bits)))]
            case .choice(let number, _): [ReadField(name: name, content: .integer(Int128(number)))]
            case .uuid(let uuid): [ReadField(name: name, content: .text(uuid.fullDescription.uppercased()))]
            case .special(let text): [ReadField(name: name, content: .special(text), unit: value.unitSymbol)]
            case .bytes(let bytes): [ReadField(name: name, content: .text(Hex.string(bytes)))]
            case .fields(let fields): all(fields, in: name + ".")
            }
        }
    }

    /// `2026-01-02T03:04:05`, with zeros for unknown parts.
    private static func dateTime(_ values: [FieldValue]) -> String? {
        guard values.map(\.name) == ["Year", "Month", "Day", "Hours", "Minutes", "Seconds"] else { return nil }
        let digits = zip(values, [4, 2, 2, 2, 2, 2]).map { value, count in
            let text =
                switch value.content {
                case .integer(let number): String(number)
                case .choice(let number, _): String(number)
                default: "0"
                }
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return digits[..<3].joined(separator: "-") + "T" + digits[3...].joined(separator: ":")
    }

    /// The number in some of its bits, given by the first and the last one; nil if it has none.
    func bits(_ first: Int, _ last: Int) -> Int128? {
        let mask = Int128(1) << Int128(last - first + 1) - 1
        switch content {
        case .integer(let integer): return integer >> Int128(first) & mask
        case .text(let digits):
            guard let bytes = Hex.bytes(digits), bytes.count <= 8 else { return nil }
            return bytes.reversed().reduce(0) { $0 << 8 | Int128($1) } >> Int128(first) & mask
        case .number, .special: return nil
        }
    }
}
