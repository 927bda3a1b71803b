package import Logging

/// One session on a message bus: calls and served objects through GDBus, signals and snapshots through a reader of its own.
///
/// Both connections live on the thread of ``loop``, which is also this actor's executor. No state is ever inferred from the
/// order of a call's reply and a signal, which travel on different connections; what must be in order is asked with
/// ``ask(_:timeout:read:)``. When either connection closes the session is lost as a whole, which is reported once.
package actor BusSession {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let logger: Logger
    private let service: String?
    private let signalHandler: @Sendable (IncomingMessage) -> Void
    private let ownerHandler: @Sendable (String?) -> Void
    private let lossHandler: @Sendable () -> Void
    private var calling: CallingConnection?
    private var listening: ListeningConnection?

    /// - Parameters:
    ///   - service: the name of the service that this session is for. Nobody else's signals, answers and calls are taken; see
    ///     Docs/Security.md. nil: everybody's are.
    ///   - onSignal: called on the loop's thread for every signal that comes, in order.
    ///   - onOwner: called on the loop's thread, in order with the signals, when the service's name has another owner: with its
    ///     unique name, or nil when the service is gone.
    ///   - onLoss: called on the loop's thread, once, when an open session is lost; not when it is closed.
    package init(
        loop: EventLoop, logger: Logger, service: String? = nil,
        onSignal: @escaping @Sendable (IncomingMessage) -> Void,
        onOwner: @escaping @Sendable (String?) -> Void = { _ in },
        onLoss: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.logger = logger
        self.service = service
        signalHandler = onSignal
        ownerHandler = onOwner
        lossHandler = onLoss
    }

    deinit {
        // Connections are closed on the loop's thread, which this may not be.
        let (calling, listening) = (calling, listening)
        guard calling != nil || listening != nil else { return }
        loop.perform {
            calling?.close()
            listening?.close()
        }
    }

    /// Connects both halves. Throws `.unreachable` where there is no bus, `.timedOut` where it does not answer.
    package func open(_ address: BusAddress, timeout: Duration) async throws(DBusError) {
        precondition(calling == nil && listening == nil, "opened twice")
        let lost: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.lose() } }
        let calling = CallingConnection(loop: loop, onLoss: lost)
        let listening = ListeningConnection(
            loop: loop, service: service, onSignal: signalHandler, onOwner: ownerHandler, onLoss: lost)
        do throws(DBusError) {
            let text =
                switch address {
                case .system: try CallingConnection.systemBusAddress()
                case .address(let text): text
                }
            try await calling.open(address: text, timeout: timeout)
            try await listening.open(address: text, timeout: timeout)
            // One half may have gone while the other came.
            guard calling.isOpen, listening.isOpen else {
                throw DBusError(.disconnected, message: "the connection to the bus was closed as soon as it was open")
            }
        } catch {
            calling.close()
            listening.close()
            throw error
        }
        (self.calling, self.listening) = (calling, listening)
        logger.debug("bus session open", metadata: ["bus": "\(address)", "name": "\(calling.uniqueName ?? "")"])
    }

    /// Closes both halves; what waits on them fails with `.disconnected`.
    package func close() {
        guard calling != nil || listening != nil else { return }
        let (calling, listening) = (calling, listening)
        (self.calling, self.listening) = (nil, nil)
        calling?.close()
        listening?.close()
        logger.debug("bus session closed")
    }

    private func lose() {
        guard calling != nil || listening != nil else { return }
        logger.info("bus session lost")
        close()
        lossHandler()
    }

    package var isOpen: Bool { calling != nil && listening != nil }

    /// The name that this session's calls come from.
    package var uniqueName: String? { calling?.uniqueName }

    /// The unique name of the service's connection; nil while there is none.
    package var owner: String? { listening?.owner }

    /// Asks the bus for ``owner``.
    @discardableResult package func askOwner(timeout: Duration) async throws(DBusError) -> String? {
        try await get(listening).askOwner(timeout: timeout)
    }

    private func get<Connection>(_ connection: Connection?) throws(DBusError) -> Connection {
        guard let connection else { throw DBusError(.disconnected, message: "the bus session is not open") }
        return connection
    }

    // MARK: Speaking

    /// Makes a call and waits for its answer, at most `timeout`. A service that is not running is not started.
    ///
    /// Cancelling the task ends the wait, not the call.
    package func call(_ call: MethodCall, timeout: Duration) async throws(DBusError) -> MethodReply {
        try await get(calling).call(call, timeout: timeout)
    }

    /// Serves an interface of an object until the returned number is given to ``unexport(_:)``.
    ///
    /// Of a session for one service, only that service is answered.
    package func export(_ object: ExportedObject) throws(DBusError) -> UInt32 {
        var object = object
        if service != nil {
            object.admits = { [weak self] sender in self?.assumeIsolated { $0.owner == sender } ?? false }
        }
        return try get(calling).export(object)
    }

    package func unexport(_ id: UInt32) {
        calling?.unexport(id)
    }

    /// Sends a signal to all who listen for it, or with a destination to that connection alone, whether it listens or not.
    package func emit(
        path: String, interface: String, signal: String, _ arguments: [DBusValue], to destination: String? = nil
    ) throws(DBusError) {
        try get(calling).emit(path: path, interface: interface, signal: signal, arguments, to: destination)
    }

    // MARK: Listening

    /// Asks the bus for the signals that match `rule`, in D-Bus's match rule notation.
    package func listen(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await get(listening).addMatch(rule, timeout: timeout)
    }

    /// Makes a call whose answer comes in order with the signals.
    ///
    /// `read` runs on the loop's thread, after the signals that were sent before the answer and before those sent later.
    package func ask<Value: Sendable>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        try await get(listening).ask(call, timeout: timeout, read: read)
    }
}
