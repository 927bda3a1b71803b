/// Everything that callers wait for, so that the end of a link, of the stack or of the central ends the waits at once; and whose
/// turn it is where operations must not overlap.
struct Operations {
    /// What takes one operation at a time.
    enum Resource: Hashable {
        /// Reading and writing one attribute: BlueZ refuses a second write while one is under way.
        case value(AttributeID)
        /// Switching the notifications of one characteristic on and off.
        case notifications(AttributeID)
    }

    private struct Operation {
        let peripheral: Peripheral.ID?
        let fail: (BLEError) -> Void
    }

    private var operations: [Int: Operation] = [:]
    private var turns = Turns<Resource>()
    private var starts: [Int: () -> Void] = [:]

    mutating func insert(_ token: Int, peripheral: Peripheral.ID?, fail: @escaping (BLEError) -> Void) {
        operations[token] = Operation(peripheral: peripheral, fail: fail)
    }

    /// Starts now, or when it is the operation's turn. Without a resource there is nothing to wait for.
    mutating func begin(_ token: Int, _ resource: Resource?, start: @escaping () -> Void) {
        guard let resource, !turns.join(resource, token) else { return start() }
        starts[token] = start
    }

    /// The operation has ended, whatever the reason; the next in turn starts.
    mutating func end(_ token: Int, _ resource: Resource?) {
        operations[token] = nil
        starts[token] = nil
        guard let resource, let next = turns.leave(resource, token) else { return }
        starts.removeValue(forKey: next)?()
    }

    func fail(_ error: BLEError, where matches: (Peripheral.ID) -> Bool) {
        for operation in operations.values {
            if let peripheral = operation.peripheral, matches(peripheral) { operation.fail(error) }
        }
    }

    func failAll(_ error: BLEError) {
        for operation in operations.values { operation.fail(error) }
    }
}

extension Central {
    /// Runs `body` and waits for its result, its deadline, the caller's cancellation, or the end of the link to `peripheral`,
    /// whichever comes first. The caller never waits for a body that is slow to notice its cancellation.
    func perform<Value: Sendable>(
        on peripheral: Peripheral.ID? = nil, timeout: Duration, name: String,
        using resource: Operations.Resource? = nil,
        _ body: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        let token = token()
        let outcome = Outcome<Value>()
        let deadline = deadline(timeout, name) { outcome.deliver(.failure($0)) }
        operations.insert(token, peripheral: peripheral) { outcome.deliver(.failure($0)) }
        let backend = backend
        let work = Work {
            do throws(BLEError) {
                outcome.deliver(.success(try await body(backend)))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        operations.begin(token, resource) { work.start() }
        defer {
            work.cancel()
            deadline.cancel()
            operations.end(token, resource)
        }
        return try await outcome.wait()
    }

    /// Calls `expire` with `timedOut` after `timeout`, unless it is cancelled before.
    func deadline(_ timeout: Duration, _ name: String, _ expire: @escaping @Sendable (BLEError) -> Void) -> Task<
        Void, Never
    > {
        Task { [clock = configuration.clock] in
            guard (try? await clock.sleep(for: timeout)) != nil else { return }
            expire(BLEError(.timedOut, "\(name) took longer than \(timeout)"))
        }
    }
}

/// Work that is started when its turn comes, and cancelled when nobody waits for it any more.
private final class Work {
    private let body: @Sendable () async -> Void
    private var task: Task<Void, Never>?

    init(_ body: @escaping @Sendable () async -> Void) { self.body = body }

    func start() { task = Task { [body] in await body() } }
    func cancel() { task?.cancel() }
}
