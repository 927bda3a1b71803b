public import Logging

/// Where an attribute is: a peripheral and the handle of a characteristic or descriptor on it.
public struct AttributeID: Hashable, Sendable {
    /// The peripheral.
    public let peripheral: Peripheral.ID
    /// The attribute handle; of a characteristic, its declaration's.
    public let handle: UInt16

    /// An attribute's place.
    public init(peripheral: Peripheral.ID, handle: UInt16) {
        self.peripheral = peripheral
        self.handle = handle
    }
}

/// How a value is written.
public enum WriteType: Hashable, Sendable {
    /// The peripheral confirms; longer values than fit one packet go as a long write. At most 512 bytes.
    case withResponse
    /// Nobody confirms, and a value that does not fit one packet is refused.
    case withoutResponse
    /// The peripheral repeats every part, which is compared before it is told to take the value (Core Specification 5.4,
    /// volume 3, part G, section 4.9.5). For characteristics with the property. At most 512 bytes.
    case reliable
}

/// A peripheral that a backend knows of, as it was when asked.
public struct KnownPeripheral: Hashable, Sendable {
    /// Its identity.
    public let id: Peripheral.ID
    /// What is known from its advertising, now or earlier.
    public let advertisement: Advertisement
    /// True when this machine has a link to it, whoever made it.
    public let isConnected: Bool
    /// The services it is known to have: those it advertised, and those that were found on a link.
    public let services: Set<BluetoothUUID>

    /// A known peripheral. Its services are those it advertises, unless said otherwise.
    public init(
        id: Peripheral.ID, advertisement: Advertisement, isConnected: Bool, services: Set<BluetoothUUID>? = nil
    ) {
        self.id = id
        self.advertisement = advertisement
        self.isConnected = isConnected
        self.services = services ?? advertisement.serviceUUIDs
    }
}

/// What discovery is asked of a backend. A backend may report more; the central filters again.
public struct DiscoveryFilter: Hashable, Sendable {
    /// Only peripherals that advertise one of these services; empty for all.
    public var services: Set<BluetoothUUID>
    /// Only peripherals heard at least this strong, in dBm.
    public var minimumRSSI: Int?
    /// The transport to listen on.
    public var transport: Transport
    /// Only peripherals that advertise data of one of these companies; empty for all.
    public var manufacturers: Set<UInt16>
    /// Listen without asking for scan responses.
    public var isPassive: Bool

    /// A filter. Lets everything on LE through unless said otherwise.
    public init(
        services: Set<BluetoothUUID> = [], minimumRSSI: Int? = nil, transport: Transport = .le,
        manufacturers: Set<UInt16> = [], isPassive: Bool = false
    ) {
        self.services = services
        self.minimumRSSI = minimumRSSI
        self.transport = transport
        self.manufacturers = manufacturers
        self.isPassive = isPassive
    }
}

/// What happens by itself in a backend.
public enum BackendEvent: Sendable {
    /// The adapter in use changed its state.
    case adapter(AdapterState)
    /// An advertisement was heard: everything known of the peripheral with it.
    case advertisement(Peripheral.ID, Advertisement)
    /// The scan has ended by itself, although the adapter is on, and cannot go on.
    case scanEnded(BLEError)
    /// The system has forgotten the peripheral; its id means nothing until it is discovered again.
    case removed(Peripheral.ID)
    /// A link ended, whoever ended it. The error's `disconnectReason` says why, where that is known.
    case disconnected(Peripheral.ID, BLEError)
    /// The services are others than before; what was discovered is void.
    case servicesChanged(Peripheral.ID)
    /// Nothing more is delivered of that characteristic, although its link is up: it is gone, or somebody else has ended the
    /// delivery. It may be started again.
    case notificationsEnded(AttributeID, BLEError)
    /// What was asked or shown to pair with the peripheral is void, or done with.
    case pairingEnded(Peripheral.ID)
    /// Bluetooth has stopped: all links, scans and subscriptions are gone. The adapter's state says when it is back.
    case lost(BLEError)
}

/// What a central gives its backend.
public struct BackendContext: Sendable {
    /// Takes the backend's events. Must be called in the backend's isolation.
    public let handle: @Sendable (BackendEvent) -> Void
    /// For whatever is worth a line.
    public let logger: Logger
    /// Measures deadlines and intervals.
    public let clock: any Clock<Duration>
    /// Answers what pairing asks.
    public let pairing: PairingAgent

    /// A context.
    public init(
        handle: @escaping @Sendable (BackendEvent) -> Void, logger: Logger, clock: any Clock<Duration>,
        pairing: PairingAgent = .none
    ) {
        self.handle = handle
        self.logger = logger
        self.clock = clock
        self.pairing = pairing
    }
}

/// A Bluetooth stack in the central role, at the level of GATT operations.
///
/// Policy is not a backend's business: sharing, filtering and staleness of scans, sharing of connections, deadlines, order
/// of operations, buffering and reconnection are the central's. The central runs on its backend's executor, so that an
/// event reaches it without a hop; a backend therefore must never block.
///
/// Every operation ends early when its task is cancelled, when the link or the peripheral goes, and when the stack goes. Errors
/// need not name the peripheral or the attribute; the central adds them. All backends pass one suite, `BackendContract`.
public protocol CentralBackend: Actor {
    /// Connects to the stack. Called once, before anything else.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`.
    func start(_ context: BackendContext) async throws(BLEError)

