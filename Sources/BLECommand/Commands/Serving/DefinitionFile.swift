import BLE
import BLEAssignedNumbers
import FoundationEssentials

/// A peripheral's definition as JSON; see Docs/Peripherals.md.
///
/// Keys that are not known are refused, with their place and the nearest right one.
struct DefinitionFile {
    /// What is wrong, and where, such as `services[0].uuid`.
    struct Mistake: Error, CustomStringConvertible {
        let place: String
        let message: String
        var description: String { place.isEmpty ? message : "\(place): \(message)" }
    }

    let definition: PeripheralDefinition

    init(json: Data) throws {
        let root: JSON
        do {
            root = try JSONDecoder().decode(JSON.self, from: json)
        } catch {
            throw Mistake(place: "", message: "not JSON")
        }
        let object = try Entry(root, "").object([
            "name", "services", "advertisedServices", "appearance", "manufacturerData",
        ])
        let services = try object["services"].required("services").array().map { try Self.service($0) }
        var advertisement = Advertisement(
            localName: try object["name"]?.string(), serviceUUIDs: Set(services.map(\.uuid).filter { $0.short != nil }))
        if let listed = try object["advertisedServices"]?.array().map({ try Self.service(named: $0) }) {
            advertisement.serviceUUIDs = Set(listed)
        }
        if let appearance = object["appearance"] {
            advertisement.appearance = Appearance(rawValue: try appearance.integer(UInt16.self))
        }
        for (company, data) in try object["manufacturerData"]?.entries() ?? [] {
            guard let digits = Hex.bytes(company), digits.count == 2 else {
                throw Mistake(place: data.place, message: "not a company of four digits")
            }
            advertisement.manufacturerData[UInt16(digits[0]) << 8 | UInt16(digits[1])] = try data.bytes()
        }
        definition = PeripheralDefinition(advertisement: advertisement, services: services)
    }

    private static func service(_ entry: Entry) throws -> ServiceDefinition {
        let object = try entry.object(["uuid", "isPrimary", "includes", "characteristics"])
        return ServiceDefinition(
            try service(named: object["uuid"].required("\(entry.place).uuid")),
            isPrimary: try object["isPrimary"]?.boolean() ?? true,
            includes: try object["includes"]?.array().map { try service(named: $0) } ?? [],
            characteristics: try object["characteristics"]?.array().map { try characteristic($0) } ?? [])
    }

    private static func service(named entry: Entry) throws -> BluetoothUUID {
        let name = try entry.string()
        guard let uuid = ServiceArgument.catalog.service(name) else {
            throw Mistake(place: entry.place, message: "\"\(name)\" is not a UUID or the name of a service")
        }
        return uuid
    }

    private static func characteristic(_ entry: Entry) throws -> CharacteristicDefinition {
        let object = try entry.object([
            "uuid", "properties", "security", "value", "text", "descriptors", "values", "ramp", "random", "every",
        ])
        let name = try object["uuid"].required("\(entry.place).uuid")
        let text = try name.string()
        guard let uuid = ServiceArgument.catalog.characteristic(text) else {
            throw Mistake(place: name.place, message: "\"\(text)\" is not a UUID or the name of a characteristic")
        }
        var properties: CharacteristicProperties = []
        for property in try object["properties"].required("\(entry.place).properties").array() {
            properties.insert(try property.choice(CharacteristicProperties.names.map { ($0.name, $0.property) }))
        }
        let security: AttributeSecurity =
            try object["security"]?.choice([
                ("open", .open), ("encrypted", .encrypted), ("authenticated", .authenticated),
            ]) ?? .open
        var definition = CharacteristicDefinition(uuid, properties, security: security, value: try value(object))
        definition.descriptors =
            try object["descriptors"]?.array().map { entry in
                let object = try entry.object(["uuid", "value", "text", "isWritable"])
                let name = try object["uuid"].required("\(entry.place).uuid")
                guard let uuid = BluetoothUUID(try name.string()) else {
                    throw Mistake(place: name.place, message: "not a UUID")
                }
                return DescriptorDefinition(
                    uuid, value: try value(object), isWritable: try object["isWritable"]?.boolean() ?? false)
            } ?? []
        if let values = try scripted(object) {
            let every = Duration.milliseconds(Int64((try object["every"]?.number(0.01...86_400) ?? 1) * 1000))
            var first = values.makeIterator()
            definition.value = first.next() ?? []
            definition.onSubscribe = { notifier in
                var values = values.makeIterator()
                while let value = values.next() {
                    await notifier.notify(value)
                    try await notifier.clock.sleep(for: every)
                }
            }
        } else if let every = object["every"] {
            throw Mistake(
                place: every.place, message: "there are no \"values\" to send, no \"ramp\", and no \"random\"")
        }
        return definition
    }

    /// Returns what subscribers receive, if the file says so.
    private static func scripted(_ object: [String: Entry]) throws -> ScriptedValues? {
        let entries = ["values", "ramp", "random"].compactMap { object[$0] }
        guard let entry = entries.first else { return nil }
        guard entries.count == 1 else {
            throw Mistake(place: entries[1].place, message: "\"values\", \"ramp\" and \"random\" exclude each other")
        }
        if let list = object["values"] {
            let values = try list.array().map { try $0.bytes() }
            guard !values.isEmpty else { throw Mistake(place: list.place, message: "there is no value") }
            return .list(values)
        }
        let isRamp = object["ramp"] != nil
        let script = try entry.object(["from", "to", "format", isRamp ? "step" : "seed"])
        let format =
            try script["format"]?.choice(ScriptedValues.NumberFormat.named) ?? ScriptedValues.NumberFormat.named[0].1
        func number(_ key: String) throws -> Int {
            let entry = try script[key].required("\(entry.place).\(key)")
            let number = try entry.integer(Int.self)
            guard format.range.contains(number) else {
                throw Mistake(place: entry.place, message: "not a number from \(format.range)")
            }
            return number
        }
        let (first, last) = (try number("from"), try number("to"))
        guard isRamp else {
            let seed = try script["seed"]?.integer(Int.self) ?? 0
            return .random(min(first, last)...max(first, last), seed: UInt64(bitPattern: Int64(seed)), format)
        }
        let step = try script["step"]?.integer(Int.self) ?? 1
        guard step > 0 else { throw Mistake(place: "\(entry.place).step", message: "not a number above 0") }
        return .ramp(from: first, to: last, step: step, format)
    }

    private static func value(_ object: [String: Entry]) throws -> [UInt8] {
        if let value = object["value"] { return try value.bytes() }
        return Array(try object["text"]?.string().utf8 ?? "".utf8)
    }
}

/// A value of the file, and its place.
private struct Entry {
    let json: JSON
    let place: String

    init(_ json: JSON, _ place: String) { (self.json, self.place) = (json, place) }

    private func mistake(_ message: String) -> DefinitionFile.Mistake {
        DefinitionFile.Mistake(place: place, message: message)
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
            throw DefinitionFile.Mistake(
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

    func choice<Value>(_ choices: [(String, Value)]) throws -> Value {
        let name = try string()
        guard let choice = choices.first(where: { $0.0 == name }) else {
            throw mistake("not one of: \(choices.map(\.0).joined(separator: ", "))")
        }
        return choice.1
    }
}

extension Optional where Wrapped == Entry {
    fileprivate func required(_ place: String) throws -> Entry {
        guard let self else { throw DefinitionFile.Mistake(place: place, message: "is missing") }
        return self
    }
}
