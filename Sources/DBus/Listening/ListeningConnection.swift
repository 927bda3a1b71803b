internal import CGLib
internal import Waiting

#if canImport(Glibc)
    internal import Glibc
#elseif canImport(Musl)
    internal import Musl
#endif

/// The listening half of a bus session: signals, and the few calls whose answers must be in order with them.
///
/// Reads the socket itself, and each message in place; see Docs/Decisions/0004 for the reasons.
///
/// Safe to share because everything except `init` happens on the loop's thread, which each entry point checks.
final class ListeningConnection: @unchecked Sendable {
    private let loop: EventLoop
    private let onSignal: @Sendable (IncomingMessage) -> Void
    private let onOwner: @Sendable (String?) -> Void
    /// The service whose messages are accepted; nil accepts those of every sender.
    private var service: NameOwner?
    private let onLoss: @Sendable () -> Void
    private var socket: BusSocket?
    private var source: UnsafeMutablePointer<GSource>?
    private var buffer = ReceiveBuffer()
    /// The bytes that the socket has not accepted yet.
    private var outgoing: ArraySlice<UInt8> = []
    private let calls: OrderedCalls
    /// The state of the handshake; nil when messages follow.
    private var handshake: (state: Handshake, outcome: BusOutcome<Void>)?
    /// Whether the buffer may contain messages that have not been delivered.
    private var hasMessages = false

    /// The maximum number of messages to deliver before the loop does its other work.
    private static let messagesPerTurn = 64

    /// - Parameters:
    ///   - service: the name of the only service to call and to accept messages from; nil accepts those of every
    ///     sender.
    ///   - onOwner: called when the name has a new owner, in order with the signals.
    init(
        loop: EventLoop, service: String?, onSignal: @escaping @Sendable (IncomingMessage) -> Void,
        onOwner: @escaping @Sendable (String?) -> Void, onLoss: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.service = service.map { NameOwner(of: $0) }
        self.onSignal = onSignal
        self.onOwner = onOwner
        self.onLoss = onLoss
        calls = OrderedCalls(loop)
    }

    deinit {
        // Closed on the loop's thread: a session that is released while open closes its connections there.
        assert(socket == nil, "dropped while open")
    }

    var isOpen: Bool { socket != nil }

    static let closed = DBusError(.disconnected, message: "the connection to the bus is closed")

    // MARK: Opening and closing

    /// Connects, authenticates and calls `Hello`. Throws `.unreachable` if there is no bus at `address`.
    func open(address: String, timeout: Duration) async throws(DBusError) {
        loop.checkIsolated()
        let (connected, authenticated) = (BusOutcome<BusSocket>(), BusOutcome<Void>())
        let timer = loop.schedule(after: timeout) {
            let late = DBusError(.timedOut, message: "no answer from the bus within \(timeout)")
            connected.deliver(.failure(late))
            authenticated.deliver(.failure(late))
        }
        defer { timer.cancel() }
        do throws(DBusError) {
            attach(try await BusSocket.connect(address, until: connected))
            handshake = (Handshake(), authenticated)
            send(Handshake.start(userID: geteuid()))
            try await authenticated.wait()
        } catch {
            throw error.kind == .disconnected
                ? DBusError(.unreachable, name: error.name, message: error.message) : error
        }
        try await ask(.bus("Hello"), timeout: timeout) { _ in }
        guard let service else { return }
        // Subscribe before asking, so that no change is missed.
        try await addMatch(
            "type='signal',sender='\(NameOwner.bus)',interface='\(NameOwner.bus)',member='NameOwnerChanged',"
                + "arg0='\(service.name)'", timeout: timeout)
        _ = try await askOwner(timeout: timeout)
    }

    /// Asks the bus for the owner of the service's name, and accepts that owner's messages from then on.
    func askOwner(timeout: Duration) async throws(DBusError) -> String? {
        guard let name = service?.name else { return nil }
        var owner: String?
        do throws(DBusError) {
            owner = try await ask(.bus("GetNameOwner", [.string(name)]), timeout: timeout) {
                [weak self] (body) throws(DBusError) in
                let owner = try body.string()
                // Here and not in the caller, because signals of the owner may follow immediately.
                self?.service?.learn(owner)
                return owner
            }
        } catch {
            guard error.name == "org.freedesktop.DBus.Error.NameHasNoOwner" else { throw error }
        }
        return owner
    }

    var owner: String? { service?.owner }

