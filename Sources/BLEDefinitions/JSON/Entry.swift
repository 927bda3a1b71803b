package import BLE
package import BLEAssignedNumbers

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A value of a JSON text, and its place.
package struct Entry {
    /// The place of a value, such as `services[0].uuid`.
    package struct Place: CustomStringConvertible {
        package init() {}
        private init(description: String) { self.description = description }

        package private(set) var description = ""

        /// The place of the value of a key. A message shows the beginning of the key.
        package subscript(key: String) -> Place {
            Place(description: (description.isEmpty ? "" : description + ".") + key.excerpt)
        }

        /// The place of a value in a list.
        package subscript(index: Int) -> Place { Place(description: "\(description)[\(index)]") }
    }

    package let json: JSON
    package let place: Place

    package init(_ json: JSON, _ place: Place) { (self.json, self.place) = (json, place) }

    /// Reads a whole text.
    package init(text: Data) throws { self.init(try JSONReader.read(text), Place()) }

    package func mistake(_ message: String) -> DefinitionError { DefinitionError(place: place, message: message) }

    package func entries() throws -> [(String, Entry)] {
        guard case .object(let keys) = json else { throw mistake("not an object") }
        return keys.sorted { $0.key < $1.key }.map { ($0.key, Entry($0.value, place[$0.key])) }
    }

    package func object(_ known: [String]) throws -> [String: Entry] {
        let entries = try entries()
        if let unknown = entries.first(where: { !known.contains($0.0) }) {
            throw unknown.1.mistake(
                "unknown key" + (Suggestion.nearest(to: unknown.0, in: known).map { "; did you mean \"\($0)\"?" } ?? "")
            )
        }
        return Dictionary(uniqueKeysWithValues: entries)
    }

    package func array() throws -> [Entry] {
        guard case .array(let values) = json else { throw mistake("not a list") }
        return values.enumerated().map { Entry($0.element, place[$0.offset]) }
    }

    package func string() throws -> String {
        guard case .string(let value) = json else { throw mistake("not a text") }
        return value
    }

    package func boolean() throws -> Bool {
        guard case .bool(let value) = json else { throw mistake("not true or false") }
        return value
    }

    package func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard case .int(let number) = json, let value = Value(exactly: number) else {
            throw mistake("not a number from \(Value.min) to \(Value.max)")
        }
        return value
    }

    package func integer(_ range: ClosedRange<Int>) throws -> Int {
        guard case .int(let number) = json, range.contains(number) else {
            throw mistake("not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func number(_ range: ClosedRange<Double>) throws -> Double {
        let number: Double? =
            switch json {
            case .int(let value): Double(value)
            case .double(let value): value
            default: nil
            }
        guard let number, range.contains(number) else {
            throw mistake("not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    package func bytes() throws -> [UInt8] {
        guard let bytes = Hex.bytes(try string()) else { throw mistake("not bytes in hexadecimal") }
        return bytes
    }

    // MARK: Names

    /// The names that a text can have, besides those of the SIG. By default, those of the vendors in this package.
    @TaskLocal package static var catalog = Catalog.vendors

    /// A service, by UUID or name.
    package func service() throws -> BluetoothUUID { try uuid("a service", .service) { Self.catalog.service($0) } }

    /// A characteristic, by UUID or name.
    package func characteristic() throws -> BluetoothUUID {
        try uuid("a characteristic", .characteristic) { Self.catalog.characteristic($0) }
    }

    private func uuid(
        _ kind: String, _ numbers: AssignedNumber.Kind, _ find: (String) -> BluetoothUUID?
    ) throws -> BluetoothUUID {
        let name = try string()
        // No name is longer than this.
        guard name.utf8.count <= 200, let uuid = find(name) else {
            let meant = Suggestion.nearest(to: name, among: numbers).map { "; is \"\($0)\" meant?" } ?? ""
            throw mistake("\"\(name.excerpt)\" is not a UUID or the name of \(kind)\(meant)")
        }
        return uuid
    }

    /// A text of 1 to 200 bytes without control characters.
    package func label() throws -> String {
        let text = try string()
        guard !text.isEmpty, text.utf8.count <= 200, text == text.harmless else {
            throw mistake("not a text of 1 to 200 bytes without control characters")
        }
        return text
    }

    /// The identifier of a company, four hexadecimal digits.
    package func company() throws -> UInt16 {
        guard let digits = Hex.bytes(try string()), digits.count == 2 else {
            throw mistake("not a company of four digits, such as 0499")
        }
        return UInt16(digits[0]) << 8 | UInt16(digits[1])
    }

    package func choice<Value>(_ choices: [(String, Value)]) throws -> Value {
        let name = try string()
        guard let choice = choices.first(where: { $0.0 == name }) else {
            throw mistake("not one of: \(choices.map(\.0).joined(separator: ", "))")
        }
        return choice.1
    }
}

extension [String: Entry] {
    /// Returns the value of a required key.
    package func required(_ key: String, in place: Entry.Place) throws -> Entry {
        guard let entry = self[key] else { throw DefinitionError(place: place[key], message: "is missing") }
        return entry
    }
}
