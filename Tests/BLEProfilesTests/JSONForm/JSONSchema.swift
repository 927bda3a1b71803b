import Foundation

/// The part of JSON Schema that Docs/Values.schema.json uses.
struct JSONSchema {
    /// A JSON value.
    enum Value: Codable, Equatable {
        case null
        case bool(Bool)
        case number(Double)
        case string(String)
        case array([Value])
        case object([String: Value])

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            if container.decodeNil() {
                self = .null
            } else if let value = try? container.decode(Bool.self) {
                self = .bool(value)
            } else if let value = try? container.decode(Double.self) {
                self = .number(value)
            } else if let value = try? container.decode(String.self) {
                self = .string(value)
            } else if let value = try? container.decode([Value].self) {
                self = .array(value)
            } else {
                self = .object(try container.decode([String: Value].self))
            }
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            switch self {
            case .null: try container.encodeNil()
            case .bool(let value): try container.encode(value)
            case .number(let value): try container.encode(value)
            case .string(let value): try container.encode(value)
            case .array(let value): try container.encode(value)
            case .object(let value): try container.encode(value)
            }
        }

        subscript(key: String) -> Value? { if case .object(let object) = self { object[key] } else { nil } }
        var object: [String: Value] { if case .object(let object) = self { object } else { [:] } }
        var array: [Value] { if case .array(let array) = self { array } else { [] } }
        var string: String? { if case .string(let text) = self { text } else { nil } }
        var number: Double? { if case .number(let number) = self { number } else { nil } }

        /// The names that `type` has for it.
        var types: Set<String> {
            switch self {
            case .null: ["null"]
            case .bool: ["boolean"]
            case .number(let number): number == number.rounded() ? ["number", "integer"] : ["number"]
            case .string: ["string"]
            case .array: ["array"]
            case .object: ["object"]
            }
        }
    }

    struct UnknownKeyword: Error {
        let keyword: String
    }

    let definitions: [String: Value]

    init(_ data: Data) throws {
        definitions = try JSONDecoder().decode(Value.self, from: data)["$defs"]?.object ?? [:]
    }

    /// Returns the errors of a value, by their paths. Empty if it matches the definition.
    func problems(of value: Value, as definition: String) throws -> [String] {
        try problems(value, .object(["$ref": .string("#/$defs/" + definition)]), definition)
    }

    private func problems(_ value: Value, _ schema: Value, _ path: String) throws -> [String] {
        var found: [String] = []
        for (keyword, rule) in schema.object {
            switch keyword {
            case "description": break
            case "$ref":
                let name = String(rule.string?.dropFirst("#/$defs/".count) ?? "")
                guard let definition = definitions[name] else { throw UnknownKeyword(keyword: name) }
                found += try problems(value, definition, path)
            case "type":
                let allowed = rule.string.map { [$0] } ?? rule.array.compactMap(\.string)
                if value.types.isDisjoint(with: allowed) { found.append("\(path) is \(value), not \(allowed)") }
            case "enum": if !rule.array.contains(value) { found.append("\(path) is \(value)") }
            case "pattern":
                if let text = value.string, let expression = rule.string,
                    try Regex(expression).firstMatch(in: text) == nil
                {
                    found.append("\(path) is “\(text)”")
                }
            case "minimum":
                if let number = value.number, number < rule.number ?? 0 { found.append("\(path) is \(number)") }
            case "maximum":
                if let number = value.number, number > rule.number ?? 0 { found.append("\(path) is \(number)") }
            case "required":
                if case .object(let object) = value {
                    found += rule.array.compactMap(\.string).filter { object[$0] == nil }.map { "\(path) has no \($0)" }
                }
            case "properties":
                for (name, part) in value.object {
                    if let rule = rule[name] { found += try problems(part, rule, "\(path).\(name)") }
                }
            case "additionalProperties":
                for (name, part) in value.object where schema["properties"]?[name] == nil {
                    found +=
                        rule == .bool(false) ? ["\(path) has \(name)"] : try problems(part, rule, "\(path).\(name)")
                }
            case "propertyNames":
                for name in value.object.keys { found += try problems(.string(name), rule, "the key \(path).\(name)") }
            case "items":
                for (index, part) in value.array.enumerated() {
                    found += try problems(part, rule, "\(path)[\(index)]")
                }
            case "anyOf", "oneOf":
                let all = try rule.array.map { try problems(value, $0, path) }
                let matches = all.count { $0.isEmpty }
                if matches == 0 || keyword == "oneOf" && matches > 1 {
                    found.append("\(path) matches \(matches): \(all.joined())")
                }
            default: throw UnknownKeyword(keyword: keyword)
            }
        }
        return found
    }
}
