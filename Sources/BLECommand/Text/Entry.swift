import BLE
import BLEAssignedNumbers
import FoundationEssentials

/// A value of a JSON text, and its place.
struct Entry {
    /// What is wrong, and where, such as `services[0].uuid`.
    struct Mistake: Error, CustomStringConvertible {
        let place: String
        let message: String
        var description: String { place.isEmpty ? message : "\(place): \(message)" }
    }

    let json: JSON
    let place: String

    init(_ json: JSON, _ place: String) { (self.json, self.place) = (json, place) }

    /// Reads a whole text.
    init(text: Data) throws {
        do {
            self.init(try JSONDecoder().decode(JSON.self, from: text), "")
        } catch {
            throw Mistake(place: "", message: "not JSON")
        }
    }

    private func mistake(_ message: String) -> Mistake {
        Mistake(place: place, message: message)
    }

    func entries() throws -> [(String, Entry)] {
        guard case .object(let keys) = json else { throw mistake("not an object") }
        return keys.sorted { $0.key < $1.key }.map {
            ($0.key, Entry($0.value, place.isEmpty ? $0.key : "\(place).\($0.key)"))
        }
    }

    func object(_ known: [String]) throws -> [String: Entry] {
        let entries = try entries()
        if let unknown = entries.first(where: { !known.contains($0.0) }) {
            let nearest = Spelling.nearest(to: unknown.0, in: known)
            throw Mistake(
                place: unknown.1.place, message: "not known" + (nearest.map { "; is \"\($0)\" meant?" } ?? ""))
        }
        return Dictionary(uniqueKeysWithValues: entries)
    }

    func array() throws -> [Entry] {
        guard case .array(let values) = json else { throw mistake("not a list") }
        return values.enumerated().map { Entry($0.element, "\(place)[\($0.offset)]") }
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

    /// A service, by UUID or name.
    func service() throws -> BluetoothUUID {
        let name = try string()
        guard let uuid = ServiceArgument.catalog.service(name) else {
            throw mistake("\"\(name)\" is not a UUID or the name of a service")
        }
        return uuid
    }

    /// A characteristic, by UUID or name.
    func characteristic() throws -> BluetoothUUID {
        let name = try string()
        guard let uuid = ServiceArgument.catalog.characteristic(name) else {
            throw mistake("\"\(name)\" is not a UUID or the name of a characteristic")
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

extension Optional where Wrapped == Entry {
    func required(_ place: String) throws -> Entry {
        guard let self else { throw Entry.Mistake(place: place, message: "is missing") }
        return self
    }
}
