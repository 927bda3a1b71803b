public import Logging
internal import Waiting

/// This machine in the central role: finds peripherals, connects to them and uses their services.
///
/// ```swift
/// let central = try await Central()
/// for try await found in central.discoveries(matching: .service(.heartRate)) {
///     for try await beat in try await HeartRate(found.peripheral).measurements() {
///         print(beat.beatsPerMinute, beat.rrIntervalsSeconds)
///     }
/// }
/// ```
///
/// The central runs on its backend's executor and implements all policy; see ``CentralBackend``. End it with
/// ``shutDown()``, which also ends its links. If a central is released without a shutdown, the same happens in the
/// background.
public actor Central {
    /// The configuration of a central.
    public struct Configuration: Sendable {
        /// The default connection policy, ``ConnectionPolicy/manual`` unless set. Peripherals can override it.
        public var connectionPolicy: ConnectionPolicy
        /// The maximum time for connecting and discovering services together. 20 s by default.
        public var connectTimeout: Duration
        /// The maximum time for one operation on a connected peripheral. 30 s by default, which is the Attribute
        /// Protocol's own limit (Core Specification 5.4, volume 3, part F, section 3.3.3).
        public var operationTimeout: Duration
        /// Measures deadlines and staleness. By default the continuous clock, as the backend provides it.
        public var clock: any Clock<Duration>
        /// Whether a new central waits for Bluetooth: for the bus, bluetoothd and an adapter, which may come up after
        /// this program when the machine boots. By default, creating a central throws `bluetoothUnavailable` or
        /// `adapterNotFound`. It throws other errors in any case.
        public var waitsForBluetooth: Bool
        /// Told why a new central waits for Bluetooth, once for each reason.
        package var onWait: @Sendable (BLEError) -> Void = { _ in }
        /// Receives the framework's log messages, at info, debug and trace level, and a warning if code that runs on
        /// the backend's thread has blocked it for more than a second. At trace level, each operation with its value
        /// and duration, and each received value and advertisement. The values include those that require an encrypted
        /// link. Packets of a ``PacketWriter``, passkeys and keys are not logged. By default, the logger of the task
        /// that creates the configuration (`Logger.current`), or one with the label `ble`.
        public var logger: Logger
        /// How the central pairs. By default, without prompts.
        public var pairing: PairingBehavior
        /// The keys of devices with private addresses, by names of the program's choice, at most 256. None by default.
        /// See ``Central/setIdentities(_:)``.
        public var identities: [String: IdentityResolvingKey]

        /// Creates a configuration.
        public init(
            connectionPolicy: ConnectionPolicy = .manual, connectTimeout: Duration = .seconds(20),
            operationTimeout: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
            waitsForBluetooth: Bool = false, logger: Logger? = nil, pairing: PairingBehavior = .justWorks,
            identities: [String: IdentityResolvingKey] = [:]
        ) {
            self.connectionPolicy = connectionPolicy
            self.connectTimeout = connectTimeout
            self.operationTimeout = operationTimeout
            self.clock = clock
            self.waitsForBluetooth = waitsForBluetooth
            self.logger = logger ?? .ofTask
            self.pairing = pairing
            self.identities = identities
        }
    }

    /// The stack behind this central.
    package nonisolated let backend: any CentralBackend
    /// The configuration that the central was created with.
    public nonisolated let configuration: Configuration
    /// Whether the logger takes messages at trace level. Asked once, because it would be asked for each value.
    nonisolated let isTracing: Bool
    /// The configuration's clock, or the backend's own, which has the same time.
    package nonisolated let clock: any Clock<Duration>
    nonisolated let deadlineClock: DeadlineClock
    /// The time since this central was created.
    package nonisolated let elapsed: @Sendable () -> Duration

    /// The backend's executor. Central and backend share it, so that neither waits for the other to be scheduled.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { backend.unownedExecutor }
    /// Runs tasks on the backend's thread, if it has one. A task that waits for the central again and again prefers it.
    package nonisolated var taskExecutor: (any TaskExecutor)? { backend.taskExecutor }

    /// Receives what is counted and the operations, for metrics and traces. Nil if nothing observes this central.
    nonisolated let observer: (any ActivityObserver)?
    /// What the streams of this central have dropped.
    nonisolated let drops: DropCounters
    var counts = CentralStatistics()
    private(set) var isShutDown = false
    /// The task that shuts down the backend.
    private var shutdownTask: Task<Void, Never>?
    private var lastToken = 0
    /// What belongs to each peripheral.
    var links: [Peripheral.ID: Link] = [:]
    /// The operations that end with no link.
    var operations = Operations()
    /// The operations whose turn has come while another was being started.
    var starts = Fifo<Operations.Start>()
    var isStarting = false
    let stateWatch: StateWatch
    var scanning: Scanning
    var adapter = AdapterWatch()
    /// The last task that notifies the pairing delegate. The next one waits for it.
    var delegateNotifications: Task<Void, Never>?
    var unhandled = Observers<BLEError>()
    /// The runs that connect by themselves, which are told of the links of all peripherals.
    var autoConnecting: [Int: AutoConnecting.Run] = [:]
    /// The keys of devices with private addresses, by their names.
    public internal(set) var identities: [String: IdentityResolvingKey]
    /// Finds the names of addresses.
    var resolver: AddressResolver<String>
    /// The state of the adapter in use.
    public var adapterState: AdapterState { adapter.state }

    var logger: Logger { configuration.logger }

    /// Creates a central that uses `backend`.
    ///
    /// Throws `bluetoothUnavailable` and `adapterNotFound`, unless ``Configuration/waitsForBluetooth`` is set, and
    /// `unauthorized`. Throws `invalidArgument` for more than 256 identities.
    public init(backend: some CentralBackend, configuration: Configuration = Configuration()) async throws(BLEError) {
        try Self.check(configuration.identities)
        self.backend = backend
        self.configuration = configuration
        let stateWatch = StateWatch()
        self.stateWatch = stateWatch
        scanning = Scanning { stateWatch.set(isScanning: $0) }
        identities = configuration.identities
        resolver = AddressResolver(configuration.identities)
        isTracing = configuration.logger.logLevel <= .trace
        observer = ActivityObservers.make(.central)
        drops = DropCounters(observer)
        clock = configuration.clock is ContinuousClock ? backend.clock : configuration.clock
        deadlineClock = DeadlineClock(clock)
        elapsed = Self.stopwatch(configuration.clock)
        let context = CentralContext(
            handleEvent: { [weak self] event in self?.receive(event) },
            logger: configuration.logger, clock: clock,
            pairing: PairingAgent(
                capability: { configuration.pairing.capability }, isDefault: configuration.pairing.isDefaultAgent,
                answer: { [weak self] id, prompt in await self?.answer(prompt, for: id) ?? .refuse }))
        try await startBackend(
            waits: configuration.waitsForBluetooth, clock: clock, logger: configuration.logger,
            didFail: configuration.onWait
        ) { () throws(BLEError) in try await backend.start(context) }
        beginWatchingAdapter()
    }

    private func beginWatchingAdapter() {
        adapter.begin(backend.assumeIsolated { $0.adapterState() })
        stateWatch.set(adapterState)
    }

    // Not isolated: an isolated deinit makes Swift 6.3 fail with "circular reference" in optimized modules that create
    // a central. A pending method call retains the central, so only streams and tasks that do not retain it are left
    // here.
    deinit {
        guard !isShutDown else { return }
        scanning.shutDown()
        unhandled.finish(.shutDown)
        adapter.finish(.shutDown)
        let linkCount = stateWatch.finish(.shutDown)
        for _ in 0..<linkCount { observer?.counted(.linkEnded(.local)) }
        Task { [backend] in await backend.shutDown() }
    }

    package static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Ends scans, subscriptions and links, and disconnects from the stack. Pending operations fail with `shutDown`.
    ///
    /// All links that were made for this central are ended at the same time. This takes about 2 s with BlueZ, and never
    /// more than 5 s, even in a cancelled task.
    public func shutDown() async {
        if !isShutDown {
            isShutDown = true
            end()
            // In a separate task, which is never cancelled.
            shutdownTask = Task { [backend] in await backend.shutDown() }
        }
        await shutdownTask?.value
    }

    /// Ends everything that a caller may be waiting for.
    private func end() {
        for cancel in operations.fail(.shutDown) { cancel() }
        scanning.shutDown()
        for id in Array(links.keys) {
            endPrompts(of: id)
            if let link = links[id] {
                reconnectEnded(link, .shutDown)
                link.finish(.shutDown)
            }
        }
        links = [:]
        unhandled.finish(.shutDown)
        adapter.finish(.shutDown)
        let linkCount = stateWatch.finish(.shutDown)
        for _ in 0..<linkCount { count(.linkEnded(.local)) }
    }

    /// Runs `body` in the central's isolation, on the backend's executor.
    nonisolated func enter<Value: Sendable>(_ body: (isolated Central) throws -> Value) rethrows -> Value {
        try enter(isCurrent: backend.isCurrent, body)
    }

    func checkRunning() throws(BLEError) {
        if isShutDown { throw .shutDown }
        if Task.isCancelled { throw .cancelled }
    }

    /// Returns a unique number.
    func token() -> Int {
        lastToken += 1
        return lastToken
    }

    // MARK: Adapters and peripherals

    /// All adapters of this machine, in order of their ids.
    public func adapters() async throws(BLEError) -> [Adapter] {
        try checkRunning()
        return try await perform(timeout: configuration.operationTimeout, name: "listing adapters") {
            (backend) throws(BLEError) in try await backend.adapters()
        }
    }

    /// The adapter's current state and every later change. Keeps the newest 16 unread states.
    public func adapterStates() -> BoundedStream<AdapterState> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return adapter.states { [weak self] token in
            Task { await self?.removeAdapterStateObserver(token) }
        }
    }

    /// Waits while Bluetooth restarts. Returns immediately if the adapter is not resetting.
    func waitWhileAdapterResets() async throws(BLEError) {
        while adapterState == .resetting {
            try checkRunning()
            let token = token()
            defer { adapter.endWait(token) }
            try await adapter.beginWait(token).wait()
        }
    }

    /// Returns the error of a wait that has ended without its result, with what stands in the way of Bluetooth.
    func explained(_ error: BLEError) -> BLEError { error.waiting(for: obstacle) }

    /// What stands in the way of Bluetooth, or of the scan that was started. Nil if nothing does.
    package var obstacle: BLEError? { adapterObstacle ?? scanning.obstacle }

    /// Why nothing can be sent. Nil if the adapter is on, or of several radios one.
    package var adapterObstacle: BLEError? { several?.assumeIsolated { $0.obstacle } ?? adapter.obstacle }

    /// Why nothing can be sent, now and after every change of the reason; nil when it can. Reasons that alternate while
    /// the adapter's state stays the same are told once. Keeps the newest 16 unread ones.
    package func adapterObstacles() -> BoundedStream<BLEError?> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return adapter.obstacles(adapterObstacle) { [weak self] token in
            Task { await self?.removeObstacleObserver(token) }
        }
    }

    private func removeObstacleObserver(_ token: Int) { adapter.removeObstacleObserver(token) }

    private func removeAdapterStateObserver(_ token: Int) { adapter.removeObserver(token) }

    /// Returns a handle for the peripheral with the given id. Does not check that the peripheral exists; connecting
    /// does.
    public nonisolated func peripheral(_ id: Peripheral.ID) -> Peripheral {
        Peripheral(id: id, central: self)
    }

    /// All peripherals that the system knows, including connected ones, which do not advertise.
    public func knownPeripherals() async -> [KnownPeripheral] {
        await backend.knownPeripherals()
    }

    // MARK: Events

    /// Handles an event, on the backend's executor.
    private nonisolated func receive(_ event: CentralBackendEvent) {
        enter(isCurrent: backend.isCurrent, with: event) { $0.handle($1) }
    }

    private func handle(_ event: CentralBackendEvent) {
        switch event {
        case .advertisementReceived(let id, let advertisement):
            count(.advertisementReceived)
            if isTracing { trace(advertisement, from: id) }
            let identity = identity(of: id, advertisement)
            scanning.receivers.didReceive(advertisement, from: id, identity, now: elapsed) { peripheral($0) }
        case .adapterStateChanged(let state):
            adapterChanged(state)
        case .scanEnded(let error):
            scanning.finish(error)
        case .peripheralRemoved(let id):
            scanning.didRemove(peripheral(id))
        case .linkEnded(let id, let error):
            linkEnded(id, error)
        case .servicesChanged(let id):
            servicesChanged(id)
        case .notificationsEnded(let attribute, let error):
            notificationsEnded(of: attribute, error)
        case .pairingEnded(let id):
            endPrompts(of: id)
            removeLinkIfUnused(id)
        case .radioChanged:
            adapterObstacleMayHaveChanged()
            scanObstacleMayHaveChanged()
        case .stackLost(let error):
            logger.info("bluetooth lost", metadata: ["error": "\(error)"])
            count(.bluetoothLost)
            unhandled.yield(error)
            adapter.lost(error)
            for cancel in operations.fail(error) { cancel() }
            scanning.interrupt(error)
            for id in Array(links.keys) { linkEnded(id, error) }
        }
    }

    /// Publishes a new adapter state. Scans and connections resume when the adapter is on again.
    private func adapterChanged(_ state: AdapterState) {
        guard adapter.change(to: state) else { return }
        _ = adapter.tell(adapterObstacle)
        stateWatch.set(state)
        logger.debug("adapter", metadata: ["state": "\(state)"])
        for run in autoConnecting.values { run.adapterChanged(isOn: state == .poweredOn) }
        if state == .poweredOn {
            reconcile()
            retryConnections()
        } else {
            if let obstacle = adapterObstacle { scanning.interrupt(obstacle) }
        }
    }

    /// Tells those who wait for Bluetooth if it does not return for another reason than before. What has failed because
    /// of its loss does not fail again.
    private func adapterObstacleMayHaveChanged() {
        guard adapterState != .poweredOn else { return }
        if adapterState == .resetting, let reason = backend.assumeIsolated({ $0.stackObstacle() }) {
            adapter.lost(reason)
        }
        guard let obstacle = adapterObstacle else { return }
        if adapter.tell(obstacle) {
            logger.info("bluetooth does not return", metadata: ["error": "\(obstacle)"])
        }
        // Each scan and each link knows what it has reported: it may have begun since.
        scanning.keepWaiting(for: obstacle)
        for link in links.values where link.waitsForAdapter { wait(on: link.id, for: obstacle) }
    }
}
