/// The pending operations on one peripheral, or on none, and the queues of operations that must not overlap.
///
/// An operation keeps its resource until the backend has completed it, even if its caller has left.
struct Operations {
    /// A resource that serves one operation at a time.
    enum Resource: Hashable {
        /// Reading and writing one attribute: a stack may reject a second write while one is in progress.
        case value(AttributeID)
        /// Switching the notifications of one characteristic on and off.
        case notifications(AttributeID)
        /// Opening an L2CAP channel, which may pair, as using an attribute may. Has a unique number, since channels
        /// need not wait for each other.
        case channel(Int)
        /// Pairing with a peripheral, and removing the bond.
        case pairing(Peripheral.ID)

        /// The peripheral that is being paired.
        var paired: Peripheral.ID? { if case .pairing(let id) = self { id } else { nil } }
    }

    /// Starts an operation when its turn has come.
    typealias Start = @Sendable (isolated Central) -> Void

    private struct Entry {
        let operation: any AnyPendingOperation
        /// Cancels the operation. Nil until it is started.
        var cancel: (@Sendable () -> Void)?
    }

    /// The operations whose callers wait.
    private var entries: [Int: Entry] = [:]
    /// The number of those that use a resource: that read, write, switch notifications on or off, or open a channel.
    private var resourceCount = 0
    private var turns = Turns<Resource, Start>()

    /// Whether a caller waits for an operation that is running or queued.
    var isAny: Bool { !entries.isEmpty }

    /// Whether a caller waits for an operation that may make the system pair.
    var mayPair: Bool { resourceCount > 0 }

    /// Whether the backend is ending an operation whose caller has left.
    func isEnding(_ resource: Resource) -> Bool { turns.hasLeft(resource) }

    /// Whether there is no operation, not even one whose caller has left.
    var isEmpty: Bool { entries.isEmpty && turns.isEmpty }

    /// Adds an operation. Returns whether it has its turn at once, as without a resource. Otherwise, `start` is
    /// returned when an earlier operation completes.
    mutating func begin(_ operation: some AnyPendingOperation, start: @escaping Start) -> Bool {
        entries[operation.token] = Entry(operation: operation)
        guard let resource = operation.resource else { return true }
        resourceCount += 1
        return turns.join(resource, operation.token, wait: start) == .first
    }

    /// Records that an operation is being started.
    mutating func willStart(_ operation: some AnyPendingOperation) { turns.hold(operation.token) }

    /// Records how a running operation is cancelled, unless it is complete.
    mutating func didStart(_ operation: some AnyPendingOperation, cancel: @escaping @Sendable () -> Void) {
        entries[operation.token]?.cancel = cancel
    }

    /// Removes an operation whose caller does not wait any longer. A queued operation is never started. Returns what
    /// cancels a running one; it keeps its resource until it is completed.
    mutating func abandon(_ operation: some AnyPendingOperation) -> (@Sendable () -> Void)? {
        let entry = remove(operation)
        _ = turns.leave(operation.token)
        return entry?.cancel
    }

    /// Ends an operation, whether or not its caller still waits, and releases its resource. Returns what starts the
    /// next operation.
    mutating func complete(_ operation: some AnyPendingOperation) -> Start? {
        remove(operation)
        var next = turns.release(operation.token) ?? turns.leave(operation.token)
        while let (token, start) = next {
            // A caller that has its outcome may not have run since, and left the queue.
            if entries[token]?.operation.isAwaited == true { return start }
            next = turns.leave(token)
        }
        return nil
    }

    /// Fails all operations. Queued ones never start. Returns what cancels the running ones.
    mutating func fail(_ error: BLEError) -> [@Sendable () -> Void] {
        for (token, entry) in entries {
            if entry.cancel == nil { _ = turns.leave(token) }
            entry.operation.fail(error)
        }
        return entries.values.compactMap(\.cancel)
    }

    @discardableResult private mutating func remove(_ operation: some AnyPendingOperation) -> Entry? {
        guard let entry = entries.removeValue(forKey: operation.token) else { return nil }
        if operation.resource != nil { resourceCount -= 1 }
        return entry
    }
}
