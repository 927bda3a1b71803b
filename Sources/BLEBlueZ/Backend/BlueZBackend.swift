public import BLE
package import DBus
internal import Logging

/// bluetoothd as a backend.
///
/// One bus session, whose loop thread is this actor's executor and so the central's. Signals arrive in isolation, update the
/// ``ObjectTree``, and its changes become the central's events. Calls travel on another connection than signals, so nothing
/// is concluded from their order: where a signal is needed to judge a reply, ``fence()`` brings the signals up to date first.
public actor BlueZBackend: CentralBackend {
    /// The thread of both bus connections.
    package nonisolated let loop: EventLoop
    /// The same thread, for tasks.
    nonisolated let tasks: LoopTaskExecutor
    /// The loop's.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let wantedAdapter: String?
    private let address: BusAddress
    var context: BackendContext?
    private(set) var session: BusSession?
    /// Takes bluetoothd up again after it or the bus was lost.
    var recovery: Task<Void, Never>?
    /// From the end of ``start(_:)`` on.
    private(set) var isStarted = false
    /// Who was known before bluetoothd was lost.
    var formerPeripherals: Set<Peripheral.ID> = []
    var isShutDown = false

    var tree = ObjectTree()
    /// The object path of the adapter in use, such as `/org/bluez/hci0`.
    var adapter = ""
    var reportedAdapterState = AdapterState.resetting
    /// Who waits for something about a device or an adapter, by its path.
    var watchers: [String: [Int: () -> Void]] = [:]
    var lastToken = 0

    /// False from the moment that bluetoothd or the bus is lost until bluetoothd is back.
    var isRunning = false
    var isDiscovering = false
    /// How often a scan has been voided from outside. An answer that belongs to a scan of before is nobody's.
    var discoveryEpoch = 0
    /// Another adapter does not take the place of the one in use yet.
    var isFormerAdapterAwaited = false
    var passiveScan: PassiveScan?
    /// Counts them, for paths of their own.
    var lastPassiveScan = 0
    /// Where each attribute is, filled when services are discovered.
    var paths = AttributeTable<String>()
    /// Where the characteristics are whose notifications somebody takes; unlike `paths` it outlasts the link.
    var deliveryPaths = AttributeTable<String>()
    /// The characteristics that this client has started to notify, and not stopped; bluetoothd keeps that over the end of a link.
    var started: [Peripheral.ID: Set<String>] = [:]
    /// Why a device's link is about to be reported as ended, by the device's path.
    var disconnectReasons: [String: (name: String, message: String)] = [:]
    /// Who takes the notifications of the characteristic at a path.
    var deliveries: [String: @Sendable ([UInt8]) -> Void] = [:] {
        didSet { lastDelivery = nil }
    }
    /// The delivery of the last value: the next one is often for the same, which is found without making a string.
    var lastDelivery: (path: String, deliver: @Sendable ([UInt8]) -> Void)?
    /// How often this client has acquired a socket of a characteristic on its peripheral's link, less what bluetoothd has said to be
    /// over. (One may be acquired again before the end of the last is said.)
    var acquisitions: [Peripheral.ID: [Acquisition: Int]] = [:]
    /// The sockets that notifications come from.
    var sockets = AttributeTable<NotificationSocket>()
    /// Reads of this client's that bluetoothd has not answered yet, by the characteristic's path.
    var reads: [String: PendingReads] = [:]
    /// The devices whose links were made for this client. (bluetoothd ends a link for all its clients.)
    var ownLinks: Set<Peripheral.ID> = []
    /// Those of before bluetoothd was lost: one that is started soon takes its predecessor's links over.
    var formerLinks: Set<Peripheral.ID> = []

    /// The session that the agent is served on, and why bluetoothd does not know it, if so.
    var agentSession: BusSession?
    /// A link was wanted.
    var isAgentWanted = false
    /// That it is registered with the bluetoothd of now.
    var agentRegistration: Task<Void, Never>?
    var agentProblem: DBusError?
    /// What the agent has been asked and has not answered, by the device's path.
    var prompts: [Int: (device: String, task: Task<PairingAnswer, Never>)] = [:]
    var lastPrompted: Peripheral.ID?
    /// Why links are being ended here, by the device's path.
    var linkEndErrors: [String: BLEError] = [:]
    /// The devices that `Pair` is under way for.
    var pairingDevices: Set<String> = []
    /// The attribute operations under way, by the device's path.
    var attributeCalls: [Int: (device: String, fail: (BLEError) -> Void)] = [:]

    /// The longest that a call may take which bluetoothd answers without asking a peripheral.
    static let promptly = Duration.seconds(10)

    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is switched on, or else the first.
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

    /// Connects to the bus, learns bluetoothd's objects and chooses the adapter.
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
        // For the whole system, or for what is done here only.
        if context.pairing.isDefault { await wantAgent() }
    }

    /// Connects to the bus and listens.
    func openBus() async throws(DBusError) {
        let session = BusSession(
            loop: loop, logger: logger, service: BlueZ.service,
            onSignal: { [weak self] message in self?.assumeIsolated { $0.receive(message) } },
            onOwner: { [weak self] owner in self?.assumeIsolated { $0.ownerChanged(owner) } },
            onLoss: { [weak self] in self?.assumeIsolated { $0.loseBus() } })
        do throws(DBusError) {
            try await session.open(address, timeout: Self.promptly)
            // Listen first, then look: a change in between is heard.
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

    /// The longest that leaving may take: bluetoothd takes about 2 s for each link, all at once.
    private static let leaving = Duration.seconds(5)

    /// Leaves the bus, having ended the links that were made for this program.
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

    /// Asks for all objects, in order with the signals, and starts over from the answer.
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
                for id in $0.formerPeripherals.subtracting($0.knownPeripherals().map(\.id)) { $0.report(.removed(id)) }
                $0.formerPeripherals = []
            }
        }
    }

    func openSession() throws(DBusError) -> BusSession {
        guard let session else { throw DBusError(.disconnected, message: "the central is not started") }
        return session
    }

    /// The adapter that was asked for, or else the one that was in use before, or else the first that is switched on, or else
    /// the first.
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

    // MARK: Waiting

    /// Waits until `look` finds what it looks for, which it is asked whenever something about the object changes; throws
    /// `timedOut` when that does not happen within `limit`.
    func wait<Value: Sendable>(
        forObject path: String, within limit: Duration? = nil, until look: @escaping () throws(BLEError) -> Value?
    ) async throws(BLEError) -> Value {
        if let value = try look() { return value }
        let outcome = Outcome<Value>()
        let timer = limit.map { limit in
            Task { [clock] in
                guard (try? await clock.sleep(for: limit)) != nil else { return }
                outcome.deliver(.failure(BLEError(.timedOut, "bluetoothd did not say so within \(limit)")))
            }
        }
        defer { timer?.cancel() }
        let token = token()
        watchers[path, default: [:]][token] = {
            do throws(BLEError) {
                if let value = try look() { outcome.deliver(.success(value)) }
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        defer {
            watchers[path]?[token] = nil
            if watchers[path]?.isEmpty == true { watchers[path] = nil }
        }
        return try await outcome.wait()
    }

    /// A number that is used once.
    func token() -> Int {
        lastToken += 1
        return lastToken
    }

    func look(_ path: String) {
        for look in (watchers[path] ?? [:]).values { look() }
    }

    // MARK: Adapters and peripherals

    /// Powered or not; unavailable when it is unplugged; resetting while bluetoothd or the bus is gone.
    public func adapterState() -> AdapterState {
        guard isRunning else { return .resetting }
        guard let adapter = tree.adapters[adapter] else { return .unavailable }
        return adapter.isPowered ? .poweredOn : .poweredOff
    }

    /// All that bluetoothd has on the adapter in use, cached ones included.
    public func knownPeripherals() -> [KnownPeripheral] {
        tree.devices.filter { $0.value.adapter == adapter }.map { path, device in
            KnownPeripheral(
                id: Self.id(inPath: path), advertisement: device.advertisement, isConnected: device.isConnected)
        }
    }
}
