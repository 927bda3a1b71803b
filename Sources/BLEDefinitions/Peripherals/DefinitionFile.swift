package import BLE

#if canImport(FoundationEssentials)
    package import FoundationEssentials
#else
    package import Foundation
#endif

/// A peripheral's definition as JSON; see Docs/Peripherals.md.
///
/// Unknown keys are refused, with their place and the nearest known key.
package struct DefinitionFile {
    package let definition: PeripheralDefinition

    /// The keys of each kind of object, as in Docs/Definition.schema.json.
    package static let keys = [
        "definition": [
            "$schema", "name", "services", "advertisedServices", "appearance", "manufacturerData", "serviceData",
            "interval",
            "txPower", "channels",
        ],
        "service": ["uuid", "handle", "isPrimary", "includes", "characteristics"],
        "characteristic": [
            "uuid", "properties", "security", "value", "text", "descriptors", "values", "ramp", "random", "every",
            "onWrite",
        ],
        "reaction": ["is", "begins", "error", "set"],
        "descriptor": ["uuid", "value", "text", "isWritable"],
        "ramp": ["from", "to", "format", "step"],
        "random": ["from", "to", "format", "seed"],
        "channel": ["psm", "security", "echo", "values", "ramp", "random", "every"],
    ]

    package init(json: Data) throws { try self.init(Entry(text: json)) }

    package init(_ entry: Entry) throws {
        let object = try Self.object(entry, "definition")
        let reactions = try Reactions(object.required("services", in: entry.place))
        let services = try object.required("services", in: entry.place).array().enumerated().map {
            try Self.service($0.element, $0.offset, reactions)
        }
        var advertisement = Advertisement(
            localName: try object["name"]?.string(), serviceUUIDs: Set(services.map(\.uuid).filter { $0.short != nil }))
        if let listed = try object["advertisedServices"]?.array().map({ try $0.service() }) {
            advertisement.serviceUUIDs = Set(listed)
        }
        if let appearance = object["appearance"] {
            advertisement.appearance = Appearance(rawValue: try appearance.integer(UInt16.self))
        }
        for (company, data) in try object["manufacturerData"]?.entries() ?? [] {
            let company = try Entry(.string(company), data.place).company()
            guard advertisement.manufacturerData.updateValue(try data.bytes(), forKey: company) == nil else {
                throw data.mistake("the company occurs twice")
            }
        }
        for (name, data) in try object["serviceData"]?.entries() ?? [] {
            let service = try Entry(.string(name), data.place).service()
            guard advertisement.serviceData.updateValue(try data.bytes(), forKey: service) == nil else {
                throw data.mistake("the service occurs twice")
            }
        }
        if let power = object["txPower"] { advertisement.txPower = try power.integer(-127...20) }
        var advertising = AdvertisingParameters(advertisement)
        if let interval = object["interval"] { advertising.interval = try Self.interval(interval) }
        definition = PeripheralDefinition(
            advertisement: advertisement, advertising: advertising, services: services,
            channels: try object["channels"]?.array().map { try Self.channel($0) } ?? [])
    }

    static func object(_ entry: Entry, _ kind: String) throws -> [String: Entry] {
        try entry.object(keys[kind] ?? [])
    }

    /// The shortest and the longest interval between advertisements, in seconds.
    private static func interval(_ entry: Entry) throws -> ClosedRange<Duration> {
        let bounds = try entry.array().map { try $0.number(0.02...10_485) }
        guard bounds.count == 2, bounds[0] <= bounds[1] else {
            throw entry.mistake("not the shortest and the longest time, in seconds")
        }
        return .seconds(bounds[0])...(.seconds(bounds[1]))
    }

    private static func service(
        _ entry: Entry, _ position: Int, _ reactions: Reactions
    ) throws -> ServiceDefinition {
        let object = try object(entry, "service")
        return ServiceDefinition(
            try object.required("uuid", in: entry.place).service(),
            handle: try object["handle"].map { UInt16(try $0.integer(1...65_534)) },
            isPrimary: try object["isPrimary"]?.boolean() ?? true,
            includes: try object["includes"]?.array().map { try $0.service() } ?? [],
            characteristics: try object["characteristics"]?.array().enumerated().map {
                try characteristic(
                    $0.element, Reactions.Position(service: position, characteristic: $0.offset), reactions)
            } ?? [])
    }

    private static func security(_ object: [String: Entry]) throws -> AttributeSecurity {
        try object["security"]?.choice([
            ("open", .open), ("encrypted", .encrypted), ("authenticated", .authenticated),
        ]) ?? .open
    }

    private static func characteristic(
        _ entry: Entry, _ position: Reactions.Position, _ reactions: Reactions
    ) throws -> CharacteristicDefinition {
        let object = try object(entry, "characteristic")
        let uuid = try object.required("uuid", in: entry.place).characteristic()
        var properties: CharacteristicProperties = []
        for property in try object.required("properties", in: entry.place).array() {
            properties.insert(try property.choice(CharacteristicProperties.names.map { ($0.name, $0.property) }))
        }
        var definition = CharacteristicDefinition(
            uuid, properties, security: try security(object), value: try value(object))
        definition.descriptors =
            try object["descriptors"]?.array().map { entry in
                let object = try Self.object(entry, "descriptor")
                let name = try object.required("uuid", in: entry.place)
                guard let uuid = BluetoothUUID(try name.string()) else {
                    throw name.mistake("not a UUID")
                }
                return DescriptorDefinition(
                    uuid, value: try value(object), isWritable: try object["isWritable"]?.boolean() ?? false)
            } ?? []
        if let served = reactions.definition(at: position, definition) {
            guard try scripted(object) == nil else {
                throw entry.mistake("values that are sent by themselves cannot be set by a write")
            }
            return served
        }
        if let (values, every) = try scripted(object) {
            var first = values.makeIterator()
            definition.value = first.next() ?? []
            definition.onSubscribe = { notifier in
                var values = values.makeIterator()
                while let value = values.next() {
                    await notifier.notify(value)
                    try await notifier.clock.sleep(for: every)
                }
            }
        }
        return definition
    }

    /// A channel that returns what it receives, or that sends values. By default, it only receives.
    private static func channel(_ entry: Entry) throws -> ChannelDefinition {
        let object = try object(entry, "channel")
        let psm = PSM(rawValue: UInt16(try object.required("psm", in: entry.place).integer(1...255)))
        let echoes = try object["echo"]?.boolean() ?? false
        let script = try scripted(object)
        return ChannelDefinition(psm, security: try security(object)) { channel in
            try await withThrowingTaskGroup { group in
                group.addTask {
                    for try await packet in channel.packets where echoes { try await channel.send(packet) }
                }
                if let (values, every) = script {
                    group.addTask {
                        var values = values.makeIterator()
                        while let value = values.next() {
                            try await channel.send(value)
                            try await Task.sleep(for: every)
                        }
                    }
                }
                // Either end of the channel ends both.
                defer { group.cancelAll() }
                try await group.next()
            }
        }
    }

    /// Returns the values to send, if the file contains any, and the time between them.
    package static func scripted(_ object: [String: Entry]) throws -> (ScriptedValues, Duration)? {
        let entries = ["values", "ramp", "random"].compactMap { object[$0] }
        guard let entry = entries.first else {
            guard let every = object["every"] else { return nil }
            throw every.mistake("there are no \"values\" to send, no \"ramp\", and no \"random\"")
        }
        guard entries.count == 1 else {
            throw entries[1].mistake("\"values\", \"ramp\" and \"random\" cannot be combined")
        }
        let every = Duration.milliseconds(Int64((try object["every"]?.number(0.01...86_400) ?? 1) * 1000))
        if let list = object["values"] {
            let values = try list.array().map { try $0.bytes() }
            guard !values.isEmpty else { throw list.mistake("there is no value") }
            return (.list(values), every)
        }
        return (try numbers(entry, isRamp: object["ramp"] != nil), every)
    }

    private static func numbers(_ entry: Entry, isRamp: Bool) throws -> ScriptedValues {
        let script = try object(entry, isRamp ? "ramp" : "random")
        let format =
            try script["format"]?.choice(ScriptedValues.NumberFormat.named) ?? ScriptedValues.NumberFormat.named[0].1
        func number(_ key: String) throws -> Int {
            try script.required(key, in: entry.place).integer(format.range)
        }
        let (first, last) = (try number("from"), try number("to"))
        guard isRamp else {
            let seed = try script["seed"]?.integer(Int.self) ?? 0
            return .random(min(first, last)...max(first, last), seed: UInt64(bitPattern: Int64(seed)), format)
        }
        let step = try script["step"]?.integer(Int.self) ?? 1
        guard step > 0 else { throw DefinitionError(place: entry.place["step"], message: "not a number above 0") }
        return .ramp(from: first, to: last, step: step, format)
    }

    static func value(_ object: [String: Entry]) throws -> [UInt8] {
        if let value = object["value"] {
            if let text = object["text"] {
                throw text.mistake("\"value\" and \"text\" cannot be combined")
            }
            return try value.bytes()
        }
        return Array(try object["text"]?.string().utf8 ?? "".utf8)
    }
}
