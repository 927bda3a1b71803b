internal import BLE
internal import Waiting

/// The state of a peripheral on the simulated radio.
final class SimulatedDevice {
    /// The address at which it was added: its identity address, if it has private ones.
    let id: Peripheral.ID
    /// The address under which it advertises.
    var address: Peripheral.ID
    /// Whether that has ever been a private one.
    var hasPrivateAddress = false
    /// Changes the address from time to time.
    var rotation: Task<Void, Never>?
    var definition: PeripheralDefinition {
        didSet { advertisement = Self.advertisement(of: definition) }
    }
    var pairing: SimulatedPairing
    var attributes: SimulatedAttributes
    var isAdvertising = true
    /// Whether it answers attempts to connect.
    var acceptsLinks = true
    /// The number of the device's next advertisement in the schedule. Nil while it does not advertise.
    var next: UInt64?
    /// Whether a fault delays or holds an advertisement. The device sends no other until then.
    var isAdvertisementHeld = false
    /// Its links, by the ports of their centrals.
    var links: [Int: SimulatedLink] = [:]
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
    /// What is between it and the centrals.
    var air = SimulatedAir()
    /// Whether a central has discovered the services.
    var isDiscovered = false

    /// The ATT MTU of a link to it. BlueZ requests 517.
    var attMTU: Int { min(517, max(23, definition.maximumATTMTU)) }

    /// Returns the known services: the advertised ones, and all primary ones when they have been discovered.
    func services(besides advertised: Set<BluetoothUUID>) -> Set<BluetoothUUID> {
        isDiscovered ? advertised.union(attributes.database.filter(\.isPrimary).map(\.uuid)) : advertised
    }
    /// What each of the system's adapters knows of it.
    var records: [String: SimulatedRecord] = [:]

    /// The advertisement that centrals receive.
    private(set) var advertisement: Advertisement

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
        case .le: definition.advertisement.deviceClass == nil
        case .classic: definition.advertisement.deviceClass != nil
        }
    }

    init(id: Peripheral.ID, definition: PeripheralDefinition, pairing: SimulatedPairing = .justWorks) {
        (self.id, address) = (id, id)
        self.definition = definition
        self.pairing = pairing
        attributes = SimulatedAttributes(definition.services)
        advertisement = Self.advertisement(of: definition)
    }

    deinit { rotation?.cancel() }
}
