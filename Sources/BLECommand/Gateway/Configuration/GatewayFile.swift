import BLE
import BLEAssignedNumbers
import BLEDefinitions
import FoundationEssentials

/// A gateway's configuration as JSON; see Docs/Gateway.md.
///
/// Unknown keys are refused, with their place and the nearest known key.
enum GatewayFile {
    /// The keys of each kind of object.
    static let keys = [
        "gateway": ["id", "broker", "prefix", "discovery", "fleet", "history", "formats", "devices"],
        "broker": ["host", "port", "user", "password", "tls"],
        "tls": ["ca"],
        "history": ["file", "days", "megabytes"],
        "device": [
            "name", "address", "irk", "localName", "namePrefix", "service", "company", "bthomeKey", "expiry", "format",
            "values", "profiles", "links", "formats", "gateway", "messages",
        ],
        "messages": ["protocol", "commands", "serial", "keys"],
    ]

    /// Reads a configuration.
    static func configuration(json: Data) throws -> GatewayConfiguration {
        let entry = try Entry(text: json)
        let object = try object(entry, "gateway")
        let id = try object.required("id", in: entry.place)
        var configuration = GatewayConfiguration(id: try topicLevel(id))
        if let broker = object["broker"] { configuration.broker = try Self.broker(broker) }
        if let prefix = object["prefix"] { configuration.prefix = try topic(prefix) }
        if let discovery = object["discovery"] {
            configuration.discoveryPrefix = discovery.json == .bool(false) ? nil : try topic(discovery)
        }
        if let fleet = object["fleet"] { configuration.isFleet = try fleet.boolean() }
        configuration.history = try object["history"].map(history)
        let formats = try object["formats"].map(DataLayout.layouts) ?? [:]
        var matches: [ListedDevice.Match: String] = [:]
        var topics: [String: String] = [:]
        for (key, entry) in try object.required("devices", in: entry.place).entries() {
            let device = try device(key, entry, formats)
            guard device.gateway == nil || configuration.isFleet else {
                throw entry.mistake("a device has a gateway only if \"fleet\" is true")
            }
            if device.isPrivate, let other = topics.updateValue(key, forKey: SensorReading.id(key)) {
                throw entry.mistake("the same topics as \"\(other.excerpt)\"; its name needs other letters or digits")
            }
            if let other = matches.updateValue(key, forKey: device.match) {
                throw entry.mistake("the same peripherals as \"\(other.excerpt)\"")
            }
            configuration.devices.append(device)
        }
        return configuration
    }

    private static func broker(_ entry: Entry) throws -> GatewayConfiguration.Broker {
        let object = try object(entry, "broker")
        var broker = GatewayConfiguration.Broker()
        if let host = object["host"] { broker.host = try text(host) }
        broker.port = try object["port"].map { UInt16(try $0.integer(1...65_535)) }
        broker.user = try object["user"].map(text)
        broker.password = try object["password"]?.string()
        if let password = object["password"], broker.user == nil { throw password.mistake("a password needs a user") }
        if let tls = object["tls"] {
            if tls.json == .bool(true) {
                broker.tls = GatewayConfiguration.TLS()
            } else if tls.json != .bool(false) {
                broker.tls = GatewayConfiguration.TLS(
                    certificateAuthorities: try Self.object(tls, "tls")["ca"].map(text))
            }
        }
        return broker
    }

    private static func history(_ entry: Entry) throws -> GatewayConfiguration.History {
        let object = try object(entry, "history")
        var history = GatewayConfiguration.History(file: try text(try object.required("file", in: entry.place)))
        if let days = object["days"] { history.days = try days.integer(1...3650) }
        if let megabytes = object["megabytes"] { history.megabytes = try megabytes.integer(1...1_000_000) }
        return history
    }

    private static func device(
        _ key: String, _ entry: Entry, _ formats: [String: DataLayout]
    ) throws -> ListedDevice {
        guard key.utf8.count <= 200 else { throw entry.mistake("a name of more than 200 bytes") }
        let object = try object(entry, "device")
        var matches: [ListedDevice.Match] = []
        if let address = object["address"] { matches.append(.address(try Self.address(address))) }
        if let key = object["irk"] { matches.append(.identity(try identityKey(key))) }
        if let name = object["localName"] { matches.append(.name(try text(name))) }
        if let prefix = object["namePrefix"] { matches.append(.namePrefix(try text(prefix))) }
        if let service = object["service"] { matches.append(.service(try service.service())) }
        if let company = object["company"] { matches.append(.company(try company.company())) }
        guard matches.count == 1 else {
            throw entry.mistake("a device has one of address, irk, localName, namePrefix, service and company")
        }
        var device = ListedDevice(key: key, match: matches[0])
        if device.isPrivate, SensorReading.id(key).isEmpty {
            throw entry.mistake("a name with a letter from a to z or a digit is needed: the topics are made of it")
        }
        device.name = try object["name"].map(text)
        if let bytes = object["bthomeKey"] {
            device.bthomeKey = try bytes.bytes()
            guard device.bthomeKey?.count == 16 else { throw bytes.mistake("not a key of 16 bytes") }
        }
        if let gateway = object["gateway"] { device.gateway = try topicLevel(gateway) }
        if let expiry = object["expiry"] { device.expiry = .seconds(try expiry.integer(1...86_400)) }
        if let name = object["format"] {
            let format = try known(name, formats)
            guard format.source != nil else { throw name.mistake("the format is of no company's or service's data") }
            if let key = object["bthomeKey"] { throw key.mistake("a device with a format is not decoded as BTHome") }
            device.format = format
        }
        try addLink(object, formats, to: &device)
        return device
    }

