package import Logging
package import Loop
internal import Waiting

/// A session on a message bus: calls, served objects and signals.
///
/// Its connection runs on the thread of ``loop``, which is also this actor's executor. Messages are in order: the
/// answer to a call is read between the signals that were sent before and after it. When the connection closes, the
/// session is lost, which is reported once.
package actor BusSession {
    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private let logger: Logger
    let service: String?
    private let refusals: CallRefusals
    private let signalHandler: @Sendable (IncomingMessage) -> Void
    private let ownerHandler: @Sendable (String?) -> Void
    private let lossHandler: @Sendable () -> Void
    private var connection: BusConnection?

    /// - Parameters:
    ///   - service: the name of the service that this session is for. Signals, answers and calls of other senders are
    ///     not accepted; see Docs/Security.md. Nil accepts those of every sender.
    ///   - refusals: how calls of served objects are refused.
    ///   - onSignal: called on the loop's thread for every signal, in order.
    ///   - onOwner: called on the loop's thread, in order with the signals, when the service's name has a new owner:
    ///     with its unique name, or nil if the service is gone.
    ///   - onLoss: called once, on the loop's thread, when an open session is lost. Not called when it is closed.
    package init(
        loop: EventLoop, logger: Logger, service: String? = nil, refusals: CallRefusals = CallRefusals(),
        onSignal: @escaping @Sendable (IncomingMessage) -> Void,
        onOwner: @escaping @Sendable (String?) -> Void = { _ in },
        onLoss: @escaping @Sendable () -> Void
    ) {
        self.loop = loop
        self.logger = logger
        self.service = service
        self.refusals = refusals
        signalHandler = onSignal
        ownerHandler = onOwner
        lossHandler = onLoss
    }

    deinit {
        // Connections must be closed on the loop's thread, and this may run on another.
        guard let connection else { return }
        loop.perform { connection.close() }
    }

    /// Opens the connection. Throws `.unreachable` if there is no bus, `.timedOut` if it does not answer, and
    /// `.exhausted` without descriptors.
    package func open(_ address: BusAddress, timeout: Duration) async throws(DBusError) {
        precondition(connection == nil, "opened twice")
        let lost: @Sendable () -> Void = { [weak self] in self?.assumeIsolated { $0.lose() } }
        let connection = BusConnection(
            loop: loop, service: service, refusals: refusals, onSignal: signalHandler, onOwner: ownerHandler,
            onLoss: lost)
        do throws(DBusError) {
            try await connection.open(address, timeout: timeout)
            guard connection.isOpen else {
                throw DBusError(.disconnected, message: "the connection to the bus was closed as soon as it was open")
            }
        } catch {
            connection.close()
            throw error
        }
        self.connection = connection
        logger.debug("bus session open", metadata: ["bus": "\(address)", "name": "\(connection.uniqueName ?? "")"])
    }

    /// Closes the connection. Pending calls fail with `.disconnected`.
    package func close() {
        guard let connection else { return }
        self.connection = nil
        connection.close()
        logger.debug("bus session closed")
    }

    private func lose() {
        guard connection != nil else { return }
        logger.info("bus session lost")
        close()
        lossHandler()
    }

    package var isOpen: Bool { connection != nil }

    /// The unique name that this session's calls are sent from.
    package var uniqueName: String? { connection?.uniqueName }

    /// The unique name of the service's connection; nil if there is none.
    package var owner: String? { connection?.owner }

    /// What distinguishes that connection from all others, of this bus and of earlier ones.
    package var ownerIdentity: String? { connection?.ownerIdentity }

    /// Asks the bus for the current ``owner``.
    @discardableResult package func askOwner(timeout: Duration) async throws(DBusError) -> String? {
        try await open().askOwner(timeout: timeout)
    }

    func open() throws(DBusError) -> BusConnection {
        guard let connection else { throw DBusError(.disconnected, message: "the bus session is not open") }
        return connection
    }

    /// Runs `body` in the session's isolation, on the loop's thread.
    package nonisolated func enter<Value: Sendable>(
        _ body: (isolated BusSession) throws -> Value
    ) rethrows -> Value {
        try enter(isCurrent: loop.isCurrent, body)
    }

    // MARK: Calls and served objects

    /// Makes a call and waits at most `timeout` for its answer. Does not start a service that is not running.
    ///
    /// Cancelling the task ends the wait, but not the call.
    package func call(_ call: MethodCall, timeout: Duration) async throws(DBusError) -> MethodReply {
        try await open().call(call, timeout: timeout)
    }

    /// Makes a call that wants no answer, and waits for nothing. The bus does not count it among the unanswered ones,
    /// and drops it if the receiver does not read.
    package func send(_ call: MethodCall) throws(DBusError) { try open().send(call) }

    /// Serves an interface of an object until the returned number is passed to ``unexport(_:)``.
    ///
    /// In a session for one service, only that service may call it.
    package func export(_ object: ExportedObject) throws(DBusError) -> UInt32 {
        try open().served.add(object)
    }

    package func unexport(_ id: UInt32) {
        connection?.served.remove(id)
    }

    /// Sends a signal to one destination, whether or not it has subscribed. By default, a session for one service sends
    /// the signal only to that service, and any other session to all connections that have subscribed.
    package func emit(
        path: String, interface: String, signal: String, _ arguments: [DBusValue], to destination: String? = nil
    ) throws(DBusError) {
        try open().emit(OutgoingSignal(path, interface, signal, arguments), to: destination)
    }

    // MARK: Signals, and answers in order with them

    /// Lets signals wait to be handled together: how much later than it could be one may be read, while they are
    /// frequent and no call is pending.
    package func setTolerance(_ tolerance: Duration) { connection?.setTolerance(tolerance) }

    /// Asks the bus for the signals that match `rule`, in D-Bus's match rule notation.
    package func listen(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await open().addMatch(rule, timeout: timeout)
    }

    /// Takes back one ``listen(_:timeout:)`` with the same rule.
    package func stopListening(_ rule: String, timeout: Duration) async throws(DBusError) {
        try await open().removeMatch(rule, timeout: timeout)
    }

    /// Makes a call whose answer arrives in order with the signals.
    ///
    /// `read` runs on the loop's thread, after the signals that were sent before the answer, and before those sent
    /// later.
    package func ask<Value: Sendable>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value
    ) async throws(DBusError) -> Value {
        try await open().ask(call, timeout: timeout, read: read)
    }

    /// Starts a call whose answer arrives in order with the signals.
    ///
    /// `read` runs as in ``ask(_:timeout:read:)``. `completion` is called once on the loop's thread with its result or
    /// the error of the call, possibly before this returns, and not at all if the call is withdrawn.
    package func start<Value>(
        _ call: MethodCall, timeout: Duration,
        read: @escaping @Sendable (inout MessageReader) throws(DBusError) -> Value,
        completion: @escaping @Sendable (Result<Value, DBusError>) -> Void
    ) throws(DBusError) -> PendingCall {
        try open().start(call, timeout: timeout, read: read, completion: completion)
    }

    /// Ends a call that was not sent yet. Returns whether it was one.
    package func withdraw(_ call: PendingCall) -> Bool { connection?.withdraw(call) ?? false }

    /// Returns the calls that were sent and may still be answered, whether or not anybody waits for it.
    package func unanswered(where matches: (PendingCall) -> Bool) -> [PendingCall] {
        connection?.unanswered(where: matches) ?? []
    }

    /// The number of calls over the open connection that will never be answered.
    package var lostCount: Int { connection?.lostCount ?? 0 }

    /// Fails calls that will never be answered. They no longer delay other calls for their objects, but the bus counts
    /// them until the session is closed.
    package func lose(_ lost: [PendingCall], _ error: DBusError) { connection?.lose(lost, error) }
}
