public import BLE
internal import Logging
package import Loop
internal import Waiting

extension CentralBackend where Self == ESPHomeCentral {
    /// A backend that uses the radio of a Bluetooth proxy of ESPHome.
    ///
    /// ```swift
    /// let key = try EncryptionKey("…")
    /// let central = try await Central(backend: .esphome("kitchen.local", key: key))
    /// ```
    ///
    /// - Parameters:
    ///   - host: the proxy's name or address.
    ///   - port: the port of its native API.
    ///   - key: the key in its configuration. Nil if it does not encrypt.
    public static func esphome(_ host: String, port: UInt16 = 6053, key: EncryptionKey? = nil) -> ESPHomeCentral {
        ESPHomeCentral(name: host, key: key) { (loop) throws(LoopError) in
            try await TCP.connect(host, port: port, on: loop)
        }
    }
}

/// The central role with a Bluetooth proxy of ESPHome, over its native API.
///
/// The adapter is the proxy: it is `resetting` while the connection to it is lost, and this backend connects again
/// with pauses that grow. A proxy has no way to pair with numbers, for L2CAP channels, or to measure the signal
/// strength of a link, and does not report whether a peripheral accepts connections.
public actor ESPHomeCentral: CentralBackend {
    package nonisolated let loop: EventLoop
    private nonisolated let tasks: LoopTaskExecutor
    /// The executor of the connection's loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }
    /// Whether the caller runs on the connection's loop.
    public nonisolated var isCurrent: Bool { loop.isCurrent }
    /// The thread of the connection, as a task executor.
    public nonisolated var taskExecutor: (any TaskExecutor)? { tasks }
    /// The continuous clock, with sleeps that end on that thread.
    public nonisolated var clock: any Clock<Duration> { loop.clock }
    /// A proxy does not report whether a peripheral accepts connections.
    public nonisolated var limits: CentralLimits { CentralLimits(reportsConnectability: false) }

    let name: String
    private let key: EncryptionKey?
    private let connector: @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor
    private let backoff = Backoff.standard

    private var context: CentralContext?
    private(set) var elapsed: @Sendable () -> Duration = { .zero }
    private var socket: StreamSocket?
    private var session: ProxySession?
    /// Delivered when the session is ready, or has failed before.
    private var greeting: Outcome<Void>?
    private var alarm: (time: Duration, expiry: Expiry)?
    private var reconnecting: Task<Void, Never>?
    /// The pauses between connections. From the beginning after one that has lasted as long as the longest.
    private var pauses = Backoff.standard.pauses
    /// When the proxy was connected for the last time.
    private var connected = Duration.zero
    /// Why the connection was lost, or why the last attempt to connect again failed. Nil while it is there.
    private var loss: BLEError?
    private var isShutDown = false
    private(set) var state = AdapterState.unavailable
    private(set) var info = ProxyInfo()
    private(set) var slots: ProxySlots?

    // The parts of the extensions.
    var heard = HeardPeripherals()
    var filter: DiscoveryFilter?
    /// Delivered when the proxy scans, or it is known why it does not.
    var scanStart: Outcome<Void>?
    /// Why the proxy does not scan for this central although it was asked to. Nil if it does.
    var scanFault: BLEError?
    /// The number of free slots that was reported last.
    var reportedSlots: Int?
    /// When the proxy has sent advertisements for the last time.
    var lastHeard = Duration.zero
    /// When the state of the scanner was logged for the last time.
    var lastScannerLog: Duration?
    var links: [UInt64: ProxyLink] = [:]
    var requests = ProxyRequests()
    var deliveries: [AttributeOfProxy: @Sendable ([UInt8]) -> Void] = [:]

    /// - Parameters:
    ///   - name: the proxy's name, which is the adapter's id.
    ///   - loop: the thread, which may be that of another radio; nil for one of its own.
    ///   - connector: opens a stream to the proxy. It runs on the loop's thread.
    package init(
        name: String, key: EncryptionKey?, loop: EventLoop? = nil,
        connector: @escaping @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor
    ) {
        let loop = loop ?? EventLoop(name: "esphome")
        self.loop = loop
        (self.name, self.key, self.connector) = (name, key, connector)
        tasks = LoopTaskExecutor(loop)
    }

    var logger: Logger { context?.logger ?? Logger(label: "ble") }
    var configuredClock: any Clock<Duration> { context?.clock ?? ContinuousClock() }

    func report(_ event: CentralBackendEvent) { context?.handleEvent(event) }

    // MARK: Starting and stopping

    /// Connects to the proxy.
    ///
    /// Throws `bluetoothUnavailable` if that fails, or takes longer than 10 s, `unauthorized` if the proxy has
    /// another key, or encrypts and there is no key, or does not encrypt and there is one, and `notSupported` for a
    /// proxy of another major version, and for a device of ESPHome that is not a Bluetooth proxy.
    public func start(_ context: CentralContext) async throws(BLEError) {
        self.context = context
        elapsed = Central.stopwatch(context.clock)
        do throws(LoopError) { try loop.prepare() } catch { throw BLEError(.failed, "\(error)") }
        try await connect()
        guard session != nil else {
            throw BLEError(.closed, wasReady: false, proxy: name)
        }
        (state, connected) = (.poweredOn, elapsed())
    }

    /// Ends the links and the connection.
    public func shutDown() async {
        isShutDown = true
        reconnecting?.cancel()
        if session != nil {
            for (address, link) in links where link.isUp || link.isConnecting {
                send(.request(.disconnect, address: address, addressType: nil))
            }
            send(.disconnect(reason: 0))
            socket?.finish()
        }
        close()
        let error = BLEError.shutDown
        failAll(error)
        greeting?.deliver(.failure(error))
    }

    deinit {
        reconnecting?.cancel()
        alarm?.expiry.cancel()
        guard let socket else { return }
        loop.perform { socket.close() }
    }

    /// The state of the connection to the proxy.
    public func adapterState() -> AdapterState { state }

    /// Why the connection to the proxy is lost, or is not made again.
    public func stackObstacle() -> BLEError? {
        guard state == .resetting, let loss else { return nil }
        guard loss.code != .bluetoothLost else { return loss }
        return BLEError(.bluetoothLost, loss.message, remedy: loss.remedy, cause: loss)
    }

    /// The proxy.
    public func adapters() async throws(BLEError) -> [Adapter] {
        let address = info.bluetoothMAC.isEmpty ? info.mac : info.bluetoothMAC
        return [
            Adapter(
                id: name, address: address, name: info.friendlyName.isEmpty ? info.name : info.friendlyName,
                isPowered: state == .poweredOn, isDiscovering: filter != nil && scanFault == nil, isInUse: true)
        ]
    }

    /// Throws `bluetoothLost` while there is no connection to the proxy.
    func checkReady() throws(BLEError) {
        guard !isShutDown else { throw .shutDown }
        guard state == .poweredOn, session != nil else {
            throw BLEError(.bluetoothLost, "there is no connection to the proxy \(name)")
        }
    }

    // MARK: The connection

    /// How long a connection and its greeting may take.
    private static let connectionLimit = Duration.seconds(10)

    /// Connects, and returns when the proxy has said what it is.
    private func connect() async throws(BLEError) {
        let task = Task(executorPreference: tasks) { () -> Result<Void, BLEError> in
            do throws(BLEError) {
                return .success(try await self.connectAndGreet())
            } catch {
                return .failure(error)
            }
        }
        let expiry = Expiry(after: Self.connectionLimit, clock: configuredClock) { task.cancel() }
        defer { expiry.cancel() }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        if case .failure(let error) = result, error.code == .cancelled, !Task.isCancelled {
            throw isUnreachable("it has not answered within \(Self.connectionLimit)")
        }
        try result.get()
    }

    private func isUnreachable(_ reason: String) -> BLEError {
        BLEError(
            .bluetoothUnavailable, "the proxy \(name) cannot be reached: \(reason)", isRetryable: true,
            remedy: "Check that it is switched on, and its address.")
    }

    private func connectAndGreet() async throws(BLEError) {
        let descriptor: FileDescriptor
        do throws(LoopError) {
            descriptor = try await connector(loop)
        } catch {
            if error == .cancelled { throw .cancelled }
            throw isUnreachable("\(error)")
        }
        guard !isShutDown else { throw .shutDown }
        let socket = StreamSocket(descriptor, on: loop)
        let outcome = Outcome<Void>()
        (self.socket, greeting) = (socket, outcome)
        session = ProxySession(key, client: "swift-ble", now: elapsed())
        socket.open { [weak self] bytes in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.receive(bytes) }
        } onEnd: { [weak self] in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.lose(.closed) }
        }
        flush()
        do throws(BLEError) {
            try await outcome.wait()
        } catch {
            if self.socket === socket { close() }
            throw error
        }
    }

    private func receive(_ bytes: ArraySlice<UInt8>) {
        session?.append(bytes, now: elapsed())
        do throws(ProxySession.Failure) {
            while session != nil, let event = try session!.next(now: elapsed()) { handle(event) }
            flush()
        } catch {
            lose(error)
        }
    }

    /// The numbers of bytes that may wait until they have left: for commands to count as sent at once, and for the
    /// proxy to count as connected.
    private static let (congested, maximumUnsent) = (64 * 1024, 1 << 20)

    /// Whether the proxy takes what is sent more slowly than it is sent.
    var isCongested: Bool { socket.map { $0.unsentCount >= Self.congested } ?? false }

    /// Completes a command when everything has left.
    func completeWhenSent(_ cancellation: ProxyRequests.Cancellation) {
        socket?.whenSent { [weak self] in
            self?.assumeIsolated { $0.requests.remove(cancellation) }?(.success([]))
        }
    }

    /// Sends a message. Does nothing without a connection; what waits for an answer has failed then.
    func send(_ message: ProxyMessage) {
        guard session != nil else { return }
        guard let socket, socket.unsentCount < Self.maximumUnsent else { return lose(.silent) }
        do throws(ProxySession.Failure) {
            try session!.send(message)
            flush()
        } catch {
            logger.debug("not sent", metadata: ["error": "\(error)"])
        }
    }

    private func flush() {
        guard let output = session?.takeOutput() else { return }
        socket?.send(output)
        setAlarm()
    }

    private func setAlarm() {
        guard let next = session?.nextAlarm else { return }
        // An alarm that is too early is set again when it is due.
        if let alarm, alarm.time <= next { return }
        alarm?.expiry.cancel()
        let expiry = Expiry(after: next - elapsed(), clock: configuredClock) { [weak self, loop] in
            loop.perform { [weak self] in self?.assumeIsolated { $0.alarmIsDue() } }
        }
        alarm = (next, expiry)
    }

    private func alarmIsDue() {
        alarm = nil
        guard session != nil else { return }
        do throws(ProxySession.Failure) {
            if let event = try session!.alarm(now: elapsed(), hasLinks: !links.isEmpty) { handle(event) }
            flush()
        } catch {
            lose(error)
        }
    }

    private func close() {
        alarm?.expiry.cancel()
        alarm = nil
        session = nil
        socket?.finish()
        socket = nil
    }

    /// Ends a connection that has failed, and connects again if it was in use.
    func lose(_ failure: ProxySession.Failure) {
        guard session != nil else { return }
        let wasReady = session?.isReady == true
        let error = BLEError(failure, wasReady: wasReady, proxy: name)
        // What explains the end to the proxy.
        if let output = session?.takeOutput() { socket?.send(output) }
        close()
        logger.info("the connection to the proxy ended", metadata: ["error": "\(error)"])
        guard state == .poweredOn else {
            greeting?.deliver(.failure(error))
            return
        }
        (slots, reportedSlots) = (nil, nil)
        failAll(error)
        (state, loss) = (.resetting, error)
        report(.stackLost(error))
        report(.adapterStateChanged(.resetting))
        reconnect()
    }

    private func failAll(_ error: BLEError) {
        filter = nil
        scanStart?.deliver(.failure(error))
        (scanStart, scanFault) = (nil, nil)
        deliveries = [:]
        let ended = links
        links = [:]
        for link in ended.values { link.fail(error) }
        for completion in requests.takeAll() { completion(.failure(error)) }
    }

    private func reconnect() {
        guard !isShutDown else { return }
        // One that ends each connection at once is not connected to, and told, twice in a second.
        if elapsed() - connected >= backoff.maximum { pauses = backoff.pauses }
        reconnecting = Task(executorPreference: tasks) { [weak self, clock = configuredClock, pauses] in
            var pauses = pauses
            var isNoProxy = false
            while await pauses.wait(clock, isLongest: isNoProxy) {
                guard let self, await self.connectAgain(pauses) == false else { return }
                isNoProxy = await self.loss?.code == .notSupported
            }
        }
    }

    /// Returns whether no further attempt is needed.
    ///
    /// - Parameter pauses: those that follow.
    private func connectAgain(_ pauses: Backoff.Pauses) async -> Bool {
        guard !isShutDown else { return true }
        self.pauses = pauses
        do throws(BLEError) {
            try await connect()
            // It may have been lost again since.
            guard session != nil else { throw BLEError(.closed, wasReady: false, proxy: name) }
        } catch {
            logger.debug("the proxy is not reached", metadata: ["error": "\(error)"])
            guard !isShutDown, !Task.isCancelled else { return true }
            let isNew = !BLEError.haveSameReason(loss, error)
            loss = error
            if isNew { report(.radioChanged) }
            return false
        }
        (state, connected, loss) = (.poweredOn, elapsed(), nil)
        report(.adapterStateChanged(.poweredOn))
        return true
    }

    // MARK: What the proxy sends

    private func handle(_ event: ProxySession.Event) {
        switch event {
        case .ready(let info):
            (self.info, lastHeard) = (info, elapsed())
            greeting?.deliver(.success(()))
        case .subscribed: scanChanged(nil)
        case .subscriptionUnanswered: scanChanged(Self.isUsedByAnother)
        case .scannerFailed(let isTriedAgain): scannerFailed(isTriedAgain)
        case .received(let message): handle(message)
        }
    }

    private func handle(_ message: ProxyMessage) {
        switch message {
        case .advertisements(let advertisements):
            lastHeard = elapsed()
            for raw in advertisements { receive(raw) }
        case .notification(let address, let handle, let value):
            deliveries[AttributeOfProxy(address: address, handle: handle)]?(value)
        case .readAnswer(let address, let handle, let value):
            requests.take(.value, address: address, handle: handle)?(.success(value))
        case .writeAnswer(let address, let handle):
            requests.take(.done, address: address, handle: handle)?(.success([]))
        case .notifyAnswer(let address, let handle):
            requests.take(.subscription, address: address, handle: handle)?(.success([]))
        case .attributeError(let address, let handle, let number):
            attributeFailed(address, handle, BLEError(attributeError: number))
        case .connection(let address, let isConnected, let mtu, let number):
            linkChanged(address, isConnected: isConnected, mtu: mtu, number)
        case .slots(let slots):
            self.slots = slots
            slotsChanged(slots)
        case .services(let address, let services): servicesArrived(address, services)
        case .servicesDone(let address): servicesDone(address)
        case .paired(let address, let isPaired, let number): pairingEnded(address, isPaired, number)
        case .unpaired(let address, let isUnpaired, let number): unpairingEnded(address, isUnpaired, number)
        default: break
        }
    }

    /// The mode in which the proxy scans, or was asked to.
    var scannerMode: ScannerMode? { session?.scannerMode }

    /// Changes the session's subscription to advertisements. Throws `bluetoothLost` without a session.
    func setSubscription(_ isOn: Bool) throws(BLEError) {
        try checkReady()
        do throws(ProxySession.Failure) {
            if isOn {
                if let event = try session!.subscribe(now: elapsed()) { handle(event) }
            } else {
                try session!.unsubscribe()
            }
        } catch {
            throw BLEError(error, wasReady: true, proxy: name)
        }
        flush()
    }
}
