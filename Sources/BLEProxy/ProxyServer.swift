public import BLE
public import BLEESPHome
public import Logging
package import Loop
internal import Waiting

/// A Bluetooth proxy that speaks ESPHome's native API, for the radio of any central.
///
/// ```swift
/// let key = EncryptionKey.random()
/// let server = ProxyServer(central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: key))
/// try await server.run(host: "0.0.0.0")
/// ```
///
/// Several clients may be connected at once, and share the links: Docs/Radios.md has the rule. A peripheral belongs to
/// the client that has connected it, until that client ends the link or leaves.
public actor ProxyServer {
    /// How a proxy presents itself, and what it allows.
    public struct Configuration: Sendable {
        /// The name of the proxy in the network, such as `attic`.
        public var name: String
        /// The name for users.
        public var friendlyName: String
        /// The address by which clients know the proxy again, such as `AA:BB:CC:DD:EE:FF`.
        public var address: String
        /// The key that clients need. Nil for a proxy that does not encrypt: anybody in the network may then use the
        /// radio.
        public var key: EncryptionKey?
        /// The maximum number of links at the same time, of all clients together.
        public var connectionLimit: Int
        /// The maximum number of clients at the same time.
        public var clientLimit: Int

        /// Creates a configuration. Without a friendly name, the name is used.
        public init(
            name: String, friendlyName: String? = nil, address: String, key: EncryptionKey?, connectionLimit: Int = 5,
            clientLimit: Int = 16
        ) {
            (self.name, self.friendlyName, self.address) = (name, friendlyName ?? name, address)
            (self.key, self.connectionLimit, self.clientLimit) = (key, connectionLimit, clientLimit)
        }

        /// The address as 12 digits.
        var hexadecimalAddress: String { String(address.filter { $0 != ":" }).lowercased() }
    }

    nonisolated let loop = EventLoop(name: "proxy")
    /// For tasks that pass on what the central delivers.
    nonisolated let taskExecutor: LoopTaskExecutor
    /// The executor of the connections' loop.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    let central: Central
    let configuration: Configuration
    let logger: Logger
    var clients: [Int: ProxyClient] = [:]
    private var lastClient = 0
    /// The clock of the clients' limits.
    private let clock: any Clock<Duration>
    /// How long the server exists.
    private let age: @Sendable () -> Duration
    private var lastTimer = 0
    private var lastNumber = 0
    var slots: LinkSlots
    /// What follows each link until its end, by the number of its hold.
    var links: [Int: HeldLink] = [:]
    /// What removes the bonds of peripherals, which are held until it has ended.
    var unpairs: [UInt64: ProxyRequest] = [:]
    /// Those who wait for a peripheral whose link is ending, in the order in which they have asked. Each waits once.
    var awaited: [UInt64: [LinkWait]] = [:]
    /// The peripherals that this server has paired.
    var paired: Set<UInt64> = []
    var scan = ProxyScan()
    var observers = Observers<ProxyEvent>()
    /// The connections that were closed before their clients have greeted.
    private var refusals = Refusals<String>()
    private var listener: TCP.Listener?
    /// The end of ``run(host:port:onListening:)``.
    private var end: Outcome<Void>?
    private var isClosed = false

    /// - Parameter central: the central whose radio is offered. The server does not shut it down.
    public init(_ central: Central, _ configuration: Configuration, logger: Logger? = nil) {
        self.init(central, configuration, logger: logger, clock: central.configuration.clock)
    }

    package init(
        _ central: Central, _ configuration: Configuration, logger: Logger? = nil, clock: any Clock<Duration>
    ) {
        (self.central, self.configuration, self.clock) = (central, configuration, clock)
        age = Self.age(clock)
        taskExecutor = LoopTaskExecutor(loop)
        slots = LinkSlots(limit: configuration.connectionLimit, isShared: configuration.clientLimit > 1)
        self.logger = logger ?? Logger(label: "ble")
    }

    private static func age<Time: Clock<Duration>>(_ clock: Time) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// The number of a request, or of what passes on notifications.
    func nextNumber() -> Int {
        lastNumber += 1
        return lastNumber
    }

    // MARK: Listening

    /// Accepts clients until the task is cancelled or the proxy closed, and ends their connections and links then.
    ///
    /// Throws `busy` if another program listens at the port, and `failed` if this machine does not have the address, or
    /// if the proxy listens already or was closed.
    ///
    /// - Parameters:
    ///   - host: the address to listen at, as numbers: `127.0.0.1` for this machine alone.
    ///   - port: the port. 0 for any that is free.
    ///   - onListening: called with the port once clients are accepted.
    public func run(
        host: String = "127.0.0.1", port: UInt16 = 6053, onListening: @Sendable (UInt16) -> Void = { _ in }
    ) async throws(BLEError) {
        guard !isClosed else { throw BLEError(.failed, "the proxy was closed", isRetryable: false) }
        guard end == nil else { throw BLEError(.failed, "the proxy listens already", isRetryable: false) }
        let end = Outcome<Void>()
        do throws(LoopError) {
            try loop.prepare()
            let listener = try TCP.listen(host, port: port, on: loop) { [weak self, loop] descriptor in
                guard let self else { return }
                enter(isCurrent: loop.isCurrent, with: descriptor) { $0.accept($1, from: TCP.source(of: $1)) }
            }
            (self.listener, self.end) = (listener, end)
            onListening(listener.port)
        } catch {
            throw BLEError(error, listeningAt: host, port: port)
        }
        // Ended by the cancellation, or by `close()`.
        try? await end.wait()
        await close()
    }

    /// Ends all connections, and the links of the clients. Returns when these have ended, and the removal of bonds that
    /// clients have asked for.
    public func close() async {
        isClosed = true
        listener?.close()
        listener = nil
        end?.deliver(.success(()))
        for (id, client) in clients {
            if client.hasGreeted { send(.disconnect(reason: 0), to: id) }
            remove(id)
        }
        for link in links.values { link.task.cancel() }
        for link in links.values { await link.task.value }
        // Those without a link. They are not cancelled.
        for request in unpairs.values { await request.task.value }
        if let told = refusals.next() { observers.yield(.clientRefused(reason: told.last, count: told.count)) }
        observers.finish()
    }

    // MARK: Events

    /// What happens from now on, until the proxy is closed. Keeps the newest 256 unread events.
    public func events() -> BoundedStream<ProxyEvent> {
        guard !isClosed else { return Observers.ended() }
        return observers.add(capacity: 256) { [weak self] token in
            Task { await self?.removeObserver(token) }
        }
    }

    private func removeObserver(_ token: Int) { observers.remove(token) }

    /// Serves a client over a stream.
    ///
    /// - Parameter source: the address that it comes from; see ``SilentConnections``.
    package func accept(_ descriptor: FileDescriptor, from source: [UInt8] = []) {
        guard !isClosed, (try? loop.prepare()) != nil else { return }
        guard hasPlace else { return refuse(full) }
        makeRoom(for: source)
        lastClient += 1
        let id = lastClient
        let client = ProxyClient(
            StreamSocket(descriptor, on: loop),
            MessageChannel(server: configuration.key, name: configuration.name, mac: configuration.hexadecimalAddress),
            from: source)
        clients[id] = client
        client.socket.open { [weak self, loop] bytes in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.receive(bytes, id) }
        } onEnd: { [weak self, loop] in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.remove(id) }
        }
        setTimer(of: id, after: Self.greetingLimit) { server in
            server.refuse("it did not greet within 10 s")
            server.remove(id)
        }
    }

    private var full: String { "there are \(configuration.clientLimit) clients already" }

    /// Tells that a connection is refused, at most once in a second.
    func refuse(_ reason: String) { tell(refusals.record(reason)) }

    private func tell(_ told: Refusals<String>.Told?) {
        guard let told else { return }
        observers.yield(.clientRefused(reason: told.last, count: told.count))
        _ = call(after: Refusals<String>.pause) { server in server.tell(server.refusals.next()) }
    }

    /// Does something after a duration.
    func call(after duration: Duration, _ work: @escaping @Sendable (isolated ProxyServer) -> Void) -> Expiry {
        Expiry(after: duration, clock: clock) { [weak self, loop] in
            loop.perform { [weak self] in self?.assumeIsolated { work($0) } }
        }
    }

    /// Sets what happens to a client after a duration, in place of what was set before.
    private func setTimer(
        of id: Int, after duration: Duration, _ work: @escaping @Sendable (isolated ProxyServer) -> Void
    ) {
        lastTimer += 1
        let number = lastTimer
        clients[id]?.timer?.expiry.cancel()
        let expiry = call(after: duration) { server in
            // It may have been replaced meanwhile.
            guard server.clients[id]?.timer?.number == number else { return }
            work(server)
        }
        clients[id]?.timer = (number, expiry)
    }

    /// The time that a connection has to greet.
    private static let greetingLimit = Duration.seconds(10)

    /// Whether another client may greet.
    private var hasPlace: Bool { clients.count { $0.value.hasGreeted } < configuration.clientLimit }

    /// The maximum number of Unicode scalars of a client's name that are kept.
    private static let longestName = 64

    /// When a silent client is pinged, and when it is removed, after the last byte of it.
    private static let (pingTime, silenceLimit) = (Duration.seconds(60), Duration.seconds(150))

    /// Pings or removes a client if that is due, and looks again when the next one is.
    private func watch(_ id: Int) {
        guard let client = clients[id] else { return }
        let now = age()
        let silence = now - client.lastReceived
        guard silence < Self.silenceLimit else { return remove(id) }
        if silence >= Self.pingTime, client.lastPing <= client.lastReceived {
            client.lastPing = now
            send(.ping, to: id)
        }
        let isPinged = client.lastPing > client.lastReceived
        setTimer(of: id, after: (isPinged ? Self.silenceLimit : Self.pingTime) - silence) { $0.watch(id) }
    }

    // MARK: Messages

    private func receive(_ bytes: ArraySlice<UInt8>, _ id: Int) {
        guard let client = clients[id] else { return }
        client.lastReceived = age()
        client.channel.append(bytes)
        client.isHandling = true
        var refusal: WireError?
        do throws(WireError) {
            while clients[id] != nil, let event = try client.channel.next() {
                if case .received(let message) = event { handle(message, id, client) }
            }
        } catch {
            refusal = error
        }
        client.isHandling = false
        client.flush()
        guard let refusal else { return }
        let text = refusal.text(of: "the client")
        logger.debug("a client of the proxy is refused", metadata: ["error": "\(text)"])
        if !client.hasGreeted { refuse(text) }
        remove(id)
    }

    /// The maximum number of bytes that wait for a client. One that is slower loses its connection.
    private static let maximumUnsent = 1 << 20

    /// Sends a message. Does nothing if the client is gone. Returns false if the message is too long.
    @discardableResult func send(_ message: ProxyMessage, to id: Int) -> Bool {
        guard let client = clients[id], client.channel.isOpen else { return true }
        guard client.socket.unsentCount < Self.maximumUnsent else {
            dropSlowClient(id)
            return true
        }
        do throws(WireError) {
            try client.channel.send(message)
        } catch {
            logger.debug("not sent", metadata: ["error": "\(error)"])
            client.flush()
            return false
        }
        client.flush()
        return true
    }

    /// Ends the connection of a client that does not take what must not be dropped.
    func dropSlowClient(_ id: Int) {
        logger.info("a client of the proxy is too slow")
        remove(id)
    }

    /// Ends a client's connection, and what it holds.
    func remove(_ id: Int) {
        guard let client = clients.removeValue(forKey: id) else { return }
        client.end()
        if let event = client.event {
            tellMissed(client)
            observers.yield(.clientDisconnected(event, dropped: client.advertisements.droppedCount))
        }
        endLinks(of: id)
        updateScan()
    }

    private func handle(_ message: ProxyMessage, _ id: Int, _ client: ProxyClient) {
        switch message {
        case .hello(let name, let version):
            client.channel.version = version
            if !client.hasGreeted {
                guard hasPlace else {
                    refuse(full)
                    return remove(id)
                }
                let scalars = name.unicodeScalars.prefix(Self.longestName)
                let event = ProxyEvent.Client(number: id, name: String(String.UnicodeScalarView(scalars)))
                client.event = event
                observers.yield(.clientConnected(event))
                watch(id)
            }
            send(.helloAnswer(version: .current, server: "swift-ble", name: configuration.name), to: id)
        case .disconnect:
            send(.disconnectAnswer, to: id)
            remove(id)
        case .disconnectAnswer: remove(id)
        case .ping: send(.pingAnswer, to: id)
        case .deviceInfoRequest: send(.deviceInfo(Self.info(configuration)), to: id)
        case .capabilitiesRequest: send(.capabilities(Self.features, mac: configuration.address), to: id)
        case .listEntities: send(.listEntitiesDone, to: id)
        default:
            // Nothing of the radio before the greeting.
            guard client.hasGreeted else { return }
            handleRadio(message, id, client)
        }
    }

    private static let features: ProxyFeatures = [
        .passiveScan, .connections, .remoteCaching, .pairing, .cacheClearing, .rawAdvertisements, .scannerState,
    ]

    static func info(_ configuration: Configuration) -> ProxyInfo {
        var info = ProxyInfo()
        (info.name, info.friendlyName) = (configuration.name, configuration.friendlyName)
        (info.mac, info.bluetoothMAC) = (configuration.address, configuration.address)
        // Home Assistant reports a problem with a proxy before this version.
        (info.version, info.model, info.manufacturer) = ("2026.6.0", "swift-ble", "swift-ble")
        (info.projectName, info.projectVersion) = ("swift-ble.proxy", "1")
        (info.features, info.isEncryptionSupported) = (features, configuration.key != nil)
        return info
    }
}
