internal import BLE

/// A peripheral as it is on the simulated radio.
struct SimulatedDevice {
    var definition: PeripheralDefinition
    var attributes: SimulatedAttributes
    var isAdvertising = true
    var advertiser: Task<Void, Never>?
    var link: SimulatedLink?
    /// What a central is told of the link's strength; nil for nothing, as bluetoothd has it.
    var signalStrength: Int?
    /// Somebody has discovered the services.
    var isDiscovered = false

    /// The longest packet of a link to it: BlueZ asks for 517.
    var packetLength: Int { min(517, max(23, definition.maximumPacketLength)) }

    /// The services that are known of it: those advertised, and once they have been discovered the others.
    var services: Set<BluetoothUUID> {
        let advertised = definition.advertisement.serviceUUIDs
        return isDiscovered ? advertised.union(attributes.database.filter(\.isPrimary).map(\.uuid)) : advertised
    }
    var bond: SimulatedBond?
    /// The peripheral does not know the bond any more.
    var hasLostBond = false
    var isTrusted = false
    var isBlocked = false

    /// What a central hears. An address that is not said to be of a kind is what most devices of its transport have.
    var advertisement: Advertisement {
        var advertisement = definition.advertisement
        let usual: AddressType = advertisement.deviceClass == nil ? .random : .public
        advertisement.addressType = advertisement.addressType ?? usual
        return advertisement
    }

    /// Whether a scan for that transport hears it. A device with a device class is a Classic one.
    func isHeard(on transport: Transport) -> Bool {
        switch transport {
        case .any: true
        case .le: definition.advertisement.deviceClass == nil
        case .classic: definition.advertisement.deviceClass != nil
        }
    }

    init(definition: PeripheralDefinition) {
        self.definition = definition
        attributes = SimulatedAttributes(definition.services)
    }
}

/// The link of a central to a simulated peripheral.
struct SimulatedLink {
    let number: Int
    let port: Int
    /// How far it is secured.
    var security: AttributeSecurity
    var isPairing = false
    /// Who waits for the pairing to end.
    var pairingWaiters: [Outcome<Void>] = []
    /// What fails when the link ends.
    var operations: [Int: (BLEError) -> Void] = [:]
    var subscriptions: [UInt16: SimulatedSubscription] = [:]
    /// Channels for writes.
    var writers: [UInt16: SimulatedWriter] = [:]
    /// Handlers of writes that nobody waits for.
    var commands: [Int: Task<Void, Never>] = [:]

    init(number: Int, port: Int, security: AttributeSecurity) {
        self.number = number
        self.port = port
        self.security = security
    }
}

/// A central's channel for writes to a characteristic.
struct SimulatedWriter {
    let number: Int
    let channel: SimulatedChannel
    /// Takes the packets to the peripheral, one after the other.
    var task: Task<Void, Never>?

    init(number: Int, channel: SimulatedChannel) {
        self.number = number
        self.channel = channel
    }
}

/// A central's subscription to a characteristic.
struct SimulatedSubscription {
    let number: Int
    /// Takes a value; false when there is no room for another.
    let deliver: @Sendable ([UInt8]) -> Bool
    /// The values come over a channel, which holds those for which there is no room.
    let isChannel: Bool
    private var waiting: [[UInt8]] = []
    private var isPaused = false
    /// The definition's handler.
    var task: Task<Void, Never>?

    /// What fits into a socket of bluetoothd's, more or less.
    static let capacity = 200

    init(number: Int, isChannel: Bool, deliver: @escaping @Sendable ([UInt8]) -> Bool) {
        self.number = number
        self.isChannel = isChannel
        self.deliver = deliver
    }

    /// A value from the peripheral; lost when the channel is full.
    mutating func take(_ value: [UInt8]) {
        if isPaused {
            if waiting.count < Self.capacity { waiting.append(value) }
        } else {
            isPaused = !deliver(value) && isChannel
        }
    }

    /// There is room again.
    mutating func resume() {
        isPaused = false
        while !isPaused, !waiting.isEmpty { isPaused = !deliver(waiting.removeFirst()) }
    }

    /// Delivers what waits, whether or not there is room.
    mutating func drain() {
        for value in waiting { _ = deliver(value) }
        waiting = []
    }
}
