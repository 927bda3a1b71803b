/// A peripheral's connection in the central: the state machine, its waiting callers, and the discovered services.
struct Connection {
    var machine = ConnectionMachine()
    /// The policy set for this peripheral. Nil if the configuration's policy applies.
    var policy: ConnectionPolicy?
    var waiters: [Int: Outcome<Void>] = [:]
    var attempt: Task<Void, Never>?
    /// The pause before the next attempt.
    var retry: Task<Void, Never>?
    /// The timer that ends the link when it has been unused for long enough.
    var idle: Task<Void, Never>?
    /// The number of `withConnection` calls in progress.
    var scopes = 0
    /// Why the last attempt failed, the link ended, or could not be ended.
    var error: BLEError?
    /// The reason that the link ended while its services were being discovered.
    var lostInAttempt: BLEError?
    /// The services. Nil until they are discovered, and after they have changed.
    var database: GATTDatabase? {
        // Each link has its own packet length.
        didSet { if database == nil { attMTU = nil } }
    }
    /// The packet length that the backend last reported.
    var attMTU: Int?
    /// The number of times that the services have changed.
    var serviceChanges = 0
    /// The discovery of changed services, shared by all callers.
    var rediscovery: Task<Result<GATTDatabase, BLEError>, Never>?
    var handler: (@Sendable (Peripheral) async throws -> Void)?
    var handling: Task<Void, Never>?
    var stateObservers = Observers<ConnectionState>()
    var eventObservers = Observers<ConnectionEvent>()

    /// Ends the connection's tasks, and everything that a caller may be waiting for.
    mutating func finish(_ error: BLEError) {
        for task in [attempt, retry, idle, handling] { task?.cancel() }
        // A discovery that never ends would retain the central.
        rediscovery?.cancel()
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
        stateObservers.finish(error)
        eventObservers.finish(error)
    }

    /// Whether the connection holds nothing that must be kept.
    var isDisposable: Bool {
        machine.isIdle && waiters.isEmpty && stateObservers.isEmpty && eventObservers.isEmpty && policy == nil
            && handler == nil && scopes == 0
    }
}
