internal import BLE

#if canImport(FoundationEssentials)
    internal import FoundationEssentials
#else
    internal import Foundation
#endif

/// A JSON value.
package enum JSON: Equatable, Sendable, ExpressibleByStringLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral
{
    case null
    case bool(Bool)
    case int(Int)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])

    package init(stringLiteral value: String) { self = .string(value) }
    package init(booleanLiteral value: Bool) { self = .bool(value) }
    package init(integerLiteral value: Int) { self = .int(value) }

    /// Creates the JSON of a value.
    package init(encoding value: some Encodable) throws {
        self = try JSONReader.read(JSONEncoder().encode(value))
    }

    package static func optional<Value>(_ value: Value?, _ make: (Value) -> JSON) -> JSON {
        value.map(make) ?? .null
    }

    package static func optional(_ text: String?) -> JSON { optional(text, JSON.string) }

    package static func hex(_ bytes: [UInt8]) -> JSON { .string(Hex.string(bytes)) }
}

// MARK: Text

extension JSON {
    /// The value on one line, with its keys in order.
    ///
    /// The text is safe on a terminal: control characters, line separators and bidirectional controls are escaped, even
    /// those that JSON would allow.
    package var text: String {
        var text = ""
        write(to: &text)
        return text
    }

    /// The value on several lines, for people who edit it.
    package var indented: String {
        var text = ""
        write(to: &text, indentedBy: "")
        return text
    }

    private func write(to text: inout String, indentedBy indent: String) {
        let inner = indent + "  "
        switch self {
        case .array(let values) where !values.isEmpty && values.contains(where: \.isNested):
            text += "["
            for (index, value) in values.enumerated() {
                text += (index > 0 ? ",\n" : "\n") + inner
                value.write(to: &text, indentedBy: inner)
            }
            text += "\n\(indent)]"
        case .object(let values) where !values.isEmpty:
            text += "{"
            for (index, entry) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                text += (index > 0 ? ",\n" : "\n") + inner
                Self.write(entry.key, to: &text)
                text += ": "
                entry.value.write(to: &text, indentedBy: inner)
            }
            text += "\n\(indent)}"
        default: write(to: &text)
        }
    }

    private var isNested: Bool {
        switch self {
        case .array, .object: true
        default: false
        }
    }

    private func write(to text: inout String) {
        switch self {
        case .null: text += "null"
        case .bool(let value): text += value ? "true" : "false"
        case .int(let value): text += "\(value)"
        case .double(let value): text += Self.text(value)
        case .string(let value): Self.write(value, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                value.write(to: &text)
            }
            text += "]"
        case .object(let values):
            text += "{"
            for (index, entry) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                Self.write(entry.key, to: &text)
                text += ":"
                entry.value.write(to: &text)
            }
            text += "}"
        }
    }

    /// Returns the shortest digits that represent the number. JSON has no infinite numbers.
    private static func text(_ value: Double) -> String {
        guard value.isFinite else { return "null" }
        let text = "\(value)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func write(_ value: String, to text: inout String) {
        text += "\""
        for scalar in value.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where ForeignText.isCommand(scalar):
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
