public import Logging

/// This machine in the central role: finds peripherals, connects to them and talks to their services.
///
/// ```swift
/// let central = try await Central()
/// for try await found in central.discoveries(matching: .service(.heartRate)) {
///     for try await beat in try await HeartRate(found.peripheral).measurements() {
///         print(beat.beatsPerMinute, beat.rrIntervals)
///     }
/// }
/// ```
///
/// The central runs on its backend's executor and owns all policy; see ``CentralBackend``. End it with ``shutDown()``, which ends
/// its links too. A central that is merely dropped does the same in the background.
public actor Central {
    /// What a central can be told when it is made.
    public struct Configuration: Sendable {
        /// How long links stay, of peripherals for which nothing else is said. Until they are ended by default.
        public var connectionPolicy: ConnectionPolicy
        /// The longest that connecting and discovering services may take together. 20 s by default.
        public var connectTimeout: Duration
        /// The longest that one operation on a connected peripheral may take. 30 s by default, which is the Attribute
        /// Protocol's own limit (Core Specification 5.4, volume 3, part F, section 3.3.3).
        public var operationTimeout: Duration
        /// Measures deadlines and staleness.
        public var clock: any Clock<Duration>
        /// Takes the framework's log lines, at debug and trace level.
        public var logger: Logger
        /// How to pair: by default without asking anybody.
        public var pairing: PairingBehavior

        /// A configuration.
        public init(
            connectionPolicy: ConnectionPolicy = .manual, connectTimeout: Duration = .seconds(20),
            operationTimeout: Duration = .seconds(30), clock: any Clock<Duration> = ContinuousClock(),
            logger: Logger = Logger(label: "ble"), pairing: PairingBehavior = .justWorks
        ) {
            self.connectionPolicy = connectionPolicy
            self.connectTimeout = connectTimeout
            self.operationTimeout = operationTimeout
            self.clock = clock
            self.logger = logger
            self.pairing = pairing
        }
    }

    /// The stack behind this central.
    nonisolated let backend: any CentralBackend
    /// The configuration it was made with.
    public nonisolated let configuration: Configuration
    /// Time since this central was made.
    package nonisolated let elapsed: @Sendable () -> Duration

    /// The backend's executor: central and backend take turns on it, so that neither waits for the other to be scheduled.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { backend.unownedExecutor }

    private(set) var isShutDown = false
    /// The backend's way out.
    private var leaving: Task<Void, Never>?
    private var lastToken = 0
    var operations = Operations()
    var scanning = Scanning()
    var connections: [Peripheral.ID: Connection] = [:]
    /// The peripherals that this central has had a link to, the last 1024. What the system has forgotten since is searched for.
    var acquainted = RecentSet<Peripheral.ID>(capacity: 1024)
    var subscriptions: [AttributeID: Subscription] = [:]
    /// The open writers.
    var writers: [AttributeID: PacketWriterCore] = [:]
    /// The control points whose answer somebody waits for.
    var requests: Set<AttributeID> = []
    /// The control points that may still answer a request that was given up; each ends when they have, or have not for long.
    var owedAnswers: [AttributeID: Task<Void, Never>] = [:]
    var pairings = Pairings()
    /// The state of the adapter in use.
    public private(set) var adapterState = AdapterState.resetting
    private var adapterStateStreams: [Int: BoundedStream<AdapterState>.Producer] = [:]
    /// Who waits for Bluetooth to have been restarted.
    private var adapterWaiters: [Int: Outcome<Void>] = [:]

    var logger: Logger { configuration.logger }

    /// A central on any backend.
    ///
    /// Throws `bluetoothUnavailable`, `adapterNotFound` or `unauthorized`.
    public init(backend: some CentralBackend, configuration: Configuration = Configuration()) async throws(BLEError) {
        self.backend = backend
        self.configuration = configuration
        elapsed = Self.stopwatch(configuration.clock)
        let context = BackendContext(
            handle: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
            logger: configuration.logger, clock: configuration.clock,
            pairing: PairingAgent(
                capability: { configuration.pairing.capability }, isDefault: configuration.pairing.isDefaultAgent,
                answer: { [weak self] id, prompt in await self?.answer(prompt, for: id) ?? .refuse }))
        try await backend.start(context)
        lookAtAdapter()
    }

    private func lookAtAdapter() {
        adapterState = backend.assumeIsolated { $0.adapterState() }
    }

    // Not an isolated one: with that, Swift 6.3 compiles no module that makes a central and is optimized ("circular
    // reference"). Whoever waits for a method holds the central; what is left are streams, and tasks that do not hold it.
    deinit {
        guard !isShutDown else { return }
        scanning.finish(.shutDown)
        for subscription in subscriptions.values { subscription.fanout.finish(.shutDown) }
        for connection in connections.values { connection.finish(.shutDown) }
        pairings.finish()
        for stream in adapterStateStreams.values { stream.finish(throwing: .shutDown) }
        Task { [backend] in await backend.shutDown() }
    }

    package static func stopwatch(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Ends scans, subscriptions and links and leaves the stack. What still waits fails with `shutDown`.
    ///
    /// The links that were made for this central are ended all at once; it takes some 2 s on BlueZ, and not more than 5 s. That
    /// is so in a cancelled task, too.
    public func shutDown() async {
        if !isShutDown {
            isShutDown = true
            end()
            // In a task of its own, which nobody cancels.
            leaving = Task { [backend] in await backend.shutDown() }
        }
        await leaving?.value
    }

    /// Ends everything that somebody could wait for.
    private func end() {
        operations.fail(.shutDown) { _ in true }
        endPrompts { _ in true }
        scanning.finish(.shutDown)
        endSubscriptions(.shutDown) { _ in true }
        endWriters(.shutDown) { _ in true }
        for connection in connections.values { connection.finish(.shutDown) }
        connections = [:]
        for stream in adapterStateStreams.values { stream.finish(throwing: .shutDown) }
        adapterStateStreams = [:]
        for waiter in adapterWaiters.values { waiter.deliver(.failure(.shutDown)) }
    }

    func checkRunning() throws(BLEError) {
        if isShutDown { throw .shutDown }
        if Task.isCancelled { throw .cancelled }
    }

    /// A number that is used once.
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

    /// The adapter's state now and every change from here on. Keeps the newest 16 that are not read yet.
    public func adapterStates() -> BoundedStream<AdapterState> {
        let token = token()
        let (stream, producer) = BoundedStream.make(of: AdapterState.self, policy: .dropOldest(capacity: 16)) {
            [weak self] in
            Task { await self?.removeAdapterStateStream(token) }
        }
        guard !isShutDown else {
            producer.finish(throwing: .shutDown)
            return stream
        }
        adapterStateStreams[token] = producer
        producer.yield(adapterState)
        return stream
    }

    /// Waits while Bluetooth is being restarted; at once over when there is nothing to wait for.
    func untilAdapterHasSettled() async throws(BLEError) {
        while adapterState == .resetting {
            try checkRunning()
            let (token, outcome) = beginAdapterWait()
            defer { adapterWaiters[token] = nil }
            try await outcome.wait()
        }
    }

    /// Begins to wait for an adapter that is resetting, until ``endAdapterWait(_:)``.
    func beginAdapterWait() -> (token: Int, outcome: Outcome<Void>) {
        let (token, outcome) = (token(), Outcome<Void>())
        adapterWaiters[token] = outcome
        return (token, outcome)
    }

    func endAdapterWait(_ token: Int) { adapterWaiters[token] = nil }

    private func removeAdapterStateStream(_ token: Int) {
        adapterStateStreams[token] = nil
    }

    /// A handle for a peripheral of known identity. Nothing is looked up: connecting tells whether it is there.
    public nonisolated func peripheral(_ id: Peripheral.ID) -> Peripheral {
        Peripheral(id: id, central: self)
    }

    /// All peripherals that the system knows, those with a link included, which do not advertise.
    public func knownPeripherals() async -> [KnownPeripheral] {
        await backend.knownPeripherals()
    }

    // MARK: Events

    private func handle(_ event: BackendEvent) {
        switch event {
        case .advertisement(let id, let advertisement):
            heard(id, advertisement)
        case .adapter(let state):
            adapterChanged(state)
        case .scanEnded(let error):
            scanning.finish(error)
        case .removed(let id):
            forgotten(id)
        case .disconnected(let id, let error):
            linkEnded(id, error)
        case .servicesChanged(let id):
            servicesChanged(id)
        case .notificationsEnded(let attribute, let error):
            notificationsEnded(of: attribute, error)
        case .pairingEnded(let id):
            endPrompts { $0 == id }
        case .lost(let error):
            logger.info("bluetooth lost", metadata: ["error": "\(error)"])
            operations.fail(error) { _ in true }
            endPrompts { _ in true }
            interruptScanning(error)
            for id in Array(connections.keys) { linkEnded(id, error) }
        }
    }

    /// What was going on comes back by itself with the adapter.
    private func adapterChanged(_ state: AdapterState) {
        guard state != adapterState else { return }
        adapterState = state
        for stream in adapterStateStreams.values { stream.yield(state) }
        if state != .resetting {
            for waiter in adapterWaiters.values { waiter.deliver(.success(())) }
        }
        if state == .poweredOn {
            reconcile()
            retryConnections()
        } else {
            interruptScanning(
                state == .poweredOff
                    ? BLEError(.poweredOff, "the adapter was switched off", remedy: "Switch the adapter on.")
                    : BLEError(.adapterNotFound, "the adapter is gone", remedy: "Plug the adapter in."))
        }
    }

    private func linkEnded(_ id: Peripheral.ID, _ error: BLEError) {
        let error = error.at(id)
        operations.fail(error) { $0 == id }
        endWriters(error) { $0.peripheral == id }
        endPrompts { $0 == id }
        if isMaintained(id) {
            interruptSubscriptions(of: id, error)
        } else {
            endSubscriptions(error) { $0.peripheral == id }
        }
        connectionLost(id, error)
    }
}