    /// Reads what concerns the link of a device.
    private static func addLink(
        _ object: [String: Entry], _ formats: [String: DataLayout], to device: inout ListedDevice
    ) throws {
        for key in ["values", "profiles", "formats", "messages"] where device.isPrivate {
            guard let entry = object[key] else { continue }
            throw entry.mistake("a device with an irk has no \(key): pair it, and list its identity address (ble pair)")
        }
        if let entry = object["messages"], object["address"] == nil {
            throw entry.mistake("only a device with an address has messages")
        }
        if let values = object["values"] { device.values = try values.array().map { try value($0) } }
        if let entry = object["messages"] {
            #if DeviceCommands
                device.messages = try messages(entry)
            #else
                throw entry.mistake("this program is built without the trait DeviceCommands, which messages need")
            #endif
        }
        if let profiles = object["profiles"] { device.profiles = try profiles.array().map { try $0.service() } }
        if let links = object["links"] {
            guard device.standsForMany, device.hasLink else {
                throw links.mistake("only an entry for many peripherals, with values or profiles, has links")
            }
            device.links = try links.integer(1...16)
        }
        // The characteristics with formats, by the ids of their fields: one would overwrite the other's values.
        var names: [String: String] = [:]
        for (name, entry) in try object["formats"]?.entries() ?? [] {
            let key = try value(Entry(.string(name), entry.place))
            guard device.values.contains(where: key.overlaps) || !device.profiles.isEmpty else {
                throw entry.mistake("not one of the values")
            }
            if device.formats.keys.contains(where: key.overlaps) {
                throw entry.mistake("another one is the same characteristic")
            }
            let format = try known(entry, formats)
            guard format.source == nil else { throw entry.mistake("the format is of advertised data") }
            for field in format.fields {
                let id = SensorReading.id(field.name)
                guard let other = names.updateValue(name, forKey: id) else { continue }
                throw entry.mistake("has a value of the same name as \(other.excerpt): \(id)")
            }
            device.formats[key] = format
        }
    }

    /// The format with this name.
    private static func known(_ entry: Entry, _ formats: [String: DataLayout]) throws -> DataLayout {
        let name = try entry.string()
        guard let format = formats[name] else {
            let meant = Suggestion.nearest(to: name, in: formats.keys.sorted())
            throw entry.mistake("not one of the formats" + (meant.map { "; did you mean \"\($0)\"?" } ?? ""))
        }
        return format
    }

    /// A characteristic, or a service and a characteristic with a slash between them, by UUID or name.
    static func value(_ entry: Entry) throws -> CharacteristicKey {
        let parts = try entry.string().split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count <= 2, let last = parts.last else { throw entry.mistake("not a characteristic") }
        return CharacteristicKey(
            service: parts.count == 2 ? try Entry(.string(parts[0]), entry.place).service() : nil,
            characteristic: try Entry(.string(last), entry.place).characteristic())
    }

    static func object(_ entry: Entry, _ kind: String) throws -> [String: Entry] {
        try entry.object(keys[kind] ?? [])
    }

    static func text(_ entry: Entry) throws -> String { try entry.label() }

    private static func address(_ entry: Entry) throws -> Peripheral.ID {
        let text = try entry.string()
        guard text.utf8.count == 17, text.filter({ $0 == ":" }).count == 5, let bytes = Hex.bytes(text),
            bytes.count == 6
        else { throw entry.mistake("not an address such as C4:7C:8D:00:00:01") }
        return Peripheral.ID(rawValue: text.uppercased())
    }

    /// An identity resolving key, most significant byte first.
    private static func identityKey(_ entry: Entry) throws -> IdentityResolvingKey {
        let text = try entry.string()
        guard text.utf8.count == 32, let key = Hex.bytes(text).flatMap({ IdentityResolvingKey($0) }) else {
            throw entry.mistake("not a key of 32 hexadecimal digits")
        }
        return key
    }

    /// A part of a topic: a subscription's wildcards and a slash would change what the topic is.
    private static func topicLevel(_ entry: Entry) throws -> String {
        let text = try text(entry)
        guard !text.contains(where: { "/+#$".contains($0) }) else {
            throw entry.mistake("not a part of a topic: it contains /, +, # or $")
        }
        return text
    }

    private static func topic(_ entry: Entry) throws -> String {
        let text = try text(entry)
        guard !text.contains(where: { "+#".contains($0) }), !text.hasPrefix("/"), !text.hasSuffix("/"),
            !text.hasPrefix("$")
        else { throw entry.mistake("not the beginning of a topic") }
        return text
    }
}
