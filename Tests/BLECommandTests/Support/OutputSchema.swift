import BLETestSupport
import Foundation

/// The published schema of the tool's output, as far as it uses JSON Schema.
struct OutputSchema {
    private let definitions: [String: Any]

    init() throws {
        let schema = try JSONSerialization.jsonObject(with: Data(try Checkout.text("Docs/Output.schema.json").utf8))
        definitions = (schema as? [String: Any])?["$defs"] as? [String: Any] ?? [:]
    }

    /// Returns the errors of a line, with their paths. A key that the schema does not have is wrong, too, although the
    /// schema allows later releases to add some.
    func mistakes(in line: Any, of kind: String) -> [String] {
        guard let definition = definitions[kind] as? [String: Any] else { return ["no definition \(kind)"] }
        return check(line, definition, kind)
    }

    private func check(_ value: Any, _ schema: [String: Any], _ place: String) -> [String] {
        if let name = schema["$ref"] as? String {
            return mistakes(in: value, of: String(name.dropFirst("#/$defs/".count))).map { "\(place): \($0)" }
        }
        if let options = schema["anyOf"] as? [[String: Any]] {
            let all = options.map { check(value, $0, place) }
            return all.contains(where: \.isEmpty) ? [] : all.first ?? []
        }
        if let allowed = schema["enum"] as? [String] {
            return (value as? String).map(allowed.contains) == true
                ? [] : ["\(place): \(value) is not one of \(allowed)"]
        }
        if let constant = schema["const"] as? Int { return value as? Int == constant ? [] : ["\(place): \(value)"] }
        let types = schema["type"] as? [String] ?? (schema["type"] as? String).map { [$0] } ?? []
        guard types.isEmpty || types.contains(where: { Self.isA($0, value) }) else {
            return ["\(place): \(value) is not \(types)"]
        }
        if let text = value as? String, let pattern = schema["pattern"] as? String,
            text.range(of: pattern, options: .regularExpression) == nil
        {
            return ["\(place): \(text) does not match \(pattern)"]
        }
        if let list = value as? [Any] {
            let items = schema["items"] as? [String: Any] ?? [:]
            return list.enumerated().flatMap { check($0.element, items, "\(place)[\($0.offset)]") }
        }
        return (value as? [String: Any]).map { check($0, schema, place) } ?? []
    }

    private func check(_ object: [String: Any], _ schema: [String: Any], _ place: String) -> [String] {
        let known = schema["properties"] as? [String: [String: Any]]
        let others = schema["additionalProperties"] as? [String: Any]
        var mistakes = (schema["required"] as? [String] ?? []).filter { object[$0] == nil }.map {
            "\(place): \($0) is missing"
        }
        for (key, value) in object {
            // Swift's own names for cases without labels.
            if key.hasPrefix("_") { mistakes.append("\(place): \(key)") }
            if let schema = known?[key] ?? others {
                mistakes += check(value, schema, "\(place).\(key)")
            } else if known != nil {
                mistakes.append("\(place): \(key) is not described")
            } else {
                // What is not described further must be plain, too.
                mistakes += check(value, [:], "\(place).\(key)")
            }
        }
        return mistakes
    }

    private static func isA(_ type: String, _ value: Any) -> Bool {
        switch type {
        case "null": value is NSNull
        case "string": value is String
        case "array": value is [Any]
        case "object": value is [String: Any]
        case "boolean": (value as? NSNumber).map(isBoolean) ?? false
        case "number": (value as? NSNumber).map { !isBoolean($0) } ?? false
        case "integer":
            (value as? NSNumber).map { !isBoolean($0) && $0.doubleValue == $0.doubleValue.rounded() } ?? false
        default: false
        }
    }

    private static func isBoolean(_ number: NSNumber) -> Bool {
        let type = String(cString: number.objCType)
        return type == "c" || type == "B"
    }
}
