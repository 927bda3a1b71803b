/// One peripheral's connection in the central: the machine, who waits for it, and what its attempt found.
struct Connection {
    var machine = ConnectionMachine()
    /// What the peripheral's user has said; nil: nothing, the configuration counts.
    var policy: ConnectionPolicy?
    var waiters: [Int: Outcome<Void>] = [:]
    var attempt: Task<Void, Never>?
    /// The pause before the next attempt.
    var retry: Task<Void, Never>?
    /// The wait for the link to have been unused for long enough.
    var idle: Task<Void, Never>?
    /// How many `withConnection` are under way.
    var scopes = 0
    /// Why the last attempt failed.
    var error: BLEError?
    /// Why the link has ended while its services were being discovered.
    var lostInAttempt: BLEError?
    /// The services; nil before they are discovered and after they have changed.
    var database: GATTDatabase? {
        // A link of its own has a packet length of its own.
        didSet { if database == nil { packetLength = nil } }
    }
    /// The packet length that the backend has told last.
    var packetLength: Int?
    /// How often the services have changed.
    var serviceChanges = 0
    /// The discovery of changed services, which all who want them share.
    var rediscovery: Task<Result<GATTDatabase, BLEError>, Never>?
    var handler: (@Sendable (Peripheral) async throws -> Void)?
    var handling: Task<Void, Never>?
    var observers: [Int: BoundedStream<ConnectionState>.Producer] = [:]
    var eventObservers: [Int: BoundedStream<ConnectionEvent>.Producer] = [:]

    /// Ends what goes on, and everything that somebody could wait for.
    func finish(_ error: BLEError) {
        for task in [attempt, retry, idle, handling] { task?.cancel() }
        // Services that never settle would keep the central.
        rediscovery?.cancel()
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
        for observer in observers.values { observer.finish(throwing: error) }
        for observer in eventObservers.values { observer.finish(throwing: error) }
    }

    /// Nothing would be lost with it.
    var isDisposable: Bool {
        machine.isIdle && waiters.isEmpty && observers.isEmpty && eventObservers.isEmpty && policy == nil
            && handler == nil && scopes == 0
    }
}
