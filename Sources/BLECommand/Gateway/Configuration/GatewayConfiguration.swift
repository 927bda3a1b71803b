import BLE
import BLEBTHome
import BLEDefinitions

/// What a gateway publishes, and where. ``GatewayFile`` reads it; see Docs/Gateway.md.
struct GatewayConfiguration: Sendable {
    /// The MQTT broker.
    struct Broker: Sendable {
        var host = "localhost"
        /// Nil for the default: 1883, or 8883 with TLS.
        var port: UInt16?
        var user: String?
        var password: String?
        /// Nil for a connection without TLS.
        var tls: TLS?
    }

    /// How the broker proves its identity.
    struct TLS: Sendable {
        /// A file with the certificates that are trusted. Nil for those of the system.
        var certificateAuthorities: String?
    }

    /// Where the published values are recorded, and how many of them.
    struct History: Sendable {
        var file: String
        /// After these days, a value is deleted.
        var days = 30
        /// The maximum size of the file, in millions of bytes. Of what does not fit, the oldest is deleted.
        var megabytes = 256
    }

    /// The name of this gateway in topics, unique for its broker.
    var id: String
    var broker = Broker()
    /// The first part of all topics but those of Home Assistant.
    var prefix = "ble"
    /// The first part of Home Assistant's topics. Nil if nothing is announced to it.
    var discoveryPrefix: String? = "homeassistant"
    /// Whether several gateways on the broker share the devices: the one that hears a device best publishes it.
    var isFleet = false
    /// Nil if nothing is recorded.
    var history: History?
    var devices: [ListedDevice] = []
}

/// An entry of the list of devices: what is published must match one.
struct ListedDevice: Sendable {
    /// The property that identifies the peripherals of an entry.
    enum Match: Hashable, Sendable {
        /// One peripheral.
        case address(Peripheral.ID)
        /// The one whose private addresses this key resolves.
        case identity(IdentityResolvingKey)
        /// All peripherals with this name.
        case name(String)
        /// All peripherals whose names begin so.
        case namePrefix(String)
        /// All peripherals that advertise the service, or data of it.
        case service(BluetoothUUID)
        /// All peripherals with data of the company.
        case company(UInt16)
    }

    /// The key in the file.
    var key: String
    /// The name for people. Nil for the advertised name.
    var name: String?
    var match: Match
    /// The key of an encrypted BTHome device, 16 bytes.
    var bthomeKey: [UInt8]?
    /// How long a silent device is available.
    var expiry: Duration = .seconds(300)
    /// The format of its advertisements. Nil for the formats that the gateway knows.
    var format: DataLayout?
    /// The maximum number of links at the same time, of an entry that stands for many peripherals.
    var links = 4
    /// The characteristics whose values are read, and subscribed to, on a link that is maintained.
    var values: [CharacteristicKey] = []
    /// The services whose values are read, and subscribed to, in addition.
    var profiles: [BluetoothUUID] = []
    /// The formats of characteristics. Without one, a value has the format that the SIG publishes.
    var formats: [CharacteristicKey: DataLayout] = [:]
    /// The gateway that publishes it whenever it hears it, in a fleet. Nil for the one that hears it best.
    var gateway: String?

    #if DeviceCommands
        /// The messages that may be sent to it. Nil for none.
        var messages: ListedMessages?
    #endif

    /// Whether a link is maintained.
    var hasLink: Bool { !values.isEmpty || !profiles.isEmpty }

    /// Whether any number of peripherals may match.
    var standsForMany: Bool {
        switch match {
        case .address, .identity: false
        case .name, .namePrefix, .service, .company: true
        }
    }

    /// Whether the device has private addresses, which change.
    var isPrivate: Bool { if case .identity = match { true } else { false } }

    /// The name of a peripheral that has not told its own.
    func placeholder(for peripheral: Peripheral.ID) -> String { isPrivate ? key.excerpt : peripheral.rawValue }

    /// Returns the part of topics that stands for a peripheral of the entry.
    ///
    /// For a device with private addresses, it is made of the entry's key, as its address changes and its key is
    /// secret. No address has that form.
    func topic(of peripheral: Peripheral.ID) -> String {
        isPrivate ? "private_\(SensorReading.id(key))" : GatewayTopics.device(peripheral)
    }

    /// Whether a part of a topic may stand for a peripheral of this entry.
    func mayHave(topic: String) -> Bool {
        switch match {
        case .address(let id): topic == GatewayTopics.device(id)
        case .identity: topic == "private_\(SensorReading.id(key))"
        case .name, .namePrefix, .service, .company: !topic.hasPrefix("private_")
        }
    }
}

/// The list of devices. Finding an entry takes the same time for a list of any length.
struct DeviceList: Sendable {
    private let entries: [ListedDevice.Match: ListedDevice]
    private let keys: [String: ListedDevice]
    private let addresses: [String: Peripheral.ID]
    private let privateDevices: PrivateDevices
    private let hasPrefixes: Bool
    let all: [ListedDevice]

    init(_ devices: [ListedDevice]) {
        all = devices
        addresses = devices.reduce(into: [:]) { addresses, device in
            if case .address(let id) = device.match { addresses[GatewayTopics.device(id)] = id }
        }
        entries = Dictionary(devices.map { ($0.match, $0) }) { first, _ in first }
        keys = Dictionary(devices.map { ($0.key, $0) }) { first, _ in first }
        privateDevices = PrivateDevices(devices)
        hasPrefixes = devices.contains { if case .namePrefix = $0.match { true } else { false } }
    }

    /// The devices whose addresses are listed.
    var devices: some Collection<String> { addresses.keys }

    /// Returns the peripheral of a device whose address is listed.
    func peripheral(_ device: String) -> Peripheral.ID? { addresses[device] }

    /// Returns the entry with a key of the file.
    func entry(_ key: String) -> ListedDevice? { keys[key] }

    /// Returns the entry with an address.
    func entry(at address: Peripheral.ID) -> ListedDevice? { entries[.address(address)] }

    /// Returns the entry of a peripheral: the one with its address, otherwise with its name, the longest beginning
    /// of its name, a company, or a service.
    ///
    /// Only its address, or the key that resolves it, makes an entry apply to a peripheral whose address changes: each
    /// new address would be a new device.
    func entry(of peripheral: Peripheral.ID, _ advertisement: Advertisement) -> ListedDevice? {
        if let device = entries[.address(peripheral)] { return device }
        guard hasLastingAddress(peripheral, advertisement.addressType) else {
            return privateDevices.entry(of: peripheral)
        }
        if let name = advertisement.localName, let device = entries[.name(name)] ?? entry(named: name) { return device }
        for company in advertisement.manufacturerData.keys.sorted() {
            if let device = entries[.company(company)] { return device }
        }
        let services = advertisement.serviceUUIDs.union(advertisement.serviceData.keys)
        return services.compactMap { entries[.service($0)] }.min { $0.key < $1.key }
    }

    /// Returns the entry with the longest beginning of a name.
    private func entry(named name: String) -> ListedDevice? {
        guard hasPrefixes else { return nil }
        return name.indices.reversed().lazy.compactMap { entries[.namePrefix(String(name[...$0]))] }.first
    }

    /// Whether a peripheral keeps its address: a public one, or a static random one, whose two highest bits are set
    /// (Core Specification 5.4, volume 6, part B, section 1.3.2).
    private func hasLastingAddress(_ peripheral: Peripheral.ID, _ type: AddressType?) -> Bool {
        guard type != .public else { return true }
        guard let address = Hex.bytes(peripheral.rawValue), address.count == 6 else { return false }
        return address[0] >= 0xC0
    }
}
