internal import BLE
internal import Waiting

/// The state of a peripheral on the simulated radio. What each advertisement needs is first, and together, because the
/// objects of many peripherals do not fit the processor's caches.
final class SimulatedDevice {
    /// The address at which it was added: its identity address, if it has private ones.
    let id: Peripheral.ID
    /// The address under which it advertises.
    var address: Peripheral.ID {
        didSet { knownTo = nil }
    }
    /// Whether that has ever been a private one.
    var hasPrivateAddress = false
    /// The central that has learned of it last, under its present names; see ``SimulatedRadio/Port``.
    var knownTo: (port: Int, generation: Int)?
    /// What each of the system's adapters knows of it.
    var records: [String: SimulatedRecord] = [:] {
        didSet { knownTo = nil }
    }
    /// The number of the device's next advertisement in the schedule. Nil while it does not advertise.
    var next: UInt64?
    /// Whether a fault delays or holds an advertisement. The device sends no other until then.
    var isAdvertisementHeld = false
    /// That of the definition, or the unit of such intervals, if that is longer.
    private(set) var advertisingInterval: Duration
    /// The advertisement that centrals receive.
    private(set) var advertisement: Advertisement
    /// What is between it and the centrals.
    var air = SimulatedAir()
    /// The strength at which single adapters hear it, in dBm; nil if it is out of their range. Others hear the strength
    /// of its advertisement.
    var strengths: [String: Int?] = [:]
    /// Makes the private addresses. Nil if nothing resolves them.
    var identityKey: IdentityResolvingKey?
    /// Changes the address from time to time.
    var rotation: Task<Void, Never>?
    /// A kind of what a test plays.
    enum Script {
        case strength
        case loss
    }
    /// Carries out what a test plays.
    var scripts: [Script: Task<Void, Never>] = [:]
    var definition: PeripheralDefinition {
        didSet {
            advertisement = Self.advertisement(of: definition)
            advertisingInterval = max(definition.advertisingInterval, .microseconds(625))
        }
    }
    var pairing: SimulatedPairing
    var attributes: SimulatedAttributes
    var isAdvertising = true
    /// Whether it answers attempts to connect.
    var acceptsLinks = true
    /// Its links, by the ports of their centrals.
    var links: [Int: SimulatedLink] = [:]
    /// In the order in which they began.
    var orderedLinks: [SimulatedLink] {
        links.count < 2 ? Array(links.values) : links.values.sorted { $0.number < $1.number }
    }
    /// The number of links that it has had.
    var linkCount = 0
    /// The number of links that it can have at a time. Most peripherals have one; bluetoothd has more.
    var maximumLinks = 1
    var hasRoom: Bool { links.count < maximumLinks }
    /// The numbers at which the device accepts L2CAP channels.
    var listeners: [PSM: SimulatedListener] = [:]
    /// The open channels of its definition, by number.
    var channelCounts: [PSM: ChannelCounts] = [:]
    /// The signal strength of the link; nil if unknown, as with bluetoothd.
    var signalStrength: Int?
    /// Runs while a central has a link to it, once for each link.
    var onLink: (@Sendable (SimulatedPeripheral) async -> Void)?
    /// Whether a central has discovered the services.
    var isDiscovered = false

    /// The ATT MTU of a link to it. BlueZ requests 517.
    var attMTU: Int { min(517, max(23, definition.maximumATTMTU)) }

    /// Returns the known services: the advertised ones, and all primary ones when they have been discovered.
    func services(besides advertised: Set<BluetoothUUID>) -> Set<BluetoothUUID> {
        isDiscovered ? advertised.union(attributes.database.filter(\.isPrimary).map(\.uuid)) : advertised
    }

    /// The default address type is the one that most devices of its transport have.
    private static func advertisement(of definition: PeripheralDefinition) -> Advertisement {
        var advertisement = definition.advertisement
        let usual: AddressType = advertisement.deviceClass == nil ? .random : .public
        advertisement.addressType = advertisement.addressType ?? usual
        return advertisement
    }

    /// Whether a scan on a transport receives the device. A device with a device class uses Bluetooth Classic.
    func isHeard(on transport: Transport) -> Bool {
        switch transport {
        case .any: true
        case .le: advertisement.deviceClass == nil
        case .classic: advertisement.deviceClass != nil
        }
    }

    init(id: Peripheral.ID, definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks) {
        (self.id, address) = (id, id)
        self.definition = definition
        self.pairing = pairing
        attributes = SimulatedAttributes(definition.services)
        advertisement = Self.advertisement(of: definition)
        advertisingInterval = max(definition.advertisingInterval, .microseconds(625))
    }

    /// Whether it is in the range of an adapter.
    func isInRange(of adapter: String) -> Bool {
        guard !strengths.isEmpty, let strength = strengths[adapter] else { return true }
        return strength != nil
    }

    deinit { endScripts() }

    /// Ends what happens to it by itself.
    func endScripts() {
        rotation?.cancel()
        for script in scripts.values { script.cancel() }
    }

    /// Returns the link that its program sees as `served`. Nil if it has ended.
    func link(_ served: CentralLink) -> SharedLink? {
        served.isUp ? links.values.first { $0.shared.served == served }?.shared : nil
    }
}

/// The peripherals of a radio, by their ids, and by the private addresses under which centrals know them.
struct SimulatedDevices {
    private var devices: [Peripheral.ID: SimulatedDevice] = [:]
    /// The ids of peripherals, by private address.
    private var ids: [Peripheral.ID: Peripheral.ID] = [:]

    /// In order of their ids.
    var all: [SimulatedDevice] { devices.values.sorted { $0.id < $1.id } }

    /// The peripheral with that id or private address.
    subscript(name: Peripheral.ID) -> SimulatedDevice? { devices[name] ?? ids[name].flatMap { devices[$0] } }

    mutating func add(_ device: SimulatedDevice) { devices[device.id] = device }

    /// Removes a peripheral, and returns the names that it had.
    mutating func remove(_ device: SimulatedDevice) -> [Peripheral.ID] {
        devices[device.id] = nil
        guard device.hasPrivateAddress else { return [device.id] }
        let names = ids.filter { $0.value == device.id }.map(\.key)
        for name in names { ids[name] = nil }
        return names + [device.id]
    }

    mutating func addName(_ name: Peripheral.ID, of device: SimulatedDevice) { ids[name] = device.id }

    mutating func removeName(_ name: Peripheral.ID) { ids[name] = nil }

    /// Returns the id of the peripheral with that id or private address.
    func id(of name: Peripheral.ID) -> Peripheral.ID { ids[name] ?? name }
}
