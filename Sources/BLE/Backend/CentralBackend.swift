public import Logging

/// The location of an attribute: a peripheral and the handle of a characteristic or descriptor on it.
public struct AttributeID: Hashable, Sendable {
    /// The peripheral.
    public let peripheral: Peripheral.ID
    /// The attribute handle. For a characteristic, the handle of its declaration.
    public let handle: UInt16

    /// Creates the location of an attribute.
    public init(peripheral: Peripheral.ID, handle: UInt16) {
        self.peripheral = peripheral
        self.handle = handle
    }
}

/// How a value is written.
public enum WriteType: Hashable, Sendable {
    /// The peripheral confirms the write. A value that does not fit one packet is sent as a long write. At most 512
    /// bytes.
    case withResponse
    /// The peripheral does not confirm the write. A value that does not fit one packet is rejected.
    case withoutResponse
    /// The peripheral echoes each part, and the parts are compared before the peripheral is told to execute the write
    /// (Core Specification 5.4, volume 3, part G, section 4.9.5). Requires ``CharacteristicProperties/reliableWrite``.
    /// At most 512 bytes.
    case reliable
}

/// A snapshot of a peripheral that a backend knows.
public struct KnownPeripheral: Hashable, Sendable {
    /// Its identity.
    public let id: Peripheral.ID
    /// Its advertising data, current or remembered.
    public let advertisement: Advertisement
    /// Whether this machine has a link to it, including links made by other programs.
    public let isConnected: Bool
    /// The services that it is known to have: those it advertised and those discovered on a link.
    public let services: Set<BluetoothUUID>

    /// Creates a known peripheral. Its services default to those it advertises.
    public init(
        id: Peripheral.ID, advertisement: Advertisement, isConnected: Bool, services: Set<BluetoothUUID>? = nil
    ) {
        self.id = id
        self.advertisement = advertisement
        self.isConnected = isConnected
        self.services = services ?? advertisement.serviceUUIDs
    }
}

/// The filter of a backend's discovery. A backend may report more; the central filters again.
public struct DiscoveryFilter: Hashable, Sendable {
    /// Only peripherals that advertise at least one of these services. Empty for all peripherals.
    public var services: Set<BluetoothUUID>
    /// Only peripherals with at least this signal strength, in dBm. Nil for any strength.
    public var minimumRSSI: Int?
    /// The transport to scan.
    public var transport: Transport
    /// Only peripherals that advertise data of at least one of these companies. Empty for all peripherals.
    public var manufacturers: Set<UInt16>
    /// Scan passively, without requesting scan responses.
    public var isPassive: Bool

    /// Creates a filter. By default, it passes all LE peripherals.
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

/// An event that a backend reports to its central.
public enum BackendEvent: Sendable {
    /// The state of the adapter in use changed.
    case adapter(AdapterState)
    /// An advertisement was received. It includes everything known from earlier ones.
    case advertisement(Peripheral.ID, Advertisement)
    /// The scan ended although the adapter is on, and cannot continue.
    case scanEnded(BLEError)
    /// The system removed the peripheral. Its id is invalid until the peripheral is discovered again.
    case removed(Peripheral.ID)
    /// A link ended, no matter which side or program ended it. The error's `disconnectReason` is the reason, if it is
    /// known.
    case disconnected(Peripheral.ID, BLEError)
    /// The services changed. Discover them again.
    case servicesChanged(Peripheral.ID)
    /// Notifications of the characteristic ended although the link is up: the characteristic is gone, or another client
    /// ended their delivery. They can be started again.
    case notificationsEnded(AttributeID, BLEError)
    /// The pairing prompts for the peripheral are complete or no longer valid.
    case pairingEnded(Peripheral.ID)
    /// Bluetooth stopped: all links, scans and subscriptions have ended. The adapter's state reports its return.
    case lost(BLEError)
}

/// The event handler, logger, clock and pairing agent that a central gives its backend.
public struct BackendContext: Sendable {
    /// Receives the backend's events. Must be called in the backend's isolation.
    public let handle: @Sendable (BackendEvent) -> Void
    /// Receives log messages.
    public let logger: Logger
    /// Measures deadlines and intervals.
    public let clock: any Clock<Duration>
    /// Answers pairing prompts.
    public let pairing: PairingAgent

    /// Creates a context.
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
/// The central implements all policy, not the backend: sharing, filtering and staleness of scans, sharing of
/// connections, deadlines, order of operations, buffering and reconnection. The central runs on its backend's executor,
/// so that an event reaches it without a hop. Therefore, a backend must never block.
///
/// Every operation ends early if its task is cancelled, or if the link, the peripheral or the stack is lost. Errors
/// need not name the peripheral or the attribute; the central adds them. All backends pass one contract suite,
/// `BackendContract`.
public protocol CentralBackend: Actor {
    /// Connects to the stack. Called once, before anything else.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`.
    func start(_ context: BackendContext) async throws(BLEError)

