import BLE
import BLEProfiles

/// A typed value's part in the comparison with bluetooth-sig: which of its properties a path of the package's values stands for.
struct TypedReading: Sendable {
    let value: TypedValue
    /// By path, `rr_intervals[]` for every element; all of the package's must be there. The path of a value without parts is empty.
    let properties: [String: TypedProperty]

    /// The only number of bytes that is compared; nil for all. The package reads others, too, and as something else.
    let length: Int?

    init<Value>(_ characteristic: Characteristic<Value>, _ properties: [String: TypedProperty], length: Int? = nil) {
        value = TypedValue(characteristic)
        self.properties = properties
        self.length = length
    }

    /// All that are compared: those that have no format, with which ``TypedFields`` compares the others. One more is one line more.
    static let all: [TypedReading] = [
        TypedReading(.digital, ["[]": "[]"]), TypedReading(.analog, ["": ""]),
        TypedReading(
            .descriptorValueChanged, ["flags": "changes", "characteristic_uuid": "characteristic", "value": .none],
            length: 4),
    ]

    /// What differs between the value of some bytes and the package's reading of them, in words; empty when nothing does.
    func differences(_ valueCase: ValueCase) throws -> [String] {
        let ours = TypedProperty.flattened(try value.decode(valueCase.bytes))
        var result: [String] = []
        var seen: Set<String> = []
        for (path, text) in valueCase.read {
            let element = path.firstMatch(of: /\[\d+\]/).map { String($0.output) } ?? "[]"
            guard let property = properties[path.replacing(/\[\d+\]/, with: "[]")] else {
                result.append("nothing says which property \(path) is")
                continue
            }
            guard property.name != TypedProperty.none.name else { continue }
            let name = property.name.replacing("[]", with: element)
            seen.insert(name)
            let expected = property.text(for: text)
            if expected == nil ? ours[name] != nil : !property.agrees(ours[name] ?? "nil", expected ?? "") {
                result.append("\(name) is \(ours[name] ?? "nil"), \(path) \(text)")
            }
        }
        // What stands for a path of the package and was not read by it.
        let known = Set(properties.values.map(\.name))
        for name in ours.keys where known.contains(name.replacing(/\[\d+\]/, with: "[]")) && !seen.contains(name) {
            result.append("\(name) is \(ours[name] ?? "nil") here alone")
        }
        return result
    }
}
