import BLE
import BLEBlueZ
public import BLESimulation
import DBus
public import Logging
import Loop
import Synchronization

/// bluetoothd's bus interface over a simulated radio, on a bus of one's own.
///
/// ```swift
/// let bus = try await PrivateBus()
/// let radio = SimulatedRadio()
/// let daemon = FakeBlueZ(address: bus.address, radio: radio)
/// try await daemon.start()
/// // Programs whose environment has DBUS_SYSTEM_BUS_ADDRESS=(bus.address) take it for the system's.
/// ```
///
/// It translates between `org.bluez` and the radio, and adds only the daemon's own behavior: temporary device objects,
/// one discovery per sender, `InProgress`, its error names, and a changed property for every value that is read. This
/// behavior was observed on the real daemon; where the contract shows a difference, it is observed again.
///
/// Each object is the part of one adapter. The first one, of `hci0`, is the daemon: it has the daemon's name and
/// agents, and the others (``addAdapter(_:)``), which live as long as it.
public actor FakeBlueZ {
    public nonisolated let radio: SimulatedRadio
    let address: String
    /// The id of the adapter, such as `hci0`.
    public nonisolated let name: String
    nonisolated let adapterPath: String
    /// The address that the adapter shows.
    nonisolated let adapterAddress: String
    /// The daemon's first adapter, if this is another.
    nonisolated let first: FakeFirst
    /// The daemon's other adapters, if this is the first.
    var others: [String: FakeBlueZ] = [:] {
        didSet {
            let others = Array(others.values)
            publishedOthers.withLock { $0 = others }
        }
    }
    /// The same for the bus thread.
    nonisolated let publishedOthers = Mutex<[FakeBlueZ]>([])
    let backend: SimulatedBackend
    /// The bus thread.
    nonisolated let loop: EventLoop
    /// The kernel's management sockets, of all adapters.
    nonisolated let kernelManagement: FakeManagement
    /// The number of the discovery that a program has started in the kernel; nil if none runs.
    var kernelDiscovery: Int?
    /// The number of such discoveries so far.
    package internal(set) var kernelDiscoveries = 0
    /// How often a program has stopped the daemon's discovery in the kernel.
    package internal(set) var foreignStops = 0
    var session: BusSession?

    /// The agents, in the order in which they were registered, and which of them is the default.
    var agents: [FakeAgent] = [] {
        didSet { if session != nil, agents.first?.owner != oldValue.first?.owner { defaultAgentChanged() } }
    }
    /// The clients whose `Pair` is under way, by the device.
    var pairings: [Peripheral.ID: String] = [:]
    /// The capability that the kernel copies to each link that it makes: that of the last default agent.
    var kernelCapability = IOCapability.noInputNoOutput
    /// Whether the kernel accepts pairings, which outlasts the daemon.
    public internal(set) var isPairable = false { didSet { publishAdapter() } }

    /// The clients, by their unique names.
    var clients: [String: FakeClient] = [:]
    /// What those with a discovery session ask for; nil if none has one.
    var discovery: FakeDiscovery? { didSet { publishAdapter() } }
    /// Whether the last signal about that was that one has.
    var isDiscoverySignaled = false
    /// Whether the radio knows the daemon.
    var hasStarted = false
    var isPowered = true { didSet { publishAdapter() } }
    var isPresent = true
    var isBlocked = false
    /// Whether unblocking switches it on.
    var isOnUnblocked = false
    /// The number of times that a client has answered the activation of a monitor.
    package var activations = 0
    var offersMonitors = false
    /// What clients serve and advertise; nil before the first registration.
    var serving: FakeServing?
    /// The numbers at which clients accept channels.
    var listeners: [Int: FakeListener] = [:]
    var lastListener = 0
    /// The kernel's record of these numbers: the listener at each, by the adapter's address.
    nonisolated let bound = Mutex<[ChannelAddress: [PSM: Int]]>([:])
    /// The clients that the bus does not let call the daemon.
    nonisolated let denied = Mutex(DeniedClients())
    /// Whether values are on their way to the radio.
    var isSendingValues = false
    /// What clients have signaled so far.
    nonisolated let signaledValues = Mutex<[[UInt8]]>([])
    nonisolated let arrivedValues = Mutex(FakeArrivals())
    var refusesMonitors = false
    /// Whether the subscribers of indications confirm values that are signaled to all.
    var confirmsSignals = true
    var alias = "fake" { didSet { publishAdapter() } }
    /// The adapter's properties, for the bus thread.
    nonisolated let publishedAdapter = Mutex<[String: DBusValue]>([:])
    /// The number of registered advertisements, for the bus thread.
    nonisolated let activeAdvertisements = Mutex(0)
    /// The types of the services that clients have registered.
    var servedServices: [BluetoothUUID] = [] { didSet { publishAdapter() } }
    /// The devices that have an object.
    var devices = FakeDevices() {
        didSet {
            let changed = devices.takeChanged()
            guard !changed.isEmpty else { return }
            var changes: [Peripheral.ID: [String: DBusValue]?] = [:]
            for id in changed {
                changes.updateValue(
                    devices[id].map { device in
                        device.properties.merging(device.packetLength.map { ["MTU": .uint16(UInt16($0))] } ?? [:]) {
                            $1
                        }
                    }, forKey: id)
            }
            // On the bus thread, so that the change keeps its place among the signals.
            loop.perform { [weak self, changes] in
                self?.published.withLock { for (id, properties) in changes { $0[id] = properties } }
            }
        }
    }
    /// The devices' properties and the packet length, for the bus thread, which cannot wait for this actor.
    nonisolated let published = Mutex<[Peripheral.ID: [String: DBusValue]]>([:])
    /// The paths of the attributes that are being written.
    var writing: Set<String> = []
    /// The tasks that start and stop the notifications of a characteristic, one after the other.
    var notifyTurns: [AttributeID: Task<Void, Never>] = [:]
    /// The daemon's ends of the sockets it has handed out.
    var notifySockets: [AttributeID: PacketSocket] = [:]
    var writeSockets: [AttributeID: FakeWriteSocket] = [:]
    /// The characteristics whose `AcquireNotify` has no answer yet, or was lost with its link.
    var unmadeSockets: Set<AttributeID> = []
    /// The devices with a bond, while there is no daemon or no adapter.
    var stored: [FakeDevice] = []
    /// What is exported, by path and interface, for the bus thread.
    nonisolated let exports = Mutex<[String: UInt32]>([:])
    /// The shortest time between the end of a device's link and the next `Connect`; nil before the first.
    public internal(set) var shortestPause: Duration?
    /// How often each method was called.
    public internal(set) var calls: [String: Int] = [:]
    /// The daemon's faults.
    var faults = FakeFaults()

    /// The radio's executor, so that its events and the calls from the bus take turns.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { radio.unownedExecutor }

    /// The second part of its version: 66 for 5.66.
    public nonisolated let minorVersion: Int
    /// Whether it runs with `--experimental`, and shows what bluetoothd shows only then.
    nonisolated let isExperimental: Bool
    /// Whether it reads the battery level of peripherals, as bluetoothd's battery plugin does, and shows `Battery1`.
    nonisolated let readsBatteries: Bool
    nonisolated let timeouts: Timeouts
    nonisolated let logger: Logger
    /// How long the daemon waits for the answers of its clients.
    package struct Timeouts: Sendable {
        /// To an agent's question (`REQUEST_TIMEOUT` in the daemon's `src/agent.c`).
        package var agent = Duration.seconds(60)
        /// To a request of a central (`ATT_TIMEOUT` less what its link needs, as `src/gatt-database.c` has it).
        package var request = Duration.seconds(5)
        /// To everything else: D-Bus's own limit.
        package var call = Duration.seconds(25)

        package static let usual = Timeouts()

        package init() {}

        /// The same for all.
        package init(all timeout: Duration) { (agent, request, call) = (timeout, timeout, timeout) }
    }

    /// A daemon for the bus at `address`, not started yet.
    ///
    /// - Parameters:
    ///   - minorVersion: the second part of the version that it behaves like: 66 for 5.66.
    ///   - isExperimental: whether it runs with `--experimental`.
    ///   - logger: receives log messages. By default, none.
    public init(
        address: String, radio: SimulatedRadio, minorVersion: Int = 66, isExperimental: Bool = false,
        logger: Logger? = nil
    ) {
        self.init(
            address: address, radio: radio, minorVersion: minorVersion, isExperimental: isExperimental,
            readsBatteries: true, timeouts: .usual, logger: logger)
    }

    package init(
        address: String, radio: SimulatedRadio, minorVersion: Int, isExperimental: Bool, readsBatteries: Bool,
        timeouts: Timeouts, logger: Logger? = nil
    ) {
        self.address = address
        self.radio = radio
        self.minorVersion = minorVersion
        (self.isExperimental, self.readsBatteries) = (isExperimental, readsBatteries)
        self.timeouts = timeouts
        self.logger = logger ?? Logger(label: "fake") { _ in SwiftLogNoOpLogHandler() }
        name = "hci0"
        adapterPath = "/org/bluez/hci0"
        adapterAddress = "C0:FF:EE:00:00:01"
        first = FakeFirst(nil)
        loop = EventLoop(name: "fake-bluez")
        kernelManagement = FakeManagement(loop)
        backend = .simulated(radio, adapter: "hci0")
    }

    /// Another adapter of a daemon.
    init(_ name: String, of first: FakeBlueZ, address adapterAddress: String) {
        address = ""
        radio = first.radio
        minorVersion = first.minorVersion
        (isExperimental, readsBatteries) = (first.isExperimental, first.readsBatteries)
        (timeouts, logger) = (first.timeouts, first.logger)
        self.name = name
        adapterPath = "/org/bluez/\(name)"
        self.adapterAddress = adapterAddress
        self.first = FakeFirst(first)
        loop = first.loop
        kernelManagement = first.kernelManagement
        backend = .simulated(radio, adapter: name)
    }
}

/// A reference to the first adapter of a daemon, which owns the others.
struct FakeFirst: Sendable {
    private weak let daemon: FakeBlueZ?

    init(_ daemon: FakeBlueZ?) { self.daemon = daemon }

    /// The first adapter; `other` if that is it.
    func or(_ other: FakeBlueZ) -> FakeBlueZ { daemon ?? other }

    /// The first adapter; nil if that is it, or exists no more.
    var daemonOrNil: FakeBlueZ? { daemon }
}
