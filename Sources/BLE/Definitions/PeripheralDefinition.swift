/// A peripheral as it is to be: what it advertises, its services, and what happens when they are used.
///
/// The simulated radio plays it in memory.
public struct PeripheralDefinition: Sendable {
    /// The device address, such as `F0:F1:F2:F3:F4:F5`; nil for one that whoever plays the definition makes up.
    public var address: String?
    /// What it advertises. The signal strength is what a central hears.
    public var advertisement: Advertisement
    /// How often it advertises.
    public var advertisingInterval: Duration
    /// Its services, in the order of their handles.
    public var services: [ServiceDefinition]
    /// The longest packet of the Attribute Protocol that it takes (ATT_MTU), in bytes, 23 to 517. 247 by default, which is what
    /// fits one packet of the link layer.
    public var maximumPacketLength: Int
    /// How it pairs.
    public var pairing: PairingMethod

    /// A peripheral.
    public init(
        address: String? = nil, advertisement: Advertisement, advertisingInterval: Duration = .milliseconds(200),
        services: [ServiceDefinition], maximumPacketLength: Int = 247,
        pairing: PairingMethod = .justWorks
    ) {
        self.maximumPacketLength = maximumPacketLength
        self.pairing = pairing
        self.address = address
        self.advertisement = advertisement
        self.advertisingInterval = advertisingInterval
        self.services = services
    }
}

/// A service of a defined peripheral.
public struct ServiceDefinition: Sendable {
    /// The type.
    public var uuid: BluetoothUUID
    /// False for a service that is only there to be included.
    public var isPrimary: Bool
    /// Its characteristics, in the order of their handles.
    public var characteristics: [CharacteristicDefinition]
    /// The types of the peripheral's services that this one includes; of each type the first.
    public var includes: [BluetoothUUID]

    /// A service.
    public init(
        _ uuid: BluetoothUUID, isPrimary: Bool = true, includes: [BluetoothUUID] = [],
        characteristics: [CharacteristicDefinition]
    ) {
        self.uuid = uuid
        self.isPrimary = isPrimary
        self.includes = includes
        self.characteristics = characteristics
    }
}

/// A descriptor of a defined characteristic. (The client characteristic configuration and the extended properties are there by
/// themselves.)
public struct DescriptorDefinition: Sendable {
    /// The type.
    public var uuid: BluetoothUUID
    /// The value at first.
    public var value: [UInt8]

    /// A descriptor.
    public init(_ uuid: BluetoothUUID, value: [UInt8]) {
        self.uuid = uuid
        self.value = value
    }

    /// A descriptor with a typed value. Throws `invalidValue` for one that its bytes cannot spell.
    public init(_ uuid: BluetoothUUID, value: some ValueCodable) throws(BLEError) {
        self.init(uuid, value: try value.encoded())
    }

    /// What the characteristic is called (Characteristic User Description, 0x2901).
    public static func userDescription(_ text: String) -> DescriptorDefinition {
        DescriptorDefinition(BluetoothUUID(0x2901), value: Array(text.utf8))
    }

    /// How the characteristic's value is to be shown (Characteristic Presentation Format, 0x2904).
    public static func presentationFormat(_ format: PresentationFormat) -> DescriptorDefinition {
        DescriptorDefinition(BluetoothUUID(0x2904), value: format.bytes)
    }
}

/// A characteristic of a defined peripheral.
///
/// Without handlers it has a value: what is written is what is read and notified. A handler takes the value's place and may
/// take its time; it is cancelled when the link ends. A write at an offset gives it the value as it is to be, made of what is read
/// and what is written.
public struct CharacteristicDefinition: Sendable {
    /// Answers a read, or refuses it. A closure that throws says so: `{ () throws(ATTError) in … }`.
    public typealias ReadHandler = @Sendable () async throws(ATTError) -> [UInt8]
    /// Takes a write, or refuses it; the write type tells whether anybody waits for the answer. A closure that throws says so:
    /// `{ (value, _) throws(ATTError) in … }`.
    public typealias WriteHandler = @Sendable ([UInt8], WriteType) async throws(ATTError) -> Void
    /// Runs from subscription to unsubscription, when it is cancelled. The notifier sends values to the subscriber. What it throws, but
    /// for a cancellation, ends the link, as the failure of a peripheral's program would.
    public typealias SubscriptionHandler = @Sendable (Notifier) async throws -> Void

    /// The type.
    public var uuid: BluetoothUUID
    /// What it allows.
    public var properties: CharacteristicProperties
    /// What it wants of the link, to be read, written or subscribed to.
    public var security: AttributeSecurity
    /// The value at first.
    public var value: [UInt8]
    /// Further descriptors.
    public var descriptors: [DescriptorDefinition]
    /// Answers reads in the value's place.
    public var onRead: ReadHandler?
    /// Takes writes in the value's place.
    public var onWrite: WriteHandler?
    /// Runs while a central is subscribed.
    public var onSubscribe: SubscriptionHandler?

    /// A characteristic.
    public init(
        _ uuid: BluetoothUUID, _ properties: CharacteristicProperties, security: AttributeSecurity = .open,
        value: [UInt8] = [],
        descriptors: [DescriptorDefinition] = [], onRead: ReadHandler? = nil, onWrite: WriteHandler? = nil,
        onSubscribe: SubscriptionHandler? = nil
    ) {
        self.uuid = uuid
        self.properties = properties
        self.security = security
        self.value = value
        self.descriptors = descriptors
        self.onRead = onRead
        self.onWrite = onWrite
        self.onSubscribe = onSubscribe
    }
}

/// Sends a defined peripheral's values to one subscribed central.
public struct Notifier: Sendable {
    /// The clock of the world that the peripheral lives in.
    public let clock: any Clock<Duration>
    private let send: @Sendable ([UInt8]) async -> Void

    /// A notifier; made by whoever plays the definition.
    public init(clock: any Clock<Duration>, send: @escaping @Sendable ([UInt8]) async -> Void) {
        self.clock = clock
        self.send = send
    }

    /// Sends a value; to nobody when the subscription has ended.
    public func notify(_ value: [UInt8]) async {
        await send(value)
    }
}