    private func attach(_ socket: BusSocket) {
        self.socket = socket
        var actions = BLESourceActions()
        actions.context = Unmanaged.passUnretained(self).toOpaque()
        actions.ready = { me in
            Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().hasMessages ? 1 : 0
        }
        actions.run = { me, condition in
            Unmanaged<ListeningConnection>.fromOpaque(me!).takeUnretainedValue().run(condition)
        }
        source = ble_source_attach(loop.context, socket.descriptor, G_IO_IN, actions)
    }

    /// Closes immediately. Pending calls fail with `.disconnected`. The loss handler is not called.
    func close() {
        loop.checkIsolated()
        guard socket != nil else { return }
        socket = nil
        hasMessages = false
        if let source {
            g_source_destroy(source)
            g_source_unref(source)
            self.source = nil
        }
        handshake?.outcome.deliver(.failure(Self.closed))
        handshake = nil
        calls.close(Self.closed)
    }

    private func lose() {
        guard socket != nil else { return }
        // While the connection is being opened, there is nothing to lose: the caller of `open` gets the error.
        let wasOpening = handshake != nil
        close()
        if !wasOpening { onLoss() }
    }

    // MARK: The socket

    private func run(_ condition: GIOCondition) {
        // A handler may release the session, the last owner of this connection, while the message is still in the
        // buffer.
        withExtendedLifetime(self) {
            if condition.rawValue & G_IO_OUT.rawValue != 0 { flush() }
            if deliver() {
                // Nothing is read while there are messages to deliver: the socket keeps what does not fit.
                receive()
                _ = deliver()
            }
            // The work that the messages have started runs immediately, without another turn of the loop.
            loop.runPending()
        }
    }

    private func receive() {
        guard let socket else { return }
        switch socket.read(into: buffer.space()) {
        case .bytes(let count): buffer.received(count)
        case .nothingYet: break
        case .over: lose()
        }
    }

    func send(_ bytes: [UInt8]) {
        outgoing += bytes
        flush()
    }

    /// Writes what the socket accepts. Returns false if the socket is broken.
    private func write(to socket: BusSocket) -> Bool {
        guard let count = socket.write(outgoing) else { return false }
        outgoing.removeFirst(count)
        return true
    }

    private func flush() {
        guard let socket, let source else { return }
        guard outgoing.isEmpty || write(to: socket) else {
            return lose()
        }
        let condition = G_IO_IN.rawValue | (outgoing.isEmpty ? 0 : G_IO_OUT.rawValue)
        ble_source_set_condition(source, GIOCondition(rawValue: condition))
    }

    // MARK: Receiving

    /// Delivers complete messages. Returns true if none is left, and false if the connection's turn is over before.
    private func deliver() -> Bool {
        if handshake != nil, !shakeHands() { return true }
        do throws(DBusError) {
            for _ in 0..<Self.messagesPerTurn {
                guard socket != nil, let message = try buffer.nextMessage() else {
                    hasMessages = false
                    return socket != nil
                }
                receive(message)
            }
        } catch {
            // After an invalid message, the start of the next one is unknown.
            lose()
            return false
        }
        hasMessages = socket != nil
        return false
    }

    /// Continues the handshake. Returns true when messages follow.
    private func shakeHands() -> Bool {
        guard let line = buffer.nextLine(), let outcome = handshake?.outcome, let step = handshake?.state.receive(line)
        else { return false }
        switch step {
        case .send(let bytes):
            send(bytes)
            return false
        case .done(let bytes):
            handshake = nil
            send(bytes)
            outcome.deliver(.success(()))
            return true
        case .fail(let reason):
            outcome.deliver(.failure(DBusError(.unreachable, message: reason)))
            return false
        }
    }

    private func receive(_ message: IncomingMessage) {
        switch message.kind {
        case .signal:
            switch service?.judge(message) {
            case nil, .genuine: onSignal(message)
            case .changed(let owner): onOwner(owner)
            case .foreign: break
            }
        case .answer, .error:
            calls.answered(message, by: service)
        case .call where !message.wantsNoReply:
            let name = "org.freedesktop.DBus.Error.UnknownMethod"
            let answer = try? OutgoingMessage.error(
                name, "nothing is served here", to: message.sender.string, replyingTo: message.serial,
                serial: calls.nextSerial())
            if let answer { send(answer) }
        case .call, nil:
            break
        }
    }

    // MARK: Calls

    /// Makes a call whose answer is read in order with the signals.
    ///
    /// `read` runs on the loop's thread, between the signals that arrive before the answer and those that arrive after
    /// it.
    func ask<Value: Sendable>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        try await calls.ask(call, over: self, timeout: timeout, read: read)
    }

    /// Asks the bus for the signals that match `rule`.
    func addMatch(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await ask(.bus("AddMatch", [.string(rule)]), timeout: timeout) { _ in }
    }
}
