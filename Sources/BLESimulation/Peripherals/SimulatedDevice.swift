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

/// The link between a central and a simulated peripheral.
final class SimulatedLink {
    let number: Int
    /// The link as the peripheral's program sees it.
    let served = CentralLink()
    let port: Int
    /// The id by which the central has connected to the peripheral.
    let name: Peripheral.ID
    /// The current security of the link.
    var security: AttributeSecurity
    var isPairing = false
    /// The waits for the end of the pairing.
    var pairingWaiters: [Outcome<Void>] = []
    /// The pending operations, which fail when the link ends.
    var operations: [Int: (BLEError) -> Void] = [:]
    var subscriptions: [UInt16: SimulatedSubscription] = [:]
    /// The connection events. Nil if there were none yet.
    var events: ConnectionEvents?
    var eventTask: Task<Void, Never>?
    /// What crosses the link at the next event.
    var crossing: [Outcome<Void>] = []
    /// The values on their way, if one of them is disturbed.
    var outgoing: [SimulatedRadio.OutgoingValue] = []
    /// The waits for the arrival of values that were lost.
    var unanswered: [Outcome<Void>] = []
    /// The central's ends of L2CAP channels.
    var channels: [SimulatedChannelTransport] = []
    /// The channels for writes.
    var writers: [UInt16: SimulatedWriter] = [:]
    /// The running handlers of writes without response.
    var commands: [Int: Task<Void, Never>] = [:]

    init(number: Int, port: Int, name: Peripheral.ID, security: AttributeSecurity) {
        self.number = number
        self.port = port
        self.name = name
        self.security = security
    }
}

/// A central's channel for writes to a characteristic.
struct SimulatedWriter {
    let number: Int
    let channel: SimulatedSink
    /// Sends the packets to the peripheral, one after the other.
    var task: Task<Void, Never>?

    init(number: Int, channel: SimulatedSink) {
        self.number = number
        self.channel = channel
    }
}

/// A central's subscription to a characteristic.
final class SimulatedSubscription {
    let number: Int
    /// Receives a value. Returns false if there is no room for another.
    let deliver: @Sendable ([UInt8]) -> Bool
    /// Whether the values use a channel, which holds values for which the reader has no room.
    let isChannel: Bool
    private var waiting: [[UInt8]] = []
    private var isPaused = false
    /// Runs the definition's handler.
    var task: Task<Void, Never>?

    /// The approximate capacity of a socket of bluetoothd.
    static let capacity = 200

    init(number: Int, isChannel: Bool, deliver: @escaping @Sendable ([UInt8]) -> Bool) {
        self.number = number
        self.isChannel = isChannel
        self.deliver = deliver
    }

    /// Delivers a value from the peripheral. The value is lost if the channel is full.
    func take(_ value: [UInt8]) {
        if isPaused {
            if waiting.count < Self.capacity { waiting.append(value) }
        } else {
            isPaused = !deliver(value) && isChannel
        }
    }

    /// Resumes delivery when there is room again.
    func resume() {
        isPaused = false
        while !isPaused, !waiting.isEmpty { isPaused = !deliver(waiting.removeFirst()) }
    }

    /// Delivers the waiting values, even without room.
    func drain() {
        for value in waiting { _ = deliver(value) }
        waiting = []
    }
}
