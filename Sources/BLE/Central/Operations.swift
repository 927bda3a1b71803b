internal import Waiting

/// The pending operations of a central, and the queues of operations that must not overlap.
///
/// The end of a link, of the stack or of the central ends the callers' waits immediately.
struct Operations {
    /// A resource that serves one operation at a time.
    enum Resource: Hashable {
        /// Reading and writing one attribute: a stack may reject a second write while one is in progress.
        case value(AttributeID)
        /// Switching the notifications of one characteristic on and off.
        case notifications(AttributeID)
        /// Opening an L2CAP channel, which may pair, as using an attribute may. Has a unique number, since channels need
        /// not wait for each other.
        case channel(Int)
        /// Pairing with a peripheral, and removing the bond.
        case pairing(Peripheral.ID)
    }

    private struct Operation {
        let peripheral: Peripheral.ID?
        let resource: Resource?
        let fail: (BLEError) -> Void
    }

    private var operations: [Int: Operation] = [:]
    /// The number of operations on each peripheral.
    private var counts: [Peripheral.ID: Int] = [:]
    /// The number of those that use a resource: that read, write, switch notifications on or off, or open a channel.
    private var attributeCounts: [Peripheral.ID: Int] = [:]
    private var turns = Turns<Resource>()
    /// The operations that are queued.
    private var waiting: [Int: () -> Task<Void, Never>] = [:]
    /// The operations that are running and have a waiting caller.
    private var running: [Int: Task<Void, Never>] = [:]

    /// Whether an operation on a peripheral is running or queued.
    func isAny(on peripheral: Peripheral.ID) -> Bool { counts[peripheral] != nil }

    /// Whether an operation that may make the system pair with a peripheral is running or queued.
    func isAttributeUsed(on peripheral: Peripheral.ID) -> Bool { attributeCounts[peripheral] != nil }

    /// Starts an operation, or queues it if its resource is in use. Without a resource, it starts immediately.
    mutating func begin(
        _ token: Int, on peripheral: Peripheral.ID?, using resource: Resource?, fail: @escaping (BLEError) -> Void,
        start: @escaping () -> Task<Void, Never>
    ) {
        operations[token] = Operation(peripheral: peripheral, resource: resource, fail: fail)
        if let peripheral {
            counts[peripheral, default: 0] += 1
            if resource != nil { attributeCounts[peripheral, default: 0] += 1 }
        }
        if let resource, !turns.join(resource, token) {
            waiting[token] = start
        } else {
            running[token] = start()
        }
    }

    /// Removes an operation whose caller has its outcome. A queued operation leaves the queue. A running one is
    /// cancelled, and keeps its resource until its work has ended.
    mutating func leave(_ token: Int) {
        guard let operation = operations.removeValue(forKey: token) else { return }
        if let peripheral = operation.peripheral {
            if let count = counts[peripheral] { counts[peripheral] = count > 1 ? count - 1 : nil }
            if operation.resource != nil, let count = attributeCounts[peripheral] {
                attributeCounts[peripheral] = count > 1 ? count - 1 : nil
            }
        }
        running.removeValue(forKey: token)?.cancel()
        leaveQueue(token, operation)
    }

    private mutating func leaveQueue(_ token: Int, _ operation: Operation) {
        guard let resource = operation.resource, waiting.removeValue(forKey: token) != nil else { return }
        // A queued operation is never at the head, so no other operation has to be started.
        _ = turns.leave(resource, token)
    }

    /// Releases the resource of an operation whose work has ended, and starts the next operation.
    mutating func finish(_ token: Int, using resource: Resource?) {
        guard let resource, let next = turns.leave(resource, token) else { return }
        running[next] = waiting.removeValue(forKey: next)?()
    }

    /// Fails the operations of matching peripherals. Queued operations never start.
    mutating func fail(_ error: BLEError, where matches: (Peripheral.ID?) -> Bool) {
        for (token, operation) in operations where matches(operation.peripheral) {
            leaveQueue(token, operation)
            operation.fail(error)
        }
    }
}

extension Central {
    /// Runs `body` and waits for its result, its deadline, the caller's cancellation, or the end of the link to
    /// `peripheral`, whichever comes first.
    ///
    /// The caller never waits for a body that is slow to notice its cancellation, but the next operation on the same
    /// resource does.
    func perform<Value: Sendable>(
        on peripheral: Peripheral.ID? = nil, timeout: Duration, name: String,
        about characteristic: BluetoothUUID? = nil,
        writing written: [UInt8]? = nil, using resource: Operations.Resource? = nil,
        _ body: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        guard isTracing else {
            return try await performUntraced(on: peripheral, timeout: timeout, name: name, using: resource, body)
        }
        return try await traced(name, on: peripheral, characteristic, writes: written) { () throws(BLEError) in
            try await performUntraced(on: peripheral, timeout: timeout, name: name, using: resource, body)
        }
    }

    private func performUntraced<Value: Sendable>(
        on peripheral: Peripheral.ID?, timeout: Duration, name: String, using resource: Operations.Resource?,
        _ body: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        let token = token()
        let outcome = Outcome<Value>()
        let deadline = deadline(timeout, name, outcome)
        operations.begin(token, on: peripheral, using: resource) {
            outcome.deliver(.failure($0))
        } start: {
            // A continuation resumes on the task's preferred executor, and not on the actor's that waits. Without the
            // preference, each wait would lead through another thread.
            Task(executorPreference: self.backend.taskExecutor) { await self.work(token, resource, outcome, body) }
        }
        defer {
            deadline.cancel()
            operations.leave(token)
            if let peripheral { considerIdle(peripheral) }
        }
        return try await outcome.wait()
    }

    private func work<Value: Sendable>(
        _ token: Int, _ resource: Operations.Resource?, _ outcome: Outcome<Value>,
        _ body: @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async {
        await outcome.deliver { () throws(BLEError) in try await body(backend) }
        operations.finish(token, using: resource)
    }

    /// Delivers `timedOut` after `timeout`, unless the returned expiry is cancelled first.
    func deadline<Value>(_ timeout: Duration, _ name: String, _ outcome: Outcome<Value>) -> Expiry {
        outcome.expire(after: timeout, clock: clock) {
            BLEError(.timedOut, "\(name) took longer than \(timeout)")
        }
    }
}
