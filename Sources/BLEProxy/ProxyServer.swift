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
    private var lastTimer = 0
    var slots: LinkSlots
    /// What follows each link until its end, by the number of its hold.
    var links: [Int: Task<Void, Never>] = [:]
    var scan = ProxyScan()
    var observers = Observers<ProxyEvent>()
    private var listener: TCP.Listener?
    private var isClosed = false

    /// - Parameter central: the central whose radio is offered. The server does not shut it down.
    public init(_ central: Central, _ configuration: Configuration, logger: Logger? = nil) {
        self.init(central, configuration, logger: logger, clock: central.configuration.clock)
    }

    package init(
        _ central: Central, _ configuration: Configuration, logger: Logger? = nil, clock: any Clock<Duration>
    ) {
        (self.central, self.configuration, self.clock) = (central, configuration, clock)
        taskExecutor = LoopTaskExecutor(loop)
        slots = LinkSlots(limit: configuration.connectionLimit, isShared: configuration.clientLimit > 1)
        self.logger = logger ?? Logger(label: "ble")
    }

    // MARK: Listening

    /// Accepts clients until the task is cancelled, and ends their connections and links then.
    ///
    /// Throws `failed` if the port is in use.
    ///
    /// - Parameters:
    ///   - host: the address to listen at, as numbers: `127.0.0.1` for this machine alone.
    ///   - port: the port. 0 for any that is free.
    ///   - onListening: called with the port once clients are accepted.
    public func run(
        host: String = "127.0.0.1", port: UInt16 = 6053, onListening: @Sendable (UInt16) -> Void = { _ in }
    ) async throws(BLEError) {
        do throws(LoopError) {
            try loop.prepare()
            let listener = try TCP.listen(host, port: port, on: loop) { [weak self, loop] descriptor in
                guard let self else { return }
                enter(isCurrent: loop.isCurrent, with: descriptor) { $0.accept($1) }
            }
            self.listener = listener
            onListening(listener.port)
        } catch {
            throw BLEError(.failed, "the proxy cannot listen at \(host), port \(port): \(error)")
        }
        // Ended by the cancellation alone.
        try? await Outcome<Void>().wait()
        await close()
    }

    /// Ends all connections, and the links of the clients. Returns when these have ended.
    public func close() async {
        isClosed = true
        listener?.close()
        listener = nil
        for (id, client) in clients {
            if client.hasGreeted { send(.disconnect(reason: 0), to: id) }
            remove(id)
        }
        for link in links.values { await link.value }
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
    package func accept(_ descriptor: FileDescriptor) {
        guard !isClosed, hasPlace, (try? loop.prepare()) != nil else { return }
        // Connections that never greet, for want of the key, do not keep out those that do.
        let silent = clients.filter { !$0.value.hasGreeted }
        if silent.count >= Self.maximumSilent, let oldest = silent.keys.min() { remove(oldest) }
        lastClient += 1
        let id = lastClient
        let client = ProxyClient(
            StreamSocket(descriptor, on: loop),
            MessageChannel(server: configuration.key, name: configuration.name, mac: configuration.hexadecimalAddress))
        clients[id] = client
        client.socket.open { [weak self, loop] bytes in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.receive(bytes, id) }
        } onEnd: { [weak self, loop] in
            guard let self else { return }
            enter(isCurrent: loop.isCurrent) { $0.remove(id) }
        }
        setTimer(of: id, after: Self.greetingLimit) { $0.remove(id) }
    }

    /// Sets what happens to a client after a duration, in place of what was set before.
    private func setTimer(
        of id: Int, after duration: Duration, _ work: @escaping @Sendable (isolated ProxyServer) -> Void
    ) {
        lastTimer += 1
        let number = lastTimer
        clients[id]?.timer?.expiry.cancel()
        let expiry = Expiry(after: duration, clock: clock) { [weak self, loop] in
            loop.perform { [weak self] in
                self?.assumeIsolated { server in
                    // It may have been replaced meanwhile.
                    guard server.clients[id]?.timer?.number == number else { return }
                    work(server)
                }
            }
        }
        clients[id]?.timer = (number, expiry)
    }

    /// The maximum number of connections that have not greeted, and the time that they have for it.
    private static let (maximumSilent, greetingLimit) = (16, Duration.seconds(10))

    /// Whether another client may greet.
    private var hasPlace: Bool { clients.count { $0.value.hasGreeted } < configuration.clientLimit }

    /// The maximum number of characters of a client's name that are kept.
    private static let longestName = 64

    /// The period of the checks for silent clients.
    private static let watchInterval = Duration.seconds(30)

    private func watch(_ id: Int) {
        setTimer(of: id, after: Self.watchInterval) { $0.checkSilence(id) }
    }

    /// A client that is silent for 150 s is removed. It is pinged after 60 s.
    private func checkSilence(_ id: Int) {
        guard let client = clients[id] else { return }
        client.silence += Self.watchInterval
        guard client.silence < .seconds(150) else { return remove(id) }
        if client.silence >= .seconds(60) { send(.ping, to: id) }
        watch(id)
    }

    // MARK: Messages

    private func receive(_ bytes: ArraySlice<UInt8>, _ id: Int) {
        guard let client = clients[id] else { return }
        client.silence = .zero
        client.channel.append(bytes)
        do throws(WireError) {
            while clients[id] != nil, let event = try client.channel.next() {
                if case .received(let message) = event { handle(message, id, client) }
            }
        } catch {
            logger.debug("a client of the proxy is refused", metadata: ["error": "\(error)"])
            if !client.hasGreeted { observers.yield(.clientRefused(reason: "\(error)")) }
            client.flush()
            return remove(id)
        }
        client.flush()
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
                    let limit = configuration.clientLimit
                    observers.yield(.clientRefused(reason: "there are \(limit) clients already"))
                    return remove(id)
                }
                let event = ProxyEvent.Client(number: id, name: String(name.prefix(Self.longestName)))
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
