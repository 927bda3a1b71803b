public import BLE
internal import Waiting

/// Exchanges requests and replies with a peripheral, over one characteristic that is written and one that notifies.
///
/// A request waits for the reply with its key (``TransactionCodec``). Only one request with a given key is in progress
/// at a time; others wait. A request ends with its reply, at its deadline, by cancellation, or with the link. Requests
/// are written one after another, in the order in which they were sent, except that a request whose key is in use is
/// passed by others.
///
/// Use only one session at a time for the same characteristics: two would receive each other's replies.
public actor TransactionSession<Codec: TransactionCodec> {
    struct Request {
        let request: Codec.Request
        let key: Codec.Key
        /// Delivers the reply, or nil once a request without a reply is written.
        let outcome: Outcome<Codec.Reply?>
        let isAnswered: Bool
        var isUnderWay = false
        /// The last problem while the request was in progress. It may be the reason for a missing reply.
        var problem: BLEError?
    }

    /// The peripheral.
    public nonisolated let peripheral: Peripheral
    /// The configuration that the session was created with.
    public nonisolated let configuration: TransactionConfiguration
    /// The counts of messages and errors so far.
    public internal(set) var counters = TransactionCounters()

    var codec: Codec
    var queue = TransactionQueue<Codec.Key>()
    var requests: [Int: Request] = [:]
    private var lastToken = 0
    var writing: Task<Void, Never>?
    /// Whether writing waits for the link.
    var isConnecting = false
    /// The request that is being written.
    var written: Int?
    /// The tasks that end the grace periods of late replies.
    var graces: [Int: Task<Void, Never>] = [:]
    private var starting: SharedWork<Void>?
    var listening: (number: Int, task: Task<Void, Never>)?
    var listeners = TransactionListeners<Codec.Reply>()
    var end: BLEError?
    private var endWaiters: [Int: Outcome<BLEError>] = [:]

    /// The central's executor, so that values are processed on the thread where they arrive.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { peripheral.central.unownedExecutor }

    /// Creates a session. Nothing happens before ``start()`` or the first request.
    public init(_ peripheral: Peripheral, codec: Codec, configuration: TransactionConfiguration) {
        self.peripheral = peripheral
        self.codec = codec
        self.configuration = configuration
    }

    deinit {
        listening?.task.cancel()
        for grace in graces.values { grace.cancel() }
        listeners.end(Self.closed)
    }

    // MARK: Start and end

    /// Connects if there is no link, and enables the peripheral's notifications. Requests do this automatically.
    public func start() async throws(BLEError) {
        try checkOpen()
        guard listening == nil else { return }
        if let starting, !starting.isOver, let waiter = starting.join() {
            return try await starting.value(of: waiter)
        }
        let work = SharedWork { [weak self] () throws(BLEError) in _ = try await self?.listen() }
        starting = work
        guard let waiter = work.join() else { throw .cancelled }
        try await work.value(of: waiter)
    }

    private static var closed: BLEError { BLEError(.connectionCancelled, "the session was ended", isRetryable: false) }

    /// Ends the session. Pending requests fail with `connectionCancelled`. The link stays.
    public func close() { close(Self.closed) }

    func close(_ error: BLEError) {
        guard end == nil else { return }
        end = error
        listening?.task.cancel()
        listening = nil
        codec.reset()
        endGraces()
        for id in queue.interrupt() + queue.removeWaiting() { settle(id, .failure(error)) }
        listeners.end(error)
        for waiter in endWaiters.values { waiter.deliver(.success(error)) }
        endWaiters = [:]
    }

    /// Waits until the session ends, and returns the reason. Throws `cancelled`.
    public func untilClosed() async throws(BLEError) -> BLEError {
        if let end { return end }
        let (token, outcome) = (token(), Outcome<BLEError>())
        endWaiters[token] = outcome
        defer { endWaiters[token] = nil }
        return try await outcome.wait()
    }

    var isClosed: Bool { end != nil }

    func checkOpen() throws(BLEError) {
        if let end { throw end }
        if Task.isCancelled { throw .cancelled }
    }

    // MARK: Requests

    /// Sends a request and returns its reply.
    ///
    /// Throws `commandTimedOut` if there is no reply in time, with the last problem during the request as its cause;
    /// `disconnected` if the link ends first; and the errors of writing.
    ///
    /// - Parameter timeout: the maximum time for waiting, connecting, writing and the reply together. Nil for the
    ///   configuration's timeout.
    public func send(_ request: Codec.Request, timeout: Duration? = nil) async throws(BLEError) -> Codec.Reply {
        guard let reply = try await submit(request, isAnswered: true, timeout) else {
            preconditionFailure("a request with a reply ends with the reply or an error")
        }
        return reply
    }

    /// Sends a request that has no reply. Returns when it is written.
    public func post(_ request: Codec.Request, timeout: Duration? = nil) async throws(BLEError) {
        _ = try await submit(request, isAnswered: false, timeout)
    }

    private func submit(
        _ request: Codec.Request, isAnswered: Bool, _ timeout: Duration?
    ) async throws(BLEError) -> Codec.Reply? {
        try checkOpen()
        let timeout = timeout ?? configuration.replyTimeout
        let (id, key, outcome) = (token(), codec.key(of: request), Outcome<Codec.Reply?>())
        requests[id] = Request(request: request, key: key, outcome: outcome, isAnswered: isAnswered)
        queue.add(id, key)
        let timer = Expiry(after: timeout, clock: peripheral.central.clock) { [weak self] in
            Task { await self?.timeOut(id, after: timeout) }
        }
        defer {
            timer.cancel()
            giveUp(id)
        }
        writeNext()
        return try await outcome.wait()
    }

    func timeOut(_ id: Int, after timeout: Duration) {
        guard let request = requests[id] else { return }
        let name = codec.name(of: request.request)
        let message =
            if request.isUnderWay {
                "no reply to \(name) within \(timeout)"
            } else {
                "\(name) could not be sent within \(timeout): "
                    + (isConnecting ? "there was no link" : "other requests were first")
            }
        let error = BLEError(
            .commandTimedOut, message, peripheral: peripheral.id, service: configuration.request.service,
            characteristic: configuration.request.characteristic, isRetryable: true, cause: request.problem)
        // An incomplete reply must not be completed by the next one.
        if !requests.contains(where: { $0.key != id && $0.value.isUnderWay }) { codec.discardPartial() }
        request.outcome.deliver(.failure(error))
    }

    /// Delivers the result of a request. Only the first result counts.
    func settle(_ id: Int, _ result: Result<Codec.Reply?, BLEError>) {
        requests.removeValue(forKey: id)?.outcome.deliver(result)
    }

    /// Abandons a request whose caller no longer waits. A written request blocks its key for the grace period.
    private func giveUp(_ id: Int) {
        guard let request = requests.removeValue(forKey: id) else { return }
        let mayComeLate = queue.giveUp(id, request.key)
        // No request needs the link any longer.
        if requests.isEmpty, isConnecting { writing?.cancel() }
        // For a request that is still being written, the grace period begins afterward.
        if mayComeLate, written != id { beginGrace(id, request.key) }
    }

    func beginGrace(_ id: Int, _ key: Codec.Key) {
        graces[id] = .after(
            configuration.lateReplyGrace, clock: peripheral.central.clock, on: self,
            executor: peripheral.central.taskExecutor
        ) {
            $0.graceEnded(id, key)
        }
    }

    private func graceEnded(_ id: Int, _ key: Codec.Key) {
        graces[id] = nil
        queue.graceEnded(id, key)
        writeNext()
    }

    /// Ends all grace periods. No late reply can arrive after the link has ended.
    func endGraces() {
        for grace in graces.values { grace.cancel() }
        graces = [:]
    }

    func token() -> Int {
        lastToken += 1
        return lastToken
    }

    // MARK: Listeners

    /// Returns the unsolicited messages for which `matches` returns true, from now on. Keeps the newest 256 unread
    /// messages. Ends with the session, and throws its error.
    public func notifications(
        where matches: @escaping @Sendable (Codec.Reply) -> Bool = { _ in true }
    ) -> BoundedStream<Codec.Reply> {
        let token = token()
        let (stream, producer) = BoundedStream.make(of: Codec.Reply.self, policy: .dropOldest(capacity: 256)) {
            [weak self] in
            Task { await self?.removeListener(token) }
        }
        if let end { producer.finish(throwing: end) } else { listeners.add(token, producer, matches) }
        return stream
    }

    /// Returns problems that are not the error of a single request, from now on: malformed, unmatched and
    /// undecipherable frames. Keeps the newest 64 unread problems.
    public func problems() -> BoundedStream<BLEError> {
        let token = token()
        let (stream, producer) = BoundedStream.make(of: BLEError.self, policy: .dropOldest(capacity: 64)) {
            [weak self] in
            Task { await self?.removeListener(token) }
        }
        if end == nil { listeners.observe(token, producer) } else { producer.finish() }
        return stream
    }

    private func removeListener(_ token: Int) {
        listeners.remove(token)
    }
}