    /// Stops scanning, ends the subscriptions and leaves the stack. Called once, last. Links that are still up are ended.
    func shutDown() async

    /// The state of the adapter in use.
    func adapterState() -> AdapterState

    /// All adapters, in order of their ids.
    func adapters() async throws(BLEError) -> [Adapter]

    /// Switches an adapter, or with nil the one in use, on or off. Returns once it is.
    ///
    /// Throws `adapterNotFound`, `blocked` or `unauthorized`.
    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError)

    /// Gives an adapter, or with nil the one in use, the name that it shows to others; the empty one for the system's own.
    /// Returns once it has it.
    ///
    /// Throws `adapterNotFound` or `unauthorized`.
    func setAlias(_ alias: String, adapter: String?) async throws(BLEError)

    /// All peripherals that the stack knows on the adapter in use.
    func knownPeripherals() -> [KnownPeripheral]

    /// Starts scanning, or changes the filter of the running scan. Throws `poweredOff`; and `notSupported` when a passive scan
    /// is asked for and cannot be had.
    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError)

    /// Stops scanning. No error when nothing runs.
    func stopDiscovery() async throws(BLEError)

    /// Makes a link, or takes over one that exists. Cancelling leaves no link behind.
    ///
    /// Throws `peripheralNotFound`, `connectionFailed`, `connectionCancelled` or `poweredOff`.
    func connect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Ends the link or the attempt to make one. Returns once it is down. No error when there is none.
    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// The services of a connected peripheral, once they have settled.
    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase

    /// The longest packet of the Attribute Protocol that the link to a connected peripheral carries (ATT_MTU), in bytes.
    ///
    /// Throws `notSupported` where the stack does not tell.
    func maximumPacketLength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// The signal strength of the link to a connected peripheral, in dBm.
    ///
    /// Throws `notSupported` where the stack does not tell, or not now.
    func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// Reads a characteristic's value from an offset to its end. While its notifications are on, what is read is not delivered
    /// as one of them.
    func read(_ characteristic: AttributeID, offset: Int) async throws(BLEError) -> [UInt8]

    /// Writes a characteristic's value, or from an offset on a part of it. Without response there is no offset.
    func write(_ value: [UInt8], to characteristic: AttributeID, type: WriteType, offset: Int) async throws(BLEError)

    /// Reads a descriptor's value.
    func readDescriptor(_ descriptor: AttributeID) async throws(BLEError) -> [UInt8]

    /// Writes a descriptor's value.
    func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID) async throws(BLEError)

    /// Has notifications or indications delivered from now on, in order. Returns once the peripheral has agreed; values may
    /// arrive before. Called again for the same characteristic only after ``stopNotifications(of:)`` or the link's end.
    ///
    /// - Parameter deliver: takes each value, in the backend's isolation.
    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError)

    /// Has notifications delivered over a channel of their own, past the stack's other traffic, in order. Otherwise as
    /// ``startNotifications(of:deliver:)``. When the channel ends while the link is up, `notificationsEnded` is reported.
    ///
    /// Throws `notSupported` for a characteristic that does not notify, `busy` while somebody else has its notifications on.
    ///
    /// - Parameter deliver: takes each value, in the backend's isolation; false when there is no room for another. What comes then
    ///   waits in the channel, until ``resumeNotifications(of:)`` or the link's end.
    func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError)

    /// There is room again for what a channel delivers. Nothing happens where there is none.
    func resumeNotifications(of characteristic: AttributeID)

    /// Opens a channel for writes without response.
    ///
    /// Throws `busy` while there is one already, whoever has it.
    func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketChannel

    /// Stops the delivery. No error when nothing is delivered or the link is gone.
    func stopNotifications(of characteristic: AttributeID) async throws(BLEError)

    /// Pairs over a link that is up, asking the context's ``PairingAgent``. Cancelling ends the pairing, unless it has succeeded by
    /// then, and takes back its prompts.
    ///
    /// Throws `alreadyPaired` without touching the bond, `disconnected` when the link ends first, and the other codes of
    /// pairing.
    func pair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Removes the bond, with all that is known of the peripheral, and ends its link. No error when it is not known.
    func unpair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// What the system knows of its relation to the peripheral, now. Throws `peripheralNotFound`.
    func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState

    /// Tells the system something about a peripheral. Throws `peripheralNotFound`.
    func set(_ setting: PeripheralSetting, _ value: Bool, _ peripheral: Peripheral.ID) async throws(BLEError)
}

extension CentralBackend {
    /// Reads a characteristic's whole value.
    public func read(_ characteristic: AttributeID) async throws(BLEError) -> [UInt8] {
        try await read(characteristic, offset: 0)
    }

    /// Writes a characteristic's whole value.
    public func write(_ value: [UInt8], to characteristic: AttributeID, type: WriteType) async throws(BLEError) {
        try await write(value, to: characteristic, type: type, offset: 0)
    }
}
