/// The pending operations of a central, and the queues of operations that must not overlap.
///
/// The end of a link, of the stack or of the central ends the callers' waits immediately. An operation keeps its
/// resource until the backend has completed it, even if its caller has left.
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

    private struct Entry {
        let operation: any AnyPendingOperation
        /// Cancels the operation. Nil until it is started.
        var cancel: (() -> Void)?
    }

    /// The operations whose callers wait.
    private var entries: [Int: Entry] = [:]
    /// The number of operations on each peripheral.
    private var counts: [Peripheral.ID: Int] = [:]
    /// The number of those that use a resource: that read, write, switch notifications on or off, or open a channel.
    private var attributeCounts: [Peripheral.ID: Int] = [:]
    private var turns = Turns<Resource>()

    /// Whether an operation on a peripheral is running or queued.
    func isAny(on peripheral: Peripheral.ID) -> Bool { counts[peripheral] != nil }

    /// Whether an operation that may make the system pair with a peripheral is running or queued.
    func isAttributeUsed(on peripheral: Peripheral.ID) -> Bool { attributeCounts[peripheral] != nil }

    /// Adds an operation. Returns whether it has its turn at once, as without a resource. Otherwise, `start` is returned
    /// when an earlier operation completes.
    mutating func begin(_ operation: some AnyPendingOperation, start: @escaping () -> Void) -> Bool {
        if let peripheral = operation.peripheral {
            counts[peripheral, default: 0] += 1
            if operation.resource != nil { attributeCounts[peripheral, default: 0] += 1 }
        }
        entries[operation.token] = Entry(operation: operation)
        return operation.resource.map { turns.join($0, operation.token, begin: start) == .first } ?? true
    }

    /// Records that an operation is being started.
    mutating func willStart(_ operation: some AnyPendingOperation) { turns.hold(operation.token) }

    /// Records how a running operation is cancelled, unless it is complete.
    mutating func didStart(_ operation: some AnyPendingOperation, cancel: @escaping () -> Void) {
        entries[operation.token]?.cancel = cancel
    }

    /// Removes an operation whose caller does not wait any longer. A queued operation is never started. Returns what
    /// cancels a running one; it keeps its resource until it is completed.
    mutating func abandon(_ operation: some AnyPendingOperation) -> (() -> Void)? {
        let entry = remove(operation)
        _ = turns.leave(operation.token)
        return entry?.cancel
    }

    /// Ends an operation, whether or not its caller still waits, and releases its resource. Returns what starts the next
    /// operation.
    mutating func complete(_ operation: some AnyPendingOperation) -> (() -> Void)? {
        remove(operation)
        var next = turns.release(operation.token) ?? turns.leave(operation.token)
        while let (token, start) = next {
            // A caller that has its outcome may not have run since, and left the queue.
            if entries[token]?.operation.isAwaited == true { return start }
            next = turns.leave(token)
        }
        return nil
    }

    /// Fails the operations of matching peripherals. Queued operations never start.
    mutating func fail(_ error: BLEError, where matches: (Peripheral.ID?) -> Bool) {
        for (token, entry) in entries where matches(entry.operation.peripheral) {
            if entry.cancel == nil { _ = turns.leave(token) }
            entry.operation.fail(error)
        }
    }

    @discardableResult private mutating func remove(_ operation: some AnyPendingOperation) -> Entry? {
        guard let entry = entries.removeValue(forKey: operation.token) else { return nil }
        if let peripheral = operation.peripheral {
            if let count = counts[peripheral] { counts[peripheral] = count > 1 ? count - 1 : nil }
            if operation.resource != nil, let count = attributeCounts[peripheral] {
                attributeCounts[peripheral] = count > 1 ? count - 1 : nil
            }
        }
        return entry
    }
}
