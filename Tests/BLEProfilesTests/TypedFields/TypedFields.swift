import BLE
import BLEAssignedNumbers

/// A typed value's part in the comparison with the characteristic's format that the SIG publishes: the properties that
/// correspond to the fields, and the allowed differences.
struct TypedFields: Sendable {
    /// Fields by name, those of structures as `Date Time.Year`.
    typealias Fields = [String: ReadField.Content]

    /// A reason why only one of the two reads some bytes, and the values that it applies to.
    struct Reason: Sendable {
        let text: String
        let holds: @Sendable (Fields) -> Bool

        init(_ text: String, _ holds: @escaping @Sendable (Fields) -> Bool) {
            self.text = text
            self.holds = holds
        }
    }

    let value: TypedValue
    /// By field, with `RR-interval[]` for every element, `Flags[2]` and `Flags[4-5]` for bits of one. All fields must
    /// be present. If it is empty, the only field is the only property.
    let properties: [String: TypedProperty]
    /// Properties that correspond to several fields together.
    var derived: @Sendable (Fields) -> [String: ReadField.Content?] = { _ in [:] }
    /// The reasons why the type refuses bytes that the format reads.
    var refused: [Reason] = []
    /// The reason why the type reads bytes that the format refuses, and whether it applies to bytes and value; nil if
    /// the type reads no more than the format.
    var readAlone: (text: String, holds: @Sendable ([UInt8], [String: String]) -> Bool)?
    /// Whether bytes that both read have another form than the format's. They are not compared.
    var isOtherwiseSpelled: @Sendable ([UInt8], [String: String]) -> Bool = { _, _ in false }

    init<Value>(_ characteristic: Characteristic<Value>, _ properties: [String: TypedProperty] = [:]) {
        value = TypedValue(characteristic)
        self.properties = properties
    }

    /// Adds properties that correspond to several fields.
    func deriving(_ derived: @escaping @Sendable (Fields) -> [String: ReadField.Content?]) -> Self {
        var result = self
        result.derived = derived
        return result
    }

    /// Adds reasons why the type refuses bytes that the format reads.
    func refusing(_ reasons: Reason...) -> Self {
        var result = self
        result.refused += reasons
        return result
    }

    /// Adds the reason why the type reads bytes that the format refuses.
    func readingAlone(_ reason: String, _ holds: @escaping @Sendable ([UInt8], [String: String]) -> Bool) -> Self {
        var result = self
        result.readAlone = (reason, holds)
        return result
    }

    /// Adds bytes that are not compared.
    func notComparing(_ isOtherwiseSpelled: @escaping @Sendable ([UInt8], [String: String]) -> Bool) -> Self {
        var result = self
        result.isOtherwiseSpelled = isOtherwiseSpelled
        return result
    }

    /// The result of a comparison.
    struct Comparison {
        /// The differences in words; empty if both are equal.
        var differences: [String] = []
        /// The listed reasons for which only one of the two reads the bytes.
        var reasons: Set<String> = []
        /// Whether both read the bytes and were compared.
        var isCompared = false
    }

    /// Compares the type's and the format's reading of some bytes.
    func compare(_ bytes: [UInt8], _ format: ValueFormat) -> Comparison {
        let read = (try? format.decode(bytes)).map { ReadField.all($0) }
        let ours = (try? value.decode(bytes)).map { TypedProperty.flattened($0) }
        var result = Comparison()
        let fields = Dictionary((read ?? []).map { ($0.name, $0.content) }, uniquingKeysWith: { first, _ in first })
        let reasons = read == nil ? [] : refused.filter { $0.holds(fields) }.map(\.text)
        switch (read, ours) {
        case (nil, nil): break
        case (nil, let ours?):
            if let readAlone, readAlone.holds(bytes, ours) {
                result.reasons = [readAlone.text]
            } else {
                result.differences = ["is read by the type alone"]
            }
        case (_?, nil):
            result.reasons = Set(reasons)
            if reasons.isEmpty { result.differences = ["is read by the format alone"] }
        case (let read?, let ours?):
            guard !isOtherwiseSpelled(bytes, ours) else { return result }
            result.isCompared = true
            result.differences = reasons.map { "is read, though \($0)" } + differences(read, fields, ours)
        }
        return result
    }

    private func differences(_ read: [ReadField], _ fields: Fields, _ ours: [String: String]) -> [String] {
        var result: [String] = []
        var seen: Set<String> = []
        func check(_ property: TypedProperty, _ name: String, _ content: ReadField.Content?) {
            seen.insert(name)
            let expected = content.flatMap { property.expected($0, finding: ours[name]) }
            if expected == nil ? ours[name] != nil : !property.agrees(ours[name] ?? "nil", expected ?? "") {
                result.append("\(name) is \(ours[name] ?? "nil"), not \(expected ?? "nil")")
            }
        }
        for field in read {
            let parts = parts(of: field)
            if parts.isEmpty { result.append("nothing says which property \(field.name) is") }
            for (property, name, content) in parts where property.name != TypedProperty.none.name {
                check(property, name, content)
            }
        }
        for (name, content) in derived(fields) { check(TypedProperty(name), name, content) }
        // An empty list is equivalent to none.
        for (name, text) in ours where !seen.contains(name) && !text.isEmpty {
            result.append("\(name) is \(text) here alone")
        }
        return result
    }

    /// The properties that correspond to a field, or to bits of it.
    func parts(of field: ReadField) -> [(TypedProperty, String, ReadField.Content)] {
        if properties.isEmpty { return [(TypedProperty(""), "", field.content)] }
        let index = field.name.firstMatch(of: /\[\d+\]/).map { String($0.output) }
        let name = index.map { field.name.replacing($0, with: "[]") } ?? field.name
        if let property = properties[name] ?? properties[name + "[]"] {
            return [(property, property.name.replacing("[]", with: index ?? "[0]"), field.content)]
        }
        return properties.compactMap { key, property in
            guard let match = key.wholeMatch(of: /(?<field>.*)\[(?<first>\d+)(-(?<last>\d+))?\]/),
                match.output.field == name, let first = Int(match.output.first),
                let bits = field.bits(first, match.output.last.flatMap { Int($0) } ?? first)
            else {
                return nil
            }
            return (property, property.name, .integer(bits))
        }
    }
}
