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

    /// How an operation is ended that has started.
    enum Running {
        /// The task keeps the operation's resource until it ends.
        case task(Task<Void, Never>)
        /// Ends the operation, and with it the use of its resource.
        case started(cancel: () -> Void)
    }

    /// What the end of an operation leads to, to be done outside.
    struct Consequences {
        /// Ends the operation.
        var cancel: (() -> Void)?
        /// Starts the next operation on its resource.
        var next: (() -> Void)?
    }

    private struct Operation {
        let peripheral: Peripheral.ID?
        let resource: Resource?
        let fail: (BLEError) -> Void
        var running: Running?
    }

    private struct Waiting {
        let isAwaited: () -> Bool
        let start: () -> Void
    }

    private var operations: [Int: Operation] = [:]
    /// The number of operations on each peripheral.
    private var counts: [Peripheral.ID: Int] = [:]
    /// The number of those that use a resource: that read, write, switch notifications on or off, or open a channel.
    private var attributeCounts: [Peripheral.ID: Int] = [:]
    private var turns = Turns<Resource>()
    /// The operations that are queued.
    private var waiting: [Int: Waiting] = [:]

    /// Whether an operation on a peripheral is running or queued.
    func isAny(on peripheral: Peripheral.ID) -> Bool { counts[peripheral] != nil }

    /// Whether an operation that may make the system pair with a peripheral is running or queued.
    func isAttributeUsed(on peripheral: Peripheral.ID) -> Bool { attributeCounts[peripheral] != nil }

    /// Adds an operation. Returns whether it has its turn at once, as without a resource. Otherwise, `start` comes back
    /// as a consequence of another operation's end.
    ///
    /// - Parameter isAwaited: whether the operation has no outcome yet. An operation that has one is not started: its
    ///   caller may not have run since, and left the queue.
    mutating func begin(
        _ token: Int, on peripheral: Peripheral.ID?, using resource: Resource?, fail: @escaping (BLEError) -> Void,
        isAwaited: @escaping () -> Bool, start: @escaping () -> Void
    ) -> Bool {
        operations[token] = Operation(peripheral: peripheral, resource: resource, fail: fail)
        if let peripheral {
            counts[peripheral, default: 0] += 1
            if resource != nil { attributeCounts[peripheral, default: 0] += 1 }
        }
        guard let resource, !turns.join(resource, token) else { return true }
        waiting[token] = Waiting(isAwaited: isAwaited, start: start)
        return false
    }

    /// Records that an operation is running, unless it has ended.
    mutating func setRunning(_ token: Int, _ running: Running) { operations[token]?.running = running }

    /// Removes an operation whose caller has its outcome. A queued operation leaves the queue. A running one is to be
    /// cancelled, unless it is complete, and keeps its resource until ``finish(_:using:)`` if it is a task.
    mutating func leave(_ token: Int, isComplete: Bool = false) -> Consequences {
        guard let operation = operations.removeValue(forKey: token) else { return Consequences() }
        if let peripheral = operation.peripheral {
            if let count = counts[peripheral] { counts[peripheral] = count > 1 ? count - 1 : nil }
            if operation.resource != nil, let count = attributeCounts[peripheral] {
                attributeCounts[peripheral] = count > 1 ? count - 1 : nil
            }
        }
        leaveQueue(token, operation)
        switch isComplete ? nil : operation.running {
        case nil: return Consequences()
        case .task(let task): return Consequences(cancel: task.cancel)
        case .started(let cancel):
            return Consequences(cancel: cancel, next: finish(token, using: operation.resource))
        }
    }

    private mutating func leaveQueue(_ token: Int, _ operation: Operation) {
        guard let resource = operation.resource, !waiting.isEmpty, waiting.removeValue(forKey: token) != nil else {
            return
        }
        // A queued operation is never at the head, so no other operation has to be started.
        _ = turns.leave(resource, token)
    }

    /// Releases the resource of an operation whose work has ended. Returns what starts the next operation.
    mutating func finish(_ token: Int, using resource: Resource?) -> (() -> Void)? {
        guard let resource else { return nil }
        var last = token
        while let next = turns.leave(resource, last) {
            guard let queued = waiting.removeValue(forKey: next) else { return nil }
            if queued.isAwaited() { return queued.start }
            last = next
        }
        return nil
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
        let start = { [self] in
            // A continuation resumes on the task's preferred executor, and not on the actor's that waits. Without the
            // preference, each wait would lead through another thread.
            let task = Task(executorPreference: backend.taskExecutor) {
                await self.work(token, resource, outcome, body)
            }
            operations.setRunning(token, .task(task))
        }
        let hasTurn = operations.begin(
            token, on: peripheral, using: resource, fail: { outcome.deliver(.failure($0)) },
            isAwaited: { outcome.isOpen }, start: start)
        if hasTurn { start() }
        defer {
            deadline.cancel()
            leave(token, on: peripheral)
        }
        do throws(BLEError) {
            return try await outcome.wait()
        } catch {
            throw explained(error)
        }
    }

    private func work<Value: Sendable>(
        _ token: Int, _ resource: Operations.Resource?, _ outcome: Outcome<Value>,
        _ body: @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async {
        await outcome.deliver { () throws(BLEError) in try await body(backend) }
        operations.finish(token, using: resource)?()
    }

    /// Removes an operation whose caller has its outcome.
    func leave(_ token: Int, on peripheral: Peripheral.ID?, isComplete: Bool = false) {
        let consequences = operations.leave(token, isComplete: isComplete)
        consequences.cancel?()
        consequences.next?()
        if let peripheral { considerIdle(peripheral) }
    }

    /// Delivers `timedOut` after `timeout`, unless the returned expiry is cancelled first.
    nonisolated func deadline<Value>(_ timeout: Duration, _ name: String, _ outcome: Outcome<Value>) -> Expiry {
        Expiry(after: timeout, clock: deadlineClock) {
            outcome.deliver(.failure(BLEError(.timedOut, "\(name) took longer than \(timeout)")))
        }
    }
}
