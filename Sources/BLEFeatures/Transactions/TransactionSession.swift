public import BLE

/// Requests and replies with one peripheral, over a characteristic that is written and one that notifies.
///
/// A request that is sent waits for the reply with its key (``TransactionCodec``): of each key one request is under way, the
/// others queue up. Each wait ends: with the reply, the deadline, cancellation, or the link. Requests are written one after the
/// other, in the order in which they were sent, as far as their keys let them.
///
/// One session talks to a peripheral's characteristics at a time: two would take each other's replies.
public actor TransactionSession<Codec: TransactionCodec> {
    struct Request {
        let request: Codec.Request
        let key: Codec.Key
        /// Delivers the reply; nil for what has none, once it is written.
        let outcome: Outcome<Codec.Reply?>
        let isAnswered: Bool
        var isUnderWay = false
        /// The last thing that went wrong while it was under way; the reason why its reply may be missing.
        var problem: BLEError?
    }

    /// Whom it talks to.
    public nonisolated let peripheral: Peripheral
    /// How.
    public nonisolated let configuration: TransactionConfiguration
    /// What has gone wrong and right so far.
    public internal(set) var counters = TransactionCounters()

    var codec: Codec
    var queue = TransactionQueue<Codec.Key>()
    var requests: [Int: Request] = [:]
    private var lastToken = 0
    var writing: Task<Void, Never>?
    /// The writing waits for the link.
    var isConnecting = false
    /// The request that is being written.
    var written: Int?
    /// What waits for late replies.
    var graces: [Int: Task<Void, Never>] = [:]
    private var starting: SharedWork<Void>?
    var listening: (number: Int, task: Task<Void, Never>)?
    var listeners = TransactionListeners<Codec.Reply>()
    var end: BLEError?
    private var endWaiters: [Int: Outcome<BLEError>] = [:]

    /// The central's executor: values are taken where they arrive.
    public nonisolated var unownedExecutor: UnownedSerialExecutor { peripheral.central.unownedExecutor }

    /// A session. Nothing happens before ``start()`` or the first request.
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

    /// Connects when there is no link, and listens to the peripheral's replies. Requests do it by themselves.
    public func start() async throws(BLEError) {
        try checkOpen()
        guard listening == nil else { return }
        let work: SharedWork<Void>
        if let starting, !starting.isOver {
            work = starting
        } else {
            work = SharedWork { [weak self] () throws(BLEError) in _ = try await self?.listen() }
            starting = work
        }
        try await work.value()
    }

    private static var closed: BLEError { BLEError(.connectionCancelled, "the session was ended", isRetryable: false) }

    /// Ends the session: who still waits gets `connectionCancelled`. The link stays.
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

    /// Why the session has ended; returns when it has. Throws `cancelled`.
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
    /// Throws `commandTimedOut` without a reply in time, with the last thing that went wrong meanwhile as its cause;
    /// `disconnected` when the link ends first; and what writing throws.
    ///
    /// - Parameter timeout: the longest that queueing, connecting, writing and waiting may take together; nil for the
    ///   configuration's.
    public func send(_ request: Codec.Request, timeout: Duration? = nil) async throws(BLEError) -> Codec.Reply {
        guard let reply = try await submit(request, isAnswered: true, timeout) else {
            preconditionFailure("what is answered ends with a reply or an error")
        }
        return reply
    }

    /// Sends something that has no reply; returns when the peripheral has taken it.
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
        let timer = Task { [weak self, clock = peripheral.central.configuration.clock] in
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            await self?.timeOut(id, after: timeout)
        }
        defer {
            timer.cancel()
            giveUp(id)
        }
        writeNext()
        return try await outcome.wait()
    }

    private func timeOut(_ id: Int, after timeout: Duration) {
        guard let request = requests[id] else { return }
        let name = codec.name(of: request.request)
        let message =
            if request.isUnderWay {
                "no reply to \(name) within \(timeout)"
            } else {
                "\(name) could not be sent within \(timeout): \(isConnecting ? "there was no link" : "others came first")"
            }
        let error = BLEError(
            .commandTimedOut, message, peripheral: peripheral.id, service: configuration.request.service,
            characteristic: configuration.request.characteristic, isRetryable: true, cause: request.problem)
        // A reply of which a part has come is not to be completed by the next one.
        if !requests.contains(where: { $0.key != id && $0.value.isUnderWay }) { codec.discardPartial() }
        request.outcome.deliver(.failure(error))
    }

    /// Ends a request's wait. Whoever comes first has its way.
    func settle(_ id: Int, _ result: Result<Codec.Reply?, BLEError>) {
        requests.removeValue(forKey: id)?.outcome.deliver(result)
    }

    /// The caller has gone. A request that was written keeps its place for the grace time.
    private func giveUp(_ id: Int) {
        guard let request = requests.removeValue(forKey: id) else { return }
        let mayComeLate = queue.giveUp(id, request.key)
        // Nobody wants the link any more.
        if requests.isEmpty, isConnecting { writing?.cancel() }
        // The time of what is still being written begins when it has been.
        if mayComeLate, written != id { beginGrace(id, request.key) }
    }

    func beginGrace(_ id: Int, _ key: Codec.Key) {
        graces[id] = Task {
            [weak self, clock = peripheral.central.configuration.clock, grace = configuration.lateReplyGrace] in
            guard (try? await clock.sleep(for: grace)) != nil else { return }
            await self?.graceEnded(id, key)
        }
    }

    private func graceEnded(_ id: Int, _ key: Codec.Key) {
        graces[id] = nil
        queue.graceEnded(id, key)
        writeNext()
    }

    /// With the link, late replies have gone, too.
    func endGraces() {
        for grace in graces.values { grace.cancel() }
        graces = [:]
    }

    func token() -> Int {
        lastToken += 1
        return lastToken
    }

    // MARK: Listeners

    /// What the peripheral sends unasked and `matches` wants, from now on. Keeps the newest 256 that are not read yet; ends
    /// with the session, throwing what it ended with.
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

    /// What goes wrong from now on without being anybody's error: malformed, unmatched and undecipherable frames. Keeps the
    /// newest 64.
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
