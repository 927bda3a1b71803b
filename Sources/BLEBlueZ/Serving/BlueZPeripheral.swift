public import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Synchronization
internal import Waiting

extension PeripheralBackend where Self == BlueZPeripheral {
    /// A backend that uses bluetoothd.
    ///
    /// - Parameters:
    ///   - adapter: the adapter to use, such as `hci0`; nil for the first that is powered on, or else the first.
    ///   - bus: the bus that bluetoothd is on, in D-Bus's address notation; nil for the system bus.
    public static func bluez(adapter: String? = nil, bus: String? = nil) -> BlueZPeripheral {
        BlueZPeripheral(BlueZStack(adapter: adapter, address: bus.map { .address($0) } ?? .system))
    }
}

extension PeripheralHost {
    /// Creates a host that uses this machine's bluetoothd and its default adapter.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, each with a remedy.
    public init(configuration: Configuration = Configuration()) async throws(BLEError) {
        try await self.init(backend: .bluez(), configuration: configuration)
    }
}

/// Runs `body` with a host that serves from this machine's default adapter, and shuts it down at the end.
///
/// ```swift
/// try await withPeripheralHost { host in try await host.serve(.battery()) }
/// ```
///
/// Throws what `body` throws, and `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`, each with a remedy.
///
/// - Parameter waits: whether to wait for the bus, bluetoothd and the adapter, which may start later than the program.
public func withPeripheralHost<Result: Sendable>(
    configuration: PeripheralHost.Configuration = PeripheralHost.Configuration(), waits: Bool = false,
    _ body: @escaping @concurrent @Sendable (PeripheralHost) async throws -> Result
) async throws -> Result {
    try await withPeripheralHost(backend: .bluez(), configuration: configuration, waits: waits, body)
}

