public import BLE
internal import BLEDefinitions
public import Logging
package import Loop
internal import Waiting

/// A Bluetooth proxy for a Matter server of matter.js, which commissions Matter devices through the radio of any
/// central.
///
/// ```swift
/// let server = try MatterServerAddress("ws://homeassistant.local:5580/ble")
/// let proxy = MatterProxy(central, server: server)
/// try await proxy.run()
/// ```
///
/// The server is one that was started with `--ble-proxy`. It finds devices that advertise data of the service FFF6, and
/// reaches that service of theirs, and no other peripherals. Docs/Radios.md has the rules.
public actor MatterProxy {
    nonisolated let loop = EventLoop(name: "matter")
    private nonisolated let tasks: LoopTaskExecutor
    /// The executor of the connection's loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let central: Central
    /// The server of other clients of the same radio, with which the links are shared.
    let clients: ProxyServer?
    let logger: Logger
    private let server: MatterServerAddress
    private let connectionLimit: Int
    let clock: any Clock<Duration>
    private let age: @Sendable () -> Duration
    private let connector: @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor
    private var isRunning = false
    var observers = Observers<MatterProxyEvent>()
    /// Why there is no connection, as it was told.
    private var told = ToldReasons()

    // The connection.
    private var socket: StreamSocket?
    private var channel: WebSocketChannel?
    /// Nil without a connection.
    var session: MatterSession?
    /// The number of the connection, which tells apart what concerns a former one.
    private(set) var number = 0
    /// Delivered when the server has greeted, or the connection has ended before.
    private var greeting: Outcome<Void>?
    /// Delivered when the connection has ended.
    private var end: Outcome<Void>?
    private var timer: Expiry?
    /// When the server has greeted. Nil before.
    private var greeted: Duration?
    private var (lastReceived, lastPing) = (Duration.zero, Duration.zero)
    /// What scans for the server. It ends when the scan has.
    var scan: Task<Void, Never>?
    var links: [UInt16: MatterLink] = [:]
    /// The links that the server may not have, and what tells of them next.
    var refusals = Refusals<Peripheral.ID>()
    var refusalTimer: Expiry?
    /// Tells apart the timers: one that is over may have fired.
    var lastRefusalTimer = 0

    /// - Parameters:
    ///   - central: the central whose radio is offered. The proxy does not shut it down.
    ///   - server: where the server accepts proxies.
    ///   - connectionLimit: the maximum number of links at the same time.
    ///   - clients: the server of other clients of the same central. The links are then shared: a peripheral belongs to
    ///     one of them, and the Matter server counts as a client while it has links, or waits for one.
    public init(
        _ central: Central, server: MatterServerAddress, connectionLimit: Int = 5, beside clients: ProxyServer? = nil,
        logger: Logger? = nil
    ) {
        self.init(
            central, server: server, connectionLimit: connectionLimit, beside: clients, logger: logger,
            clock: central.configuration.clock
        ) { (loop) throws(LoopError) in try await TCP.connect(server.host, port: server.port, on: loop) }
    }

    /// - Parameter connector: opens a stream to the server. It runs on the loop's thread.
    package init(
        _ central: Central, server: MatterServerAddress, connectionLimit: Int = 5, beside clients: ProxyServer? = nil,
        logger: Logger? = nil, clock: any Clock<Duration>,
        connector: @escaping @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor
    ) {
        (self.central, self.server, self.clients) = (central, server, clients)
        (self.connectionLimit, self.clock, self.connector) = (max(0, connectionLimit), clock, connector)
        age = Central.stopwatch(clock)
        tasks = LoopTaskExecutor(loop)
        self.logger = logger ?? Logger(label: "ble")
    }

    /// What happens from now on, until ``run()`` has ended, which throws the same error, or until the next one has if
    /// none is going on. Keeps the newest 256 unread events.
    public func events() -> BoundedStream<MatterProxyEvent> {
        observers.add(capacity: 256) { [weak self] token in
            Task { await self?.removeObserver(token) }
        }
    }

    private func removeObserver(_ token: Int) { observers.remove(token) }

    // MARK: Running

    /// How long the connection, the opening of the WebSocket and the greeting may take.
    private static let greetingLimit = Duration.seconds(10)
    /// When a silent server is pinged, and when it counts as lost, after its last byte.
    private static let (pingTime, silenceLimit) = (Duration.seconds(30), Duration.seconds(60))
    private static let backoff = Backoff.standard

    /// Serves the Matter server until the task is cancelled, and ends its links then.
    ///
    /// A server that is away, does not greet or refuses this proxy is dialed again after 0.5 s, 1 s, 2 s, … up to 30 s.
    /// Throws `notSupported` if the server speaks another version of the protocol, and `failed` if the proxy runs
    /// already. Beside other clients, a server of another version is told with
    /// ``MatterProxyEvent/serverNotReached(reason:retryAfter:)`` instead, and dialed again every 30 s.
    public func run() async throws(BLEError) {
        guard !isRunning else { throw BLEError(.failed, "the proxy runs already", isRetryable: false) }
        isRunning = true
        defer { isRunning = false }
        do throws(BLEError) {
            do throws(LoopError) { try loop.prepare() } catch { throw BLEError(.failed, "\(error)") }
            try await serve()
            observers.finish()
        } catch {
            observers.finish(error)
            throw error
        }
    }

    /// Serves the server until the task is cancelled, with one connection after the other.
    private func serve() async throws(BLEError) {
        var pauses = Self.backoff.pauses
        while !Task.isCancelled {
            greeted = nil
            let error = await serveOnce()
            guard !Task.isCancelled else {
                if greeted != nil { observers.yield(.serverLost(reason: "the proxy ends", retryAfter: nil)) }
                return
            }
            let isOther = error.code == .notSupported
            guard !isOther || clients != nil else { throw error }
            // One that ends each connection at once is not dialed twice in a second.
            if let greeted, age() - greeted >= Self.backoff.maximum { pauses = Self.backoff.pauses }
            tell(error, retryAfter: isOther ? Self.backoff.maximum : pauses.next)
            if isOther {
                guard (try? await clock.sleep(for: Self.backoff.maximum)) != nil else { return }
            } else {
                guard await pauses.wait(clock) else { return }
            }
        }
    }

    /// Tells why a connection has ended, or could not be made.
    private func tell(_ error: BLEError, retryAfter pause: Duration) {
        logger.debug("no connection to the Matter server", metadata: ["error": "\(error.message)"])
        if greeted != nil {
            observers.yield(.serverLost(reason: error.message, retryAfter: pause))
        } else if told.tell(error) {
            observers.yield(.serverNotReached(reason: error.message, retryAfter: pause))
        }
    }

    /// Connects, and serves until the connection has ended, and everything that it needed. Returns why it ended.
    private func serveOnce() async -> BLEError {
        let reason: BLEError
        do throws(BLEError) {
            let descriptor = try await dial()
            let end = Outcome<Void>()
            let greeting = Outcome<Void>()
            open(descriptor, end, greeting)
            try await greeting.wait()
            try await end.wait()
            reason = BLEError(.failed, "the connection has ended")
        } catch {
            reason = error
        }
        await close()
        return reason
    }

    private func dial() async throws(BLEError) -> FileDescriptor {
        try await Outcome<FileDescriptor>.race(within: Self.greetingLimit, clock: clock, executor: tasks) {
            BLEError(.timedOut, "it did not accept a connection within \(Self.greetingLimit)")
        } _: { [connector, loop] () async throws(BLEError) -> FileDescriptor in
            do throws(LoopError) {
                return try await connector(loop)
            } catch {
                throw error == .cancelled ? BLEError.cancelled : BLEError(.failed, "\(error)")
            }
        }
    }

    // MARK: The connection

    private func open(_ descriptor: FileDescriptor, _ end: Outcome<Void>, _ greeting: Outcome<Void>) {
        self.number += 1
        let (socket, number) = (StreamSocket(descriptor, on: loop), self.number)
        (self.socket, self.end, self.greeting) = (socket, end, greeting)
        channel = WebSocketChannel(authority: server.authority, path: server.path)
        session = MatterSession(limit: connectionLimit)
        lastReceived = age()
        lastPing = lastReceived
        socket.open { [weak self, loop] bytes in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.receive(bytes, number) }
        } onEnd: { [weak self, loop] in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { proxy in
                guard proxy.number == number else { return }
                proxy.lose(BLEError(.failed, "it closed the connection"))
            }
        }
        timer = call(after: Self.greetingLimit) { proxy in
            // It may have greeted after the timer has fired.
            guard proxy.number == number, proxy.session?.hasGreeted == false else { return }
            proxy.lose(BLEError(.timedOut, "it did not greet within \(Self.greetingLimit)"))
        }
        flush()
    }

    /// Ends the connection for a reason. ``close()`` follows.
    private func lose(_ error: BLEError) {
        greeting?.deliver(.failure(error))
        end?.deliver(.failure(error))
    }

    /// Ends the connection, if there is one, and what the server has asked for. Returns when all of it has ended.
    private func close() async {
        number += 1
        timer?.cancel()
        channel?.close()
        if let output = channel?.takeOutput() { socket?.send(output) }
        socket?.finish()
        (socket, channel, session, end, greeting, timer) = (nil, nil, nil, nil, nil, nil)
        scan?.cancel()
        for link in links.values { cancel(link) }
        await scan?.value
        scan = nil
        while let link = links.values.first { await link.task?.value }
        endRefusals()
    }

    private func receive(_ bytes: ArraySlice<UInt8>, _ number: Int) {
        guard number == self.number, end?.isOpen == true else { return }
        lastReceived = age()
        channel?.append(bytes)
        do throws(WebSocketError) {
            while number == self.number, end?.isOpen == true, let event = try channel?.next() { handle(event) }
        } catch {
            lose(BLEError(.failed, "\(error)"))
        }
        flush()
    }

    private func handle(_ event: WebSocketChannel.Event) {
        switch event {
        case .opened: send(.greeting)
        case .text(let bytes): apply(session?.receive(text: bytes) ?? [])
        case .binary(let bytes): apply(session?.receive(binary: bytes) ?? [])
        case .closed(let code, let reason):
            let details = [code.map { "\($0)" }, reason.isEmpty ? nil : reason.harmless].compactMap { $0 }
            let text = details.isEmpty ? "" : " (\(details.joined(separator: ", ")))"
            lose(BLEError(.failed, "it closed the connection\(text)"))
        }
    }

    private func apply(_ actions: [MatterSession.Action]) {
        for action in actions {
            switch action {
            case .send(let frame): send(frame)
            case .greeted:
                timer?.cancel()
                greeted = age()
                told.clear()
                observers.yield(.serverConnected)
                greeting?.deliver(.success(()))
                watch()
            case .startScan: startScan()
            case .stopScan: scan?.cancel()
            case .connect(let link, let device, let timeout): connect(link, device, timeout)
            case .end(let link, let reason):
                links[link]?.endReason = reason
                if let link = links[link] { cancel(link) }
            case .perform(let operation, let number, let link): perform(operation, number, link)
            case .linkRefused(let device): refuseLink(device)
            case .ignored(let opcode):
                logger.debug("ignored a message of a Matter server", metadata: ["opcode": "\(opcode)"])
            case .fail(let failure): lose(BLEError(failure))
            }
        }
    }

    /// Applies what a change of the session asks for, and sends it.
    func applying(_ change: (inout MatterSession) -> [MatterSession.Action]) {
        guard session != nil else { return }
        apply(change(&session!))
        flush()
    }

    /// Sends messages, if there is a connection.
    func send(_ frames: [MatterFrame]) {
        for frame in frames { send(frame) }
        flush()
    }

    private func send(_ frame: MatterFrame) {
        switch frame {
        case .text(let json): channel?.send(text: Array(json.text.utf8))
        case .binary(let bytes): channel?.send(binary: bytes)
        }
    }

    /// The number of bytes that wait for the server, beyond which advertisements are not told, and beyond which the
    /// connection is ended. No message alone has as many as the former.
    private static let (advertisementLimit, unsentLimit) = (64 * 1024, 1 << 20)

    /// The number of bytes that wait for the server.
    var unsentCount: Int { socket?.unsentCount ?? 0 }

    /// Whether the server takes what it is sent.
    var hasRoom: Bool { unsentCount < Self.advertisementLimit }

    /// Returns when the server has taken what it was sent, if there is no room for more, or if the task is cancelled.
    func room() async {
        guard !hasRoom, let socket else { return }
        let outcome = Outcome<Void>()
        socket.whenSent { outcome.deliver(.success(())) }
        // The end of the connection cancels the tasks of its links.
        try? await outcome.wait()
    }

    private func flush() {
        guard let socket, let output = channel?.takeOutput() else { return }
        guard socket.unsentCount <= Self.unsentLimit else {
            return lose(BLEError(.failed, "it does not read what it is sent"))
        }
        socket.send(output)
    }

    // MARK: Silence

    /// Does something after a duration.
    func call(after duration: Duration, _ work: @escaping @Sendable (isolated MatterProxy) -> Void) -> Expiry {
        Expiry(after: duration, clock: clock) { [weak self, loop] in
            loop.perform { [weak self] in self?.assumeIsolated { work($0) } }
        }
    }

    /// Pings the server, or gives it up, if that is due, and looks again when the next one is.
    private func watch() {
        let (now, number) = (age(), number)
        let silence = now - lastReceived
        guard silence < Self.silenceLimit else {
            return lose(BLEError(.timedOut, "it was silent for \(Self.silenceLimit)"))
        }
        if silence >= Self.pingTime, lastPing <= lastReceived {
            lastPing = now
            channel?.ping()
            flush()
        }
        let isPinged = lastPing > lastReceived
        timer = call(after: (isPinged ? Self.silenceLimit : Self.pingTime) - silence) { proxy in
            guard proxy.number == number else { return }
            proxy.watch()
        }
    }
}

extension BLEError {
    fileprivate init(_ failure: MatterSession.Failure) {
        switch failure {
        case .otherVersion(let version):
            self.init(
                .notSupported,
                "the Matter server speaks version \(version) of the protocol, and this proxy \(MatterFrame.version)",
                isRetryable: false, remedy: "Use a matter.js server with version \(MatterFrame.version) of it.")
        case .refused(let reason): self.init(.failed, "it refuses this proxy: \(reason)")
        case .violation(let reason): self.init(.failed, "it violates the protocol: \(reason)")
        }
    }
}
