import BLE
import BLEProfiles

/// A typed value's part in the comparison with bluetooth-sig: which of its properties a path of the package's values stands for.
struct TypedReading: Sendable {
    /// A property, and what it is to be multiplied by to be in the package's unit.
    struct Property: Sendable, ExpressibleByStringLiteral {
        let name: String
        let factor: Double

        init(_ name: String, factor: Double = 1) {
            self.name = name
            self.factor = factor
        }

        init(stringLiteral name: String) { self.init(name) }

        /// Of the package's alone.
        static let none: Property = "-"
    }

    let value: TypedValue
    /// By path, `rr_intervals[]` for every element; all of the package's must be there. The path of a value without parts is empty.
    let properties: [String: Property]

    init<Value>(_ characteristic: Characteristic<Value>, _ properties: [String: Property]) {
        value = TypedValue(characteristic)
        self.properties = properties
    }

    /// All that are compared. One more is one line more.
    static let all: [TypedReading] = [
        TypedReading(.batteryLevel, ["": ""]),
        TypedReading(
            .heartRateMeasurement,
            [
                "heart_rate": "beatsPerMinute", "energy_expended": "energyExpendedKilojoules",
                "rr_intervals[]": "rrIntervals[]", "sensor_contact": .none, "flags": .none,
            ]),
    ]

    /// The values of a value's properties by path, `crank.revolutions` and `rrIntervals[0]`: numbers, `1` and `0` for what is true
    /// and not, texts, bytes in hexadecimal; without those that are nil.
    static func flattened(_ value: Any, _ path: String = "") -> [String: String] {
        switch value {
        case let flag as Bool: return [path: flag ? "1" : "0"]
        case let number as any BinaryInteger: return [path: "\(number)"]
        case let number as any BinaryFloatingPoint: return [path: "\(number)"]
        case let number as MedFloat16: return [path: "\(number.doubleValue)"]
        case let number as MedFloat32: return [path: "\(number.doubleValue)"]
        case let text as String: return [path: text]
        case let bytes as [UInt8]: return [path: Hex.string(bytes)]
        case let uuid as BluetoothUUID: return [path: uuid.fullDescription.uppercased()]
        case let raw as any RawRepresentable: return flattened(raw.rawValue, path)
        default: break
        }
        let mirror = Mirror(reflecting: value)
        var result: [String: String] = [:]
        for (index, child) in mirror.children.enumerated() {
            let name =
                switch mirror.displayStyle {
                case .optional: path
                case .collection, .set: "\(path)[\(index)]"
                default: path.isEmpty ? child.label ?? "" : "\(path).\(child.label ?? "")"
                }
            result.merge(flattened(child.value, name)) { $1 }
        }
        return result
    }

    /// What differs between the value of some bytes and the package's reading of them, in words; empty when nothing does.
    func differences(_ valueCase: ValueCase) throws -> [String] {
        let ours = Self.flattened(try value.decode(valueCase.bytes))
        var result: [String] = []
        var seen: Set<String> = []
        for (path, text) in valueCase.read {
            let element = path.firstMatch(of: /\[\d+\]/).map { String($0.output) } ?? "[]"
            guard let property = properties[path.replacing(/\[\d+\]/, with: "[]")] else {
                result.append("nothing says which property \(path) is")
                continue
            }
            guard property.name != Property.none.name else { continue }
            let name = property.name.replacing("[]", with: element)
            seen.insert(name)
            if !Self.agrees(ours[name], text, factor: property.factor) {
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

    private static func agrees(_ ours: String?, _ theirs: String, factor: Double) -> Bool {
        guard let ours else { return false }
        let theirs = ["true": "1", "false": "0"][theirs] ?? theirs
        guard let number = Double(ours), let other = Double(theirs) else { return ours == theirs }
        return number == other || abs(number * factor - other) <= 1e-9 * abs(other)
    }
}
