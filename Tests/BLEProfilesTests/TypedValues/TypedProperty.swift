import BLE
import BLEProfiles

/// A property of a typed value that corresponds to a field, or to a path, of another reading of the same bytes.
struct TypedProperty: Sendable, ExpressibleByStringLiteral {
    /// Its path, `crank.count`; `rrIntervalsSeconds[]` for every element.
    let name: String
    /// The factor that converts it to the field's unit.
    let factor: Double
    /// The property for some numbers, or texts, of the field, or nil; other ones are equal.
    let texts: [String: String?]
    /// Whether it is nil for everything that is not in `texts`.
    let isNilOtherwise: Bool

    init(_ name: String, factor: Double = 1, _ texts: [String: String?] = [:], isNilOtherwise: Bool = false) {
        self.name = name
        self.factor = factor
        self.texts = texts
        self.isNilOtherwise = isNilOtherwise
    }

    init(stringLiteral name: String) { self.init(name) }

    /// A value of the other reading alone.
    static let none: TypedProperty = "-"

    /// A property with one of a few values, or nil.
    static func choice(_ name: String, _ texts: [String: String]) -> TypedProperty {
        TypedProperty(name, texts, isNilOtherwise: true)
    }

    /// A choice by the bit of a flag.
    static func choice(_ name: String, _ zero: String, _ one: String) -> TypedProperty {
        choice(name, ["0": zero, "1": one])
    }

    /// The property for a number or a text of the field; nil if it is nil.
    func text(for other: String) -> String? {
        if let text = texts[other] { return text }
        return isNilOtherwise ? nil : other
    }

    /// The property for a field's content. For a special number, it is nil, unless the property has a value for it.
    func expected(_ content: ReadField.Content, finding ours: String?) -> String? {
        switch content {
        case .integer(let integer): return text(for: "\(integer)")
        case .number(let number): return text(for: "\(number)".replacing(/\.0$/, with: ""))
        case .text(let other): return text(for: other)
        case .special(let meaning):
            if let text = texts[meaning] { return text }
            guard let ours, ["nan", "inf", "-inf"].contains(ours) else { return nil }
            return ["infinity": "inf", "-infinity": "-inf"][meaning] ?? "nan"
        }
    }

    /// Whether the property equals the other reading.
    func agrees(_ ours: String, _ theirs: String) -> Bool {
        let theirs = ["true": "1", "false": "0"][theirs] ?? theirs
        guard ours != theirs, let number = Double(ours), let other = Double(theirs) else { return ours == theirs }
        return abs(number * factor - other) <= 1e-9 * abs(other)
    }

    /// The properties of a value by path, such as `crank.count` and `rrIntervalsSeconds[0]`: numbers, `1` and `0` for
    /// true and false, texts, cases of enumerations, dates and times as `2026-01-02T03:04:05` with zeros for unknown
    /// parts, bytes in hexadecimal. Properties that are nil are left out.
    static func flattened(_ value: Any, _ path: String = "") -> [String: String] {
        switch value {
        case let flag as Bool: return [path: flag ? "1" : "0"]
        case let number as any BinaryInteger: return [path: "\(number)"]
        case let number as any BinaryFloatingPoint: return [path: "\(number)"]
        case let number as MedFloat16: return [path: "\(number.doubleValue)"]
        case let number as MedFloat32: return [path: "\(number.doubleValue)"]
        case let time as DateTime: return [path: text(time)]
        case let text as String: return [path: text]
        case let bytes as [UInt8] where type(of: value) == [UInt8].self: return [path: Hex.string(bytes)]
        case let uuid as BluetoothUUID: return [path: uuid.fullDescription.uppercased()]
        case let raw as any RawRepresentable: return flattened(raw.rawValue, path)
        default: break
        }
        let mirror = Mirror(reflecting: value)
        if mirror.displayStyle == .enum, mirror.children.isEmpty { return [path: "\(value)"] }
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

    private static func text(_ time: DateTime) -> String {
        func digits(_ number: Int?, _ count: Int = 2) -> String {
            let text = String(number ?? 0)
            return String(repeating: "0", count: max(0, count - text.count)) + text
        }
        return "\(digits(time.year, 4))-\(digits(time.month))-\(digits(time.day))"
            + "T\(digits(time.hour)):\(digits(time.minute)):\(digits(time.second))"
    }
}
