import BLE
import BLEAssignedNumbers

/// The differences between two readings of a value: this package's and bluetooth-sig's.
struct ValueComparison {
    /// A difference, and for numbers the factor, theirs by ours.
    typealias Found = (difference: ValueDifference, factor: Double)

    let valueCase: ValueCase
    private(set) var found: [Found] = []

    /// Compares the fields of the SIG's format; nil for a value that this package refuses.
    init(_ valueCase: ValueCase, _ ours: [FieldValue]?) {
        self.valueCase = valueCase
        let isRefused = valueCase.outcome.hasPrefix("refused")
        guard let ours else {
            if !isRefused { add("–", valueCase.outcome == "endless" ? "endless" : refusal) }
            return
        }
        guard !isRefused, valueCase.outcome != "endless" else {
            add("–", valueCase.outcome)
            return
        }
        let fields = ReadField.all(ours)
        if valueCase.outcome == "special" {
            guard fields.count == 1, case .special = fields[0].content else {
                add(fields.first?.name ?? "–", "special")
                return
            }
            return
        }
        compare(fields)
    }

    /// The kind of difference for a value that only bluetooth-sig reads, by the supplement's verdict.
    private var refusal: String {
        ["short": "shorter", "long": "longer", "text": "no text", "prohibited": "prohibited"][valueCase.verdict]
            ?? "no value"
    }

    private mutating func compare(_ fields: [ReadField]) {
        let byName = Dictionary(fields.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        var seen: Set<String> = []
        for theirs in valueCase.named {
            let part = FieldPart(theirs.name, of: byName)
            guard let field = part.field else {
                add(Self.withoutIndices(theirs.name), "not there")
                continue
            }
            seen.insert(field.name)
            compare(part, field, theirs.text)
        }
        for field in fields where !seen.contains(field.name) { add(Self.withoutIndices(field.name), "absent") }
    }

    private mutating func compare(_ part: FieldPart, _ field: ReadField, _ theirs: String) {
        let name = part.name
        switch (part.bits.flatMap { field.bits($0.lowerBound, $0.upperBound) }, field.content) {
        case (let bits?, _): compare(name, Double(bits), theirs)
        case (nil, .integer(let integer)): compare(name, Double(integer), theirs)
        case (nil, .number(let number)): compare(name, number, theirs)
        case (nil, .special): if !["nan", "inf", "-inf"].contains(theirs) { add(name, "number") }
        case (nil, .text(let text)): if Self.escaped(text) != theirs { add(name, "other") }
        }
    }

    private mutating func compare(_ name: String, _ ours: Double, _ theirs: String) {
        guard let theirs = Double(theirs), theirs.isFinite || ours.isFinite else {
            add(name, "×")
            return
        }
        guard theirs != ours, !(abs(theirs - ours) <= 1e-9 * max(abs(theirs), abs(ours))) else { return }
        add(name, "×", factor: ours == 0 ? .nan : theirs / ours)
    }

    private mutating func add(_ field: String, _ kind: String, factor: Double = .nan) {
        let number = String(valueCase.characteristic.short ?? 0, radix: 16, uppercase: true)
        found.append((ValueDifference(characteristic: number, field: field, kind: kind), factor))
    }

    private static func escaped(_ text: String) -> String {
        let escapes: [Character: String] = ["\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r", "\r\n": "\\r\\n"]
        return text.map { escapes[$0] ?? String($0) }.joined()
    }

    /// `Record.Size` for `Record[1].Size`; bits, such as `Flags[3]`, keep their numbers.
    static func withoutIndices(_ name: String) -> String {
        name.replacing(/(?<name>^Record|^RR-interval|^Units|Array$|Array)\[\d+\]/) { String($0.output.name) }
    }
}

/// The meaning of a name: a field, or some bits of one.
struct FieldPart {
    /// The name, without the numbers of elements.
    let name: String
    let field: ReadField?
    /// The first and the last bit; nil for all of it.
    private(set) var bits: ClosedRange<Int>?

    /// `Flags[3-5]` is bits of `Flags`; the first of several may be the only one, without a number.
    init(_ name: String, of fields: [String: ReadField]) {
        self.name = ValueComparison.withoutIndices(name)
        if let field = fields[name] ?? fields[name.replacing("[0]", with: "")], fields[name] != nil || self.name != name
        {
            self.field = field
            return
        }
        guard let match = name.wholeMatch(of: /(?<field>.*)\[(?<first>\d+)(-(?<last>\d+))?\]/),
            let first = Int(match.output.first)
        else {
            field = nil
            return
        }
        field = fields[String(match.output.field)]
        bits = first...(match.output.last.flatMap { Int($0) } ?? first)
    }
}
