public import Logging
internal import Waiting

/// This machine in the peripheral role: advertises, and serves attributes to the centrals that connect.
///
/// ```swift
/// let host = try await PeripheralHost()
/// let strap = PeripheralDefinition(
///     advertisement: Advertisement(localName: "Strap", serviceUUIDs: [.battery]),
///     services: [
///         ServiceDefinition(
///             .battery,
///             characteristics: [try CharacteristicDefinition(.batteryLevel, [.read, .notify], value: 90)])
///     ])
/// try await host.serve(strap)
/// ```
///
/// The host runs on its backend's executor and implements all policy; see ``PeripheralBackend``. Bluetooth may restart
/// and the adapter may be switched off or unplugged: the host serves and advertises again when it can, and
/// ``events()`` says so. End it with ``shutDown()``. If a host is released without a shutdown, the same happens in the
/// background.
public actor PeripheralHost {
    /// The configuration of a host.
    public struct Configuration: Sendable {
        /// The maximum time for the answer to a request, from its arrival. The host then rejects it with
        /// ``ATTError/unlikelyError`` and cancels its handler. The central's next write to the same characteristic
        /// waits until that handler has returned. 4 s by default, and at most four fifths of the time that the system
        /// waits: bluetoothd rejects a request itself after 5 s.
        public var requestTimeout: Duration
        /// The maximum time for a central to confirm an indication. 30 s by default, which is the Attribute Protocol's
        /// own limit (Core Specification 5.4, volume 3, part F, section 3.3.3).
        public var confirmationTimeout: Duration
        /// The number of writes of one central to one characteristic that may wait for its handler. 64 by default.
        /// Further ones are rejected with ``ATTError/insufficientResources``, which BlueZ sends as
        /// ``ATTError/unlikelyError``. It is also the number of indications that may wait for those before them, to one
        /// central or to all.
        public var waitingWrites: Int
        /// Whether a new host waits for Bluetooth, and ``PeripheralHost/serve(_:isAdvertised:)`` for the adapter to be
        /// switched on, as when the machine boots. By default, they throw `bluetoothUnavailable`, `adapterNotFound` or
        /// `poweredOff`.
        public var waitsForBluetooth: Bool
        /// Answers the prompts of pairings that centrals begin, with BlueZ as the system's default agent. Nil, the
        /// default, if another program does, such as the desktop: without any agent, bluetoothd refuses every pairing.
        /// On the simulated radio, a definition's `pairing` decides instead.
        public var pairing: PairingAgent?
        /// Measures deadlines.
        public var clock: any Clock<Duration>
        /// Receives log messages, at info, debug and trace level. At trace level, each request with its value, its
        /// answer and its duration, each sent value, and what is advertised. The values include those that require an
        /// encrypted link. Packets of channels, passkeys and keys are not logged. By default, the logger of the task
        /// that creates the configuration (`Logger.current`), or one with the label `ble`.
        public var logger: Logger

        /// Creates a configuration.
        public init(
            requestTimeout: Duration = .seconds(4), confirmationTimeout: Duration = .seconds(30),
            waitingWrites: Int = 64, waitsForBluetooth: Bool = false, pairing: PairingAgent? = nil,
            clock: any Clock<Duration> = ContinuousClock(), logger: Logger? = nil
        ) {
            self.requestTimeout = requestTimeout
            self.confirmationTimeout = confirmationTimeout
            self.waitingWrites = waitingWrites
            self.waitsForBluetooth = waitsForBluetooth
            self.pairing = pairing
            self.clock = clock
            self.logger = logger ?? .ofTask
        }
    }

    nonisolated let backend: any PeripheralBackend
    /// The configuration that the host was created with.
    public nonisolated let configuration: Configuration
    /// Whether the logger takes messages at trace level. Asked once, because it would be asked for each value.
    nonisolated let isTracing: Bool
    /// The backend's executor. Host and backend share it, so that neither waits for the other to be scheduled.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { backend.unownedExecutor }

    /// Receives what is counted and the operations, for metrics and traces. Nil if nothing observes this host.
    nonisolated let observer: (any ActivityObserver)?
    var counts = HostStatistics()
    private(set) var isShutDown = false
    private var shutdownTask: Task<Void, Never>?
    private var lastNumber = 0
    var registrations = HostRegistrations()
    var values = ServedValues()
    var requests = HostRequests()
    var subscriptions = HostSubscriptions()
    var channels = HostChannels()
    private(set) var centrals = ConnectedCentrals()
    var observers = Observers<PeripheralHostEvent>()
    var adapter = AdapterWatch()
    /// Receives the requests that were answered.
    var requestObserver: (@Sendable (AnsweredRequest) -> Void)?
    /// Registers what was lost.
    var renewal: Task<Void, Never>?

    /// The state of the adapter in use.
    public var adapterState: AdapterState { adapter.state }
    /// The devices that have a link to this machine, as far as the system reports them. With BlueZ, these include
    /// peripherals that this machine has connected to.
    public var connectedCentrals: Set<DeviceID> { centrals.all }

    var logger: Logger { configuration.logger }
    /// The configuration's clock, or the backend's own, which has the same time.
    nonisolated let clock: any Clock<Duration>
    /// The same clock, for the deadlines of requests.
    nonisolated let deadlineClock: DeadlineClock
    /// The time since this host was created.
    nonisolated let elapsed: @Sendable () -> Duration

    /// Creates a host that uses `backend`.
    ///
    /// Throws `bluetoothUnavailable` and `adapterNotFound`, unless ``Configuration/waitsForBluetooth`` is set, and
    /// `unauthorized`.
    public init(
        backend: some PeripheralBackend, configuration: Configuration = Configuration()
    ) async throws(BLEError) {
        self.backend = backend
        self.configuration = configuration
        isTracing = configuration.logger.logLevel <= .trace
        observer = ActivityObservers.make(.host)
        clock = configuration.clock is ContinuousClock ? backend.clock : configuration.clock
        deadlineClock = DeadlineClock(clock)
        elapsed = Central.stopwatch(clock)
        // Not captured as `self`, so that requests do not leave the backend's executor on their way, and stay in order.
        weak let host = self
        let context = PeripheralContext(
            handleEvent: { [weak self] event in self?.assumeIsolated { $0.handle(event) } },
            read: { (attribute, request) throws(ATTError) in
                guard let host else { throw .unlikelyError }
                return try await host.observingRead(attribute, request)
            },
            write: { (attribute, value, request) throws(ATTError) in
                guard let host else { throw .unlikelyError }
                try await host.observingWrite(value, to: attribute, request)
            },
            pairing: configuration.pairing, logger: configuration.logger, clock: clock)
        try await startBackend(
            waits: configuration.waitsForBluetooth, clock: clock, logger: configuration.logger
        ) { () throws(BLEError) in try await backend.start(context) }
        beginWatchingAdapter()
    }

    private func beginWatchingAdapter() {
        adapter.begin(backend.assumeIsolated { $0.adapterState() })
    }

    // Not isolated, as in `Central`.
    deinit {
        guard !isShutDown else { return }
        observers.finish(.hostShutDown)
        adapter.finish(.hostShutDown)
        channels.end(.hostShutDown)
        for _ in centrals.all { observer?.counted(.linkEnded(.local)) }
        // Not in the backend's isolation, in which they would be drained.
        for channel in channels.removeAll() { channel.finish(.lost(.hostShutDown), drains: false) }
        Task { [backend] in await backend.shutDown() }
    }

    /// Ends advertising and all registrations, and disconnects from the stack. Calls that serve or advertise, and
    /// streams of events, end with `shutDown`. Never takes longer than 5 s, even in a cancelled task.
    public func shutDown() async {
        if !isShutDown {
            isShutDown = true
            for _ in centrals.all { count(.linkEnded(.local)) }
            renewal?.cancel()
            for user in registrations.users { user.deliver(.failure(.hostShutDown)) }
            endSubscriptions()
            endRequests(requests.numbers(), .hostShutDown)
            endChannels(.hostShutDown)
            channels.end(.hostShutDown)
            observers.finish(.hostShutDown)
            adapter.finish(.hostShutDown)
            // In a separate task, which is never cancelled.
            shutdownTask = Task { [backend] in await backend.shutDown() }
        }
        await shutdownTask?.value
    }

    func checkRunning() throws(BLEError) {
        if isShutDown { throw .hostShutDown }
        if Task.isCancelled { throw .cancelled }
    }

    /// Returns a unique number.
    func number() -> Int {
        lastNumber += 1
        return lastNumber
    }

    /// Ends the link of a central, as one that misbehaves. Returns when it has ended. Does nothing if there is none.
    ///
    /// With BlueZ, the link ends for all programs; it takes about 2 s. The central may connect again at once.
    ///
    /// Throws `notSupported` if the system cannot end the links of centrals.
    public func disconnect(_ central: DeviceID) async throws(BLEError) {
        try checkRunning()
        guard centrals.contains(central) else { return }
        try await backend.disconnect(central)
    }

    // MARK: Events

    /// What happens from now on. Keeps the newest 256 unread events.
    public func events() -> BoundedStream<PeripheralHostEvent> {
        guard !isShutDown else { return Observers.ended(.hostShutDown) }
        return observers.add(capacity: 256) { [weak self] token in
            Task { await self?.removeObserver(token) }
        }
    }

    /// The adapter's current state and every later change. Keeps the newest 16 unread states.
    public func adapterStates() -> BoundedStream<AdapterState> {
        guard !isShutDown else { return Observers.ended(.hostShutDown) }
        return adapter.states { [weak self] token in
            Task { await self?.removeAdapterStateObserver(token) }
        }
    }

    private func removeObserver(_ token: Int) { observers.remove(token) }
    private func removeAdapterStateObserver(_ token: Int) { adapter.removeObserver(token) }

    /// Reports an error that no call does.
    func report(_ error: BLEError) {
        logger.info("not served", metadata: ["error": "\(error)"])
        yield(.failed(error))
    }

    private func handle(_ event: PeripheralBackendEvent) {
        guard !isShutDown else { return }
        switch event {
        case .adapterStateChanged(let state): adapterChanged(state)
        case .stackLost(let error):
            logger.info("bluetooth lost", metadata: ["error": "\(error)"])
            count(.bluetoothLost)
            lose(error)
        case .applicationEnded(let number, let error): applicationEnded(number, error)
        case .advertisingEnded(let number, let error): advertisingEnded(number, error)
        case .centralConnected(let central): centralConnected(central)
        case .centralDisconnected(let central): centralDisconnected(central)
        case .subscribed(let attribute, let central, let attMTU): subscribed(attribute, central, attMTU)
        case .unsubscribed(let attribute, let central): unsubscribed(attribute, central)
        }
    }

    /// Records what has become known of a central's link. What tells of the central first may be a request, a
    /// subscription or a channel.
    func centralConnected(_ central: DeviceID, attMTU: Int? = nil) {
        guard centrals.add(central, attMTU: attMTU) else { return }
        count(.linkEstablished)
        yield(.centralConnected(central))
    }

    func centralDisconnected(_ central: DeviceID, reason: DisconnectReason = .unknown) {
        let gone = BLEError(.disconnected, "the central's link ended")
        endChannels(of: central, gone)
        guard centrals.remove(central) else { return }
        count(.linkEnded(reason))
        values.endReading(by: central)
        endSubscriptions(subscriptions.all(of: central))
        endRequests(requests.numbers(from: central), gone)
        for definition in registrations.definitions {
            for service in definition.services { service.tellOfDisconnection(of: central) }
        }
        yield(.centralDisconnected(central))
    }
}

extension BLEError {
    static let hostShutDown = BLEError(.shutDown, "the peripheral host was shut down")
}
