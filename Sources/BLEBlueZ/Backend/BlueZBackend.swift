public import BLE
package import DBus
internal import Logging

/// A backend that uses bluetoothd.
///
/// It has one bus session, whose loop thread is the executor of this actor and therefore of the central. Signals arrive
/// in isolation and update the `ObjectTree`, whose changes become the central's events. Calls and signals use
/// different connections, so nothing is concluded from their order: if a reply can only be judged with a signal,
/// `fence()` brings the signals up to date first.
public actor BlueZBackend: CentralBackend {
    /// The thread of both bus connections.
    package nonisolated let loop: EventLoop
    /// The same thread, as an executor for tasks.
    nonisolated let tasks: LoopTaskExecutor
    /// The executor of the loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// The limits of bluetoothd: it silently shortens an adapter's name to 247 bytes, and waits 60 s for an agent's
    /// answer (`REQUEST_TIMEOUT` in its `src/agent.c`).
    public nonisolated var limits: BackendLimits {
        BackendLimits(adapterNameLength: 247, pairingPromptTimeout: .seconds(60))
    }

    let wantedAdapter: String?
    private let address: BusAddress
    var context: BackendContext?
    private(set) var session: BusSession?
    /// Reconnects to bluetoothd after it or the bus was lost.
    var recovery: Task<Void, Never>?
    /// Whether ``start(_:)`` has succeeded.
    private(set) var isStarted = false
    /// The peripherals that were known before bluetoothd was lost.
    var formerPeripherals: Set<Peripheral.ID> = []
    var isShutDown = false

    var tree = ObjectTree()
    /// The object path of the adapter in use, such as `/org/bluez/hci0`.
    var adapter = ""
    var reportedAdapterState = AdapterState.resetting
    /// The waits for a change of a device or an adapter, by its path.
    var watchers: [String: [Int: () -> Void]] = [:]
    var lastToken = 0

    /// False from the loss of bluetoothd or the bus until bluetoothd is back.
    var isRunning = false
    var isDiscovering = false
    /// How often a scan has ended without a request. Answers to calls from before are outdated.
    var discoveryEpoch = 0
    /// Whether another adapter must not replace the one in use yet.
    var isFormerAdapterAwaited = false
    var passiveScan: PassiveScan?
    /// The number of passive scans so far, for unique paths.
    var lastPassiveScan = 0
    /// The path of each attribute, set when services are discovered.
    var paths = AttributeTable<String>()
    /// The paths of the characteristics with a delivery of notifications. Unlike `paths`, it outlasts the link.
    var deliveryPaths = AttributeTable<String>()
    /// The characteristics on which this client has started notifications and not stopped them. bluetoothd keeps them
    /// across the end of a link.
    var started: [Peripheral.ID: Set<String>] = [:]
    /// The reasons for links that are about to be reported as ended, by the device's path.
    var disconnectReasons: [String: (name: String, message: String)] = [:]
    /// The deliveries of notifications, by the characteristic's path.
    var deliveries: [String: @Sendable ([UInt8]) -> Void] = [:] {
        didSet { lastDelivery = nil }
    }
    /// The delivery of the last value. The next value is often for the same path, which is then found without making a
    /// string.
    var lastDelivery: (path: String, deliver: @Sendable ([UInt8]) -> Void)?
    /// How often this client has acquired each socket on a peripheral's link, less the ends that bluetoothd has
    /// signaled. A socket may be acquired again before the end of the last acquisition is signaled.
    var acquisitions: [Peripheral.ID: [Acquisition: Int]] = [:]
    /// The sockets that deliver notifications.
    var sockets = AttributeTable<NotificationSocket>()
    /// This client's reads that bluetoothd has not answered yet, by the characteristic's path.
    var reads: [String: PendingReads] = [:]
    /// The devices whose links were made for this client. bluetoothd ends a link for all its clients.
    var ownLinks: Set<Peripheral.ID> = []
    /// The links from before bluetoothd was lost. A bluetoothd that starts soon takes over its predecessor's links.
    var formerLinks: Set<Peripheral.ID> = []

    /// The session that serves the agent.
    var agentSession: BusSession?
    /// Whether a link has been requested, which needs the agent.
    var isAgentWanted = false
    /// The registration of the agent with the current bluetoothd.
    var agentRegistration: Task<Void, Never>?
    var agentProblem: DBusError?
    /// The agent's unanswered prompts, by token, each with the device's path.
    var prompts: [Int: (device: String, task: Task<PairingAnswer, Never>)] = [:]
    var lastPrompted: Peripheral.ID?
    /// The reasons for links that this client is ending, by the device's path.
    var linkEndErrors: [String: BLEError] = [:]
    /// The paths of the devices with a pending `Pair`.
    var pairingDevices: Set<String> = []
    /// The pending attribute operations, by token, each with the device's path.
    var attributeCalls: [Int: (device: String, fail: (BLEError) -> Void)] = [:]

    /// The maximum time for a call that bluetoothd answers without asking a peripheral.
    static let promptly = Duration.seconds(10)

    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - address: the bus that bluetoothd is on.
    package init(adapter: String?, address: BusAddress) {
        wantedAdapter = adapter
        self.address = address
        loop = EventLoop(name: "bluez")
        tasks = LoopTaskExecutor(loop)
    }

    var logger: Logger { context?.logger ?? Logger(label: "ble") }
    var clock: any Clock<Duration> { context?.clock ?? ContinuousClock() }

    // MARK: Starting and stopping

    /// Connects to the bus, lists bluetoothd's objects and chooses the adapter.
    public func start(_ context: BackendContext) async throws(BLEError) {
        self.context = context
        do throws(DBusError) {
            try await openBus()
            try await snapshot()
        } catch {
            await closeBus()
            throw BLEError(error, during: .start)
        }
        do throws(BLEError) {
            try chooseAdapter()
        } catch {
            await closeBus()
            throw error
        }
        reportedAdapterState = adapterState()
        isStarted = true
        // A default agent serves the whole system; other agents serve only this program.
        if context.pairing.isDefault { await wantAgent() }
    }

    /// Connects to the bus and subscribes to its signals.
    func openBus() async throws(DBusError) {
        let session = BusSession(
            loop: loop, logger: logger, service: BlueZ.service,
            onSignal: { [weak self] message in self?.assumeIsolated { $0.receive(message) } },
            onOwner: { [weak self] owner in self?.assumeIsolated { $0.ownerChanged(owner) } },
            onLoss: { [weak self] in self?.assumeIsolated { $0.loseBus() } })
        do throws(DBusError) {
            try await session.open(address, timeout: Self.promptly)
            // Subscribe before asking, so that no change is missed.
            for rule in BlueZ.matchRules { try await session.listen(rule, timeout: Self.promptly) }
        } catch {
            await session.close()
            throw error
        }
        self.session = session
    }

    private func closeBus() async {
        let session = session
        self.session = nil
        await session?.close()
    }

    /// The maximum time for a shutdown. bluetoothd takes about 2 s for each link, and ends them all at the same time.
    private static let leaving = Duration.seconds(5)

    /// Ends the links that were made for this program, and disconnects from the bus.
    public func shutDown() async {
        isShutDown = true
        recovery?.cancel()
        guard session != nil else { return }
        endSockets()
        let outcome = Outcome<Void>()
        let timer = loop.schedule(after: Self.leaving) { outcome.deliver(.success(())) }
        let work = Task {
            await withDiscardingTaskGroup { group in
                if isListening { group.addTask { try? await self.stopDiscovery() } }
                for id in ownLinks { group.addTask { try? await self.disconnect(id) } }
            }
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
        timer.cancel()
        work.cancel()
        await closeBus()
    }

    /// Lists all objects, in order with the signals, and replaces the tree.
    func snapshot() async throws(DBusError) {
        let call = MethodCall(BlueZ.service, "/", BlueZ.objectManager, "GetManagedObjects")
        try await openSession().ask(call, timeout: Self.promptly) { [weak self] (body) throws(DBusError) in
            var objects = try body.array()
            var tree = ObjectTree()
            while !objects.isAtEnd {
                var object = try objects.entry()
                let path = try object.objectPath()
                var interfaces = try object.array()
                while !interfaces.isAtEnd {
                    var interface = try interfaces.entry()
                    let name = try interface.text()
                    guard let properties = try InterfaceProperties(interface: name, &interface) else { continue }
                    _ = tree.add(path, properties)
                }
            }
            self?.assumeIsolated {
                $0.tree = tree
                $0.isRunning = true
                for id in $0.formerPeripherals.subtracting($0.knownPeripherals().map(\.id)) {
                    $0.report(.peripheralRemoved(id))
                }
                $0.formerPeripherals = []
            }
        }
    }

    func openSession() throws(DBusError) -> BusSession {
        guard let session else { throw DBusError(.disconnected, message: "the central is not started") }
        return session
    }

    /// Returns the requested adapter. If none was requested, returns the one in use before, or else the first that is
    /// powered on, or else the first.
    func preferredAdapter() -> String? {
        let paths = Self.inOrder(tree.adapters.keys)
        if let wantedAdapter { return paths.first { $0 == "/org/bluez/\(wantedAdapter)" } }
        if tree.adapters[adapter] != nil { return adapter }
        return paths.first { tree.adapters[$0]?.isPowered == true } ?? paths.first
    }

    private func chooseAdapter() throws(BLEError) {
        if let path = preferredAdapter() {
            adapter = path
        } else if let wantedAdapter {
            let others = Self.inOrder(tree.adapters.keys).map(Self.adapterID).joined(separator: ", ")
            throw BLEError(
                .adapterNotFound, "there is no adapter \(wantedAdapter)",
                remedy: others.isEmpty ? "Plug one in." : "Choose one of \(others).")
        } else {
            throw BLEError(
                .adapterNotFound, "this machine has no Bluetooth adapter that bluetoothd can use",
                remedy: "Plug one in; if there is one: rfkill unblock bluetooth, and look at journalctl -u bluetooth.")
        }
    }

    /// Returns a unique number.
    func token() -> Int {
        lastToken += 1
        return lastToken
    }

    // MARK: Adapters and peripherals

    /// Returns the state of the adapter in use: unavailable if it is unplugged, and resetting while bluetoothd or the
    /// bus is gone.
    public func adapterState() -> AdapterState {
        guard isRunning else { return .resetting }
        guard let adapter = tree.adapters[adapter] else { return .unavailable }
        return adapter.isPowered ? .poweredOn : .poweredOff
    }

    /// Returns all devices that bluetoothd knows on the adapter in use, including cached ones.
    public func knownPeripherals() -> [KnownPeripheral] {
        tree.devices.filter { $0.value.adapter == adapter }.map { path, device in
            KnownPeripheral(
                id: Self.id(inPath: path), advertisement: device.advertisement, isConnected: device.isConnected)
        }
    }
}