    /// Stops scanning, ends the subscriptions and the remaining links, and disconnects from the stack. Called once,
    /// last.
    func shutDown() async

    /// The state of the adapter in use.
    func adapterState() -> AdapterState

    /// All adapters, in order of their ids.
    func adapters() async throws(BLEError) -> [Adapter]

    /// Powers an adapter, or with nil the one in use, on or off. Returns when its state has changed.
    ///
    /// Throws `adapterNotFound`, `blocked` or `unauthorized`.
    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError)

    /// Sets the name that an adapter, or with nil the one in use, shows to other devices. Returns when the name has
    /// changed.
    ///
    /// An empty name restores the system's name.
    ///
    /// Throws `adapterNotFound` or `unauthorized`.
    func setAlias(_ alias: String, adapter: String?) async throws(BLEError)

    /// All peripherals that the stack knows on the adapter in use.
    func knownPeripherals() -> [KnownPeripheral]

    /// Starts scanning, or changes the filter of the running scan.
    ///
    /// Throws `poweredOff`, and `notSupported` if a passive scan is requested but not available.
    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError)

    /// Stops scanning. Does nothing if no scan is running.
    func stopDiscovery() async throws(BLEError)

    /// Establishes a link, or uses an existing one. If the task is cancelled, no link remains.
    ///
    /// Throws `peripheralNotFound`, `connectionFailed`, `connectionCancelled` or `poweredOff`.
    func connect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Ends the link or the attempt to connect, and returns when the link is down. Does nothing if there is neither.
    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Returns the services of a connected peripheral, once they are stable.
    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase

    /// Returns the ATT MTU of the link to a connected peripheral, in bytes.
    ///
    /// Throws `notSupported` if the stack does not report it.
    func maximumPacketLength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// Returns the signal strength of the link to a connected peripheral, in dBm.
    ///
    /// Throws `notSupported` if the stack does not report it, or not at present.
    func signalStrength(_ peripheral: Peripheral.ID) async throws(BLEError) -> Int

    /// Reads a characteristic's value from an offset to its end. While notifications are on, the result is not also
    /// delivered as a notification.
    func read(_ characteristic: AttributeID, offset: Int) async throws(BLEError) -> [UInt8]

    /// Writes a characteristic's value, or the part of it that begins at an offset. A write without response has no
    /// offset.
    func write(_ value: [UInt8], to characteristic: AttributeID, type: WriteType, offset: Int) async throws(BLEError)

    /// Reads a descriptor's value.
    func readDescriptor(_ descriptor: AttributeID) async throws(BLEError) -> [UInt8]

    /// Writes a descriptor's value.
    func writeDescriptor(_ value: [UInt8], to descriptor: AttributeID) async throws(BLEError)

    /// Starts notifications or indications and delivers their values in order.
    ///
    /// Returns when the peripheral has agreed; values may arrive earlier. Not called again for the same characteristic
    /// before ``stopNotifications(of:)`` or the end of the link.
    ///
    /// - Parameter deliver: receives each value, in the backend's isolation.
    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError)

    /// Starts notifications over a dedicated channel, separate from the stack's other traffic, and delivers their
    /// values in order.
    ///
    /// Otherwise like ``startNotifications(of:deliver:)``. If the channel ends while the link is up, the backend
    /// reports `notificationsEnded`.
    ///
    /// Throws `notSupported` for a characteristic that does not notify, and `busy` while another client has its
    /// notifications on.
    ///
    /// - Parameter deliver: receives each value, in the backend's isolation. Returns false if there is no room for
    ///   another value; further values then wait in the channel until ``resumeNotifications(of:)`` or the end of the
    ///   link.
    func acquireNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError)

    /// Resumes delivery from a channel whose reader has room again. Does nothing if there is no channel.
    func resumeNotifications(of characteristic: AttributeID)

    /// Opens a channel for writes without response.
    ///
    /// Throws `busy` if a channel is already open, in this or another program.
    func acquireWriting(to characteristic: AttributeID) async throws(BLEError) -> any PacketChannel

    /// Stops notifications. Does nothing if they are off or the link has ended.
    func stopNotifications(of characteristic: AttributeID) async throws(BLEError)

    /// Pairs over an existing link, with prompts to the context's ``PairingAgent``.
    ///
    /// Cancellation ends the pairing, unless it has already succeeded, and withdraws its prompts.
    ///
    /// Throws `alreadyPaired` without changing the bond, `disconnected` if the link ends first, and the other error
    /// codes of pairing.
    func pair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Removes the bond and everything else known about the peripheral, and ends its link. Does nothing if the
    /// peripheral is not known.
    func unpair(_ peripheral: Peripheral.ID) async throws(BLEError)

    /// Returns the system's current pairing state for the peripheral. Throws `peripheralNotFound`.
    func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState

    /// Changes a system setting for a peripheral. Throws `peripheralNotFound`.
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
