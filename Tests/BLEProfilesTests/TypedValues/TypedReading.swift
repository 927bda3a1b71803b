import BLE
import BLEProfiles

/// A typed value's part in the comparison with bluetooth-sig: the properties that correspond to the paths of the
/// package's values.
struct TypedReading: Sendable {
    let value: TypedValue
    /// By path, with `rr_intervals[]` for every element. All paths of the package must be present. The path of a value
    /// without parts is empty.
    let properties: [String: TypedProperty]

    /// The only number of bytes that is compared; nil for all. The package reads other numbers of bytes differently.
    let length: Int?

    init<Value>(_ characteristic: Characteristic<Value>, _ properties: [String: TypedProperty], length: Int? = nil) {
        value = TypedValue(characteristic)
        self.properties = properties
        self.length = length
    }

    /// All comparisons: the typed values without a format. (``TypedFields`` compares the others with their formats.)
    static let all: [TypedReading] = [
        TypedReading(.digital, ["[]": "[]"]), TypedReading(.analog, ["": ""]),
        TypedReading(
            .descriptorValueChanged, ["flags": "changes", "characteristic_uuid": "characteristic", "value": .none],
            length: 4),
    ]

    /// The differences between the value of some bytes and the package's reading of them, in words; empty if there are
    /// none.
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
        // Properties that correspond to a path that the package has not read.
        let known = Set(properties.values.map(\.name))
        for name in ours.keys where known.contains(name.replacing(/\[\d+\]/, with: "[]")) && !seen.contains(name) {
            result.append("\(name) is \(ours[name] ?? "nil") here alone")
        }
        return result
    }
}