/// The peripheral role with bluetoothd.
///
/// Serves objects on the bus, which bluetoothd fetches when they are registered (GattManager1, LEAdvertisingManager1)
/// and calls for each request. Uses a `BlueZStack` and runs on that stack's executor.
public actor BlueZPeripheral: PeripheralBackend, BlueZRole {
    package nonisolated let stack: BlueZStack
    /// The executor of the stack's loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { stack.unownedExecutor }

    /// The limits of bluetoothd: it serves GAP and GATT itself, reports from 5.80 on which central subscribes, and
    /// waits 5 s for an answer (`ATTRIBUTE_TIMEOUT` in its `src/shared/gatt-db.c`). Its version is known once something
    /// is served.
    public nonisolated var limits: PeripheralLimits {
        PeripheralLimits(
            reservedServices: [BluetoothUUID(0x1800), BluetoothUUID(0x1801)],
            distinguishesSubscribers: tellsSubscribersApart.load(ordering: .relaxed), requestTimeout: requestTimeout)
    }
    private nonisolated let requestTimeout: Duration
    let tellsSubscribersApart = Atomic<Bool>(false)

    /// The backend's thread as a task executor. A handler that prefers it sends values and sleeps without a switch
    /// between threads (Docs/Performance.md).
    ///
    /// ```swift
    /// let backend = BlueZPeripheral.bluez()
    /// let host = try await PeripheralHost(backend: backend)
    /// let output = CharacteristicDefinition(
    ///     BluetoothUUID(0xFF01), .notify,
    ///     onSubscribe: { notifier in
    ///         try await withTaskExecutorPreference(backend.taskExecutor) {
    ///             for number in UInt8.min... {
    ///                 await notifier.notify([number])
    ///                 try await notifier.clock.sleep(for: .milliseconds(10))
    ///             }
    ///         }
    ///     })
    /// ```
    ///
    /// Code that runs there must not block.
    public nonisolated var taskExecutor: any TaskExecutor { stack.tasks }
    /// The continuous clock, with sleeps that end on the loop's thread.
    public nonisolated var clock: any Clock<Duration> { stack.loop.clock }

    private(set) var context: PeripheralContext?
    private var role: Int?
    /// Answers the pairings of centrals.
    private var agent: BlueZAgent?
    /// Whether the role has joined its stack.
    var isStarted: Bool { role != nil }
    /// A number for the paths of registered objects, which are never used again: bluetoothd may still have old ones.
    private var lastPath = 0
    var applications: [Int: BlueZApplication] = [:]
    var advertisements: [Int: BlueZAdvertisement] = [:]
    /// The channels that are accepted, by publication.
    var published: [Int: PublishedChannel] = [:]
    var subscribers = Subscribers<PacketSocket>()
    var values = SubscriberValues()
    /// The time since the role began.
    private(set) var elapsed: @Sendable () -> Duration = { .zero }
    /// The devices whose links are being checked.
    private var checked: Set<String> = []
    /// The devices with a link, by path.
    private var centrals: [String: DeviceID] = [:]
    /// The links over which requests have arrived, by the device's path.
    private var links: [String: CentralLink] = [:]

    /// - Parameters:
    ///   - stack: the part that this role shares with others on the same adapter.
    ///   - requestTimeout: how long bluetoothd waits for an answer.
    package init(_ stack: BlueZStack, requestTimeout: Duration = .seconds(5)) {
        self.stack = stack
        self.requestTimeout = requestTimeout
    }

    var logger: Logger { context?.logger ?? Logger(label: "ble") }

    func report(_ event: PeripheralBackendEvent) { context?.handleEvent(event) }

    /// Returns a path for an object to register.
    func newPath(_ kind: String) -> String {
        lastPath += 1
        return "/swift_ble/\(kind)\(lastPath)"
    }

    // MARK: Starting and stopping

    /// Joins the stack, which connects to the bus, lists bluetoothd's objects and chooses the adapter.
    public func start(_ context: PeripheralContext) async throws(BLEError) {
        self.context = context
        elapsed = Central.stopwatch(context.clock)
        role = try await stack.join(
            BlueZStack.Role(kind: .peripheral, logger: context.logger, clock: context.clock) { [weak self] event in
                self?.enter { $0.handle(event) }
            })
        reportConnected()
        guard let pairing = context.pairing else { return }
        let agent = BlueZAgent(
            stack, PairingAgent(capability: pairing.capability, isDefault: true, answer: pairing.answer),
            path: BlueZAgent.hostPath, among: BlueZAgents(), logger: context.logger, report: { _ in })
        self.agent = agent
        await agent.register()
    }

    /// Reports the devices that have a link when the role starts or another adapter is used.
    private func reportConnected() {
        for path in onStack({ $0.connectedDevices }) { connected(path) }
    }

    private func connected(_ path: String) {
        guard centrals[path] == nil else { return }
        let id = DeviceID(devicePath: path)
        centrals[path] = id
        report(.centralConnected(id))
        subscriberReturned(id)
    }

    /// The maximum time for a shutdown.
    private static let leaving = Duration.seconds(5)

    /// Ends the registrations, and leaves the stack.
    public func shutDown() async {
        guard let role else { return }
        self.role = nil
        unpublishChannels()
        let outcome = Outcome<Void>()
        let timer = stack.loop.schedule(after: Self.leaving) { outcome.deliver(.success(())) }
        let work = Task {
            await withDiscardingTaskGroup { group in
                // Several steps: without its role, nothing else begins. All at once, so that everything is sent,
                // however slow bluetoothd is.
                for number in advertisements.keys { group.addTask { await self.stopAdvertising(number) } }
                for number in applications.keys { group.addTask { await self.unregister(number) } }
                group.addTask { await self.agent?.stop() }
            }
            outcome.deliver(.success(()))
        }
        try? await outcome.wait()
        timer.cancel()
        work.cancel()
        await stack.leave(role)
    }

    deinit {
        var subscribers = subscribers
        let sockets = subscribers.removeAll { _ in true }
        stack.loop.perform { for socket in sockets { socket.close() } }
        // A host that is released without a shutdown. bluetoothd forgets what was registered when the session closes.
        guard let role else { return }
        stack.loop.perform { [published] in for channel in published.values { channel.listening?.close() } }
        Task { [stack] in await stack.leave(role) }
    }

    /// The state of the adapter in use: unavailable if it is unplugged, and resetting while bluetoothd or the bus is
    /// gone.
    public func adapterState() -> AdapterState { onStack { $0.adapterState } }

    // MARK: Events of the stack

    private func handle(_ event: StackEvent) {
        switch event {
        case .adapterStateChanged(let state):
            // bluetoothd keeps advertisements that it no longer sends. New ones are started with the adapter's next
            // state.
            if state != .poweredOn {
                forgetAdvertisements(isKnown: state == .poweredOff)
                endLinks()
            }
            if state == .unavailable { forgetApplications() }
            if state == .poweredOn { followAdapter() }
            report(.adapterStateChanged(state))
            if state == .poweredOn { reportConnected() }
        case .stackLost(let message, _):
            forgetApplications()
            forgetAdvertisements(isKnown: false)
            centrals = [:]
            endLinks()
            report(.stackLost(.lost(message)))
        case .changed(.device(let path)):
            if isConnected(path) { connected(path) }
        case .changed(.disconnected(let path, _, _)): disconnected(path)
        case .changed(.removed(let path, _)):
            disconnected(path)
            subscribers.forget(DeviceID(devicePath: path))
        case .objectsListed: reportConnected()
        case .changed, .useEnded: break
        }
    }

    /// Reports the end of a link, even if the device was connected before this role started: it may have sent requests.
    private func disconnected(_ path: String) {
        let central = centrals.removeValue(forKey: path) ?? DeviceID(devicePath: path)
        links.removeValue(forKey: path)?.end()
        subscriberLeft(central, isBonded: objects.devices[path]?.isBonded == true)
        report(.centralDisconnected(central))
    }

    /// Ends all links over which requests have arrived, because no device has a link any more.
    private func endLinks() {
        for link in links.values { link.end() }
        links = [:]
    }

    /// Returns the link of the device that a call names. Called when the call is received: a signal that is received
    /// later may be handled before the answer begins.
    func link(of call: IncomingCall) -> CentralLink? {
        guard let path = call.arguments.last?[key: "device"]?.string else { return nil }
        if let link = links[path] { return link }
        let link = CentralLink()
        links[path] = link
        return link
    }

    /// Ends the link for all programs, which takes about 2 s.
    public func disconnect(_ central: DeviceID) async throws(BLEError) {
        guard let path = knownPath(of: central), isConnected(path) else { return }
        let link = objects.devices[path]?.link
        var disconnect = BlueZ.call(path, BlueZ.device, "Disconnect")
        // While this call waits for its turn, the link may end by itself.
        disconnect.onTurn = { [weak self] in
            self?.assumeIsolated { $0.objects.devices[path]?.link == link ? nil : MethodReply() } ?? nil
        }
        do throws(BLEError) {
            _ = try await stack.call(disconnect, during: .disconnection)
        } catch {
            guard [.disconnected, .peripheralNotFound, .poweredOff, .bluetoothLost].contains(error.code) else {
                throw error
            }
        }
        try? await stack.refresh(path)
    }

    /// Checks whether the link of a central that has sent a request is up, if no link is known. The request may be the
    /// last one of a link whose end was reported before. Does not wait, because later requests would overtake this one.
    func checkLink(_ path: String) {
        guard onStack({ $0.choice.includes(path) }), !isConnected(path), checked.insert(path).inserted else { return }
        Task {
            let isAnswered = (try? await stack.refresh(path)) != nil
            checked.remove(path)
            // Another adapter may be in use now.
            guard onStack({ $0.choice.includes(path) }) else { return }
            // The central's requests end only if bluetoothd reports the end. It may have forgotten the device.
            guard let device = objects.devices[path] else { return disconnected(path) }
            guard isAnswered, !device.isConnected else { return }
            disconnected(path)
        }
    }

    /// Forgets the applications, which bluetoothd no longer has.
    private func forgetApplications() {
        let lost = applications
        applications = [:]
        endSubscribers(.lost("bluetoothd is gone"))
        Task { for application in lost.values { await application.objects.stop() } }
    }

    /// Forgets the advertisements.
    ///
    /// - Parameter isKnown: whether bluetoothd still has them.
    private func forgetAdvertisements(isKnown: Bool) {
        let lost = advertisements.values
        advertisements = [:]
        Task { for advertisement in lost { await end(advertisement, isKnown: isKnown) } }
    }

    /// Registers an object with one of the adapter's managers.
    func register(
        _ manager: String, _ method: String, _ path: String
    ) async throws(BLEError) {
        do throws(BLEError) {
            _ = try await stack.call(
                BlueZ.call(adapterPath, manager, method, .objectPath(path), .options()), during: .serving)
        } catch {
            guard let name = error.stackErrorName, Self.missing.contains(name), adapterState() == .poweredOn else {
                throw error
            }
            throw BLEError(
                .notSupported, "bluetoothd does not offer \(manager) on this adapter", stackErrorName: name,
                remedy: "It requires an LE controller that supports the peripheral role, and bluetoothd 5.48 or newer.",
                cause: error.cause)
        }
    }

    private static let missing = ["UnknownMethod", "UnknownInterface"].map { "org.freedesktop.DBus.Error.\($0)" }
}
