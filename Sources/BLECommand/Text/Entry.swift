import BLE
import BLEAssignedNumbers
import FoundationEssentials

/// A value of a JSON text, and its place.
struct Entry {
    /// The place of a value, such as `services[0].uuid`.
    struct Place: CustomStringConvertible {
        private(set) var description = ""

        /// The place of the value of a key. A message shows the beginning of the key.
        subscript(key: String) -> Place {
            Place(description: (description.isEmpty ? "" : description + ".") + key.excerpt)
        }

        /// The place of a value in a list.
        subscript(index: Int) -> Place { Place(description: "\(description)[\(index)]") }
    }

    /// An error in the text, with its place. Foreign text in it is short and harmless.
    struct Mistake: Error, CustomStringConvertible {
        let place: Place
        let message: String
        var description: String { place.description.isEmpty ? message : "\(place): \(message)" }

        init(place: Place = Place(), message: String) { (self.place, self.message) = (place, message) }
    }

    let json: JSON
    let place: Place

    init(_ json: JSON, _ place: Place) { (self.json, self.place) = (json, place) }

    /// Reads a whole text.
    init(text: Data) throws { self.init(try JSONReader.read(text), Place()) }

    func mistake(_ message: String) -> Mistake { Mistake(place: place, message: message) }

    func entries() throws -> [(String, Entry)] {
        guard case .object(let keys) = json else { throw mistake("not an object") }
        return keys.sorted { $0.key < $1.key }.map { ($0.key, Entry($0.value, place[$0.key])) }
    }

    func object(_ known: [String]) throws -> [String: Entry] {
        let entries = try entries()
        if let unknown = entries.first(where: { !known.contains($0.0) }) {
            throw unknown.1.mistake(
                "unknown key" + (Suggestion.nearest(to: unknown.0, in: known).map { "; did you mean \"\($0)\"?" } ?? "")
            )
        }
        return Dictionary(uniqueKeysWithValues: entries)
    }

    func array() throws -> [Entry] {
        guard case .array(let values) = json else { throw mistake("not a list") }
        return values.enumerated().map { Entry($0.element, place[$0.offset]) }
    }

    func string() throws -> String {
        guard case .string(let value) = json else { throw mistake("not a text") }
        return value
    }

    func boolean() throws -> Bool {
        guard case .bool(let value) = json else { throw mistake("not true or false") }
        return value
    }

    func integer<Value: FixedWidthInteger>(_ type: Value.Type) throws -> Value {
        guard case .int(let number) = json, let value = Value(exactly: number) else {
            throw mistake("not a number from \(Value.min) to \(Value.max)")
        }
        return value
    }

    func integer(_ range: ClosedRange<Int>) throws -> Int {
        guard case .int(let number) = json, range.contains(number) else {
            throw mistake("not a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    func number(_ range: ClosedRange<Double>) throws -> Double {
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

    func bytes() throws -> [UInt8] {
        guard let bytes = Hex.bytes(try string()) else { throw mistake("not bytes in hexadecimal") }
        return bytes
    }

    // MARK: Names

    /// A service, by UUID or name.
    func service() throws -> BluetoothUUID { try uuid("a service", .service) { ServiceArgument.catalog.service($0) } }

    /// A characteristic, by UUID or name.
    func characteristic() throws -> BluetoothUUID {
        try uuid("a characteristic", .characteristic) { ServiceArgument.catalog.characteristic($0) }
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

    func choice<Value>(_ choices: [(String, Value)]) throws -> Value {
        let name = try string()
        guard let choice = choices.first(where: { $0.0 == name }) else {
            throw mistake("not one of: \(choices.map(\.0).joined(separator: ", "))")
        }
        return choice.1
    }
}

extension [String: Entry] {
    /// Returns the value of a required key.
    func required(_ key: String, in place: Entry.Place) throws -> Entry {
        guard let entry = self[key] else { throw Entry.Mistake(place: place[key], message: "is missing") }
        return entry
    }
}
