internal import Waiting

/// Everything of one peripheral that a central holds: its connection, with the state machine and the waiting callers,
/// and what ends with the link.
///
/// An object, because finding it in the central's table must not copy all of that.
final class Link {
    let id: Peripheral.ID
    private var machine = ConnectionMachine()
    private var waiters: [Int: Outcome<Void>] = [:]
    private(set) var attempt: Task<Void, Never>?
    /// The pause before the next attempt.
    private var retryTimer: Task<Void, Never>?
    /// The timer that ends the link when it has been unused for long enough.
    private var idleTimer: Task<Void, Never>?
    /// The number of `withConnection` calls in progress.
    private var scopes = 0
    /// Whether the link ends when it is no longer used: it was made for these calls, or for a pairing that has failed,
    /// and nobody has called `connect` since.
    private var endsUnused = false
    /// The declared values of the peripheral.
    private var valueStores: [() -> ValueStore?] = []
    /// Why the last attempt failed, the link ended, or could not be ended.
    private(set) var error: BLEError?
    /// What the attempt waits for, or why the one before it failed. Nil if nothing stands in the way, as far as is
    /// known.
    private(set) var obstacle: BLEError?
    /// What was reported of the wait in progress.
    private var reportedObstacles = ToldReasons()
    /// Whether an attempt waits for the adapter to return.
    var waitsForAdapter = false
    /// Why the link has ended by itself, during the attempt, the discovery or the disconnect in progress.
    private(set) var loss: BLEError?
    /// The services. Nil until they are discovered, and after they have changed.
    private(set) var database: GATTDatabase?
    /// The services that the program knows, by the radio that has told them, of those since it was told of a change:
    /// stacks describe the same services differently. The key is nil without several radios.
    private var knownDatabases: [String?: GATTDatabase] = [:]
    /// Whether the program must still be told of a change: it happened before the link was up.
    private var owesChange = false
    /// The characteristics that were used so far.
    private var targets: [CharacteristicKey: Central.Target] = [:]
    /// The values that were read last on this link, with the central's time, by the handles of their characteristics.
    private(set) var lastReads: [UInt16: (value: [UInt8], time: Duration)] = [:]
    /// The ATT MTU that the backend last reported for this link.
    private(set) var attMTU: Int?
    /// The number of times that the services have changed.
    private(set) var serviceChanges = 0
    /// The discovery of changed services, shared by all callers.
    private(set) var rediscovery: Task<Result<GATTDatabase, BLEError>, Never>?
    private(set) var handler: (@Sendable (Peripheral) async throws -> Void)?
    private var handlerTask: Task<Void, Never>?
    var operations = Operations()
    var subscriptions = SubscriptionMachine()
    /// The open writers, by characteristic.
    private var writers: [AttributeID: PacketWriterCore] = [:]
    /// The open L2CAP channels.
    private var channels: [ObjectIdentifier: ChannelCore] = [:]
    var requests = ControlPointRequests()
    var pairing = LinkPairing()
    /// Why the maintained link was lost that has not been reestablished yet.
    private var lossCause: DisconnectReason?
    /// The attempt in progress that the central makes by itself.
    private var reconnect: (observation: Observation, elapsed: @Sendable () -> Duration)?
    private var stateObservers = Observers<ConnectionState>()
    private var eventObservers = Observers<ConnectionEvent>()

    init(_ id: Peripheral.ID) { self.id = id }

    /// With a central that is released without a shutdown. The channels are not drained: this may be anywhere.
    deinit {
        _ = pairing.withdraw(.shutDown)
        if let (observation, elapsed) = reconnect { observation.end?(.shutDown, elapsed() - observation.begun) }
        finish(.shutDown, drainsChannels: false)
    }

    // MARK: The machine

    var state: ConnectionState { machine.state }
    /// The number of the link that is up. Nil if none is.
    var number: Int? { state == .connected ? machine.attempt : nil }
    /// The number that the next link has at least.
    var nextNumber: Int { state == .connecting ? machine.attempt : machine.attempt + 1 }
    /// Whether the link is reestablished automatically.
    var isMaintained: Bool { machine.isMaintained }
    /// The policy set for this peripheral. Nil if the configuration's policy applies.
    var policy: ConnectionPolicy? { machine.policy }
    /// Whether the link may be up, although it is no longer used.
    var mayBeUp: Bool { machine.mayBeUp }
    /// Whether the link has ended while it was being ended.
    var hasEnded: Bool { machine.hasEnded }
    /// Whether a caller waits for the link.
    var isAwaited: Bool { machine.isAwaited }
    /// Whether there is a link that is not being ended, or one is requested.
    var isWanted: Bool { machine.isWanted }

    /// Passes an event to the machine. Returns the actions to perform.
    func send(_ event: (inout ConnectionMachine) -> [ConnectionMachine.Action]) -> [ConnectionMachine.Action] {
        event(&machine)
    }

    func setAttempt(_ task: Task<Void, Never>) { attempt = task }

    /// Replaces the timer of the next attempt.
    func setRetryTimer(_ timer: Task<Void, Never>?) {
        retryTimer?.cancel()
        retryTimer = timer
    }

    // MARK: What is counted

    func ended(_ reason: DisconnectReason) { lossCause = isMaintained && reason != .local ? reason : nil }
    func takeLossCause() -> DisconnectReason? { lossCause.take() }
    /// - Parameter elapsed: the central's time, in case that the central is released meanwhile.
    func beginReconnect(_ observation: Observation, _ elapsed: @escaping @Sendable () -> Duration) {
        reconnect = (observation, elapsed)
    }
    func takeReconnect() -> Observation? { reconnect.take()?.observation }

    // MARK: Errors

    func fail(_ error: BLEError) { self.error = error }
    func setObstacle(_ error: BLEError?) { obstacle = error }

    /// Records what the attempt waits for. Returns whether that was not reported in the same wait.
    func wait(for obstacle: BLEError) -> Bool {
        self.obstacle = obstacle
        return reportedObstacles.tell(obstacle)
    }

    /// Records that the attempt goes on.
    func endWait() {
        (obstacle, waitsForAdapter) = (nil, false)
        reportedObstacles.clear()
    }

    // MARK: Callers

    func addWaiter(_ token: Int, _ outcome: Outcome<Void>) { waiters[token] = outcome }
    func removeWaiter(_ token: Int) { waiters[token] = nil }

    func deliver(_ result: Result<Void, BLEError>, to tokens: [Int]) {
        for token in tokens { waiters[token]?.deliver(result) }
    }

    func outcomes(of tokens: [Int]) -> [Outcome<Void>] { tokens.compactMap { waiters[$0] } }

    func beginScope() {
        if !isWanted { endsUnused = true }
        scopes += 1
    }

    func endScope() {
        scopes -= 1
        // There is no link to end, and the next one is made for others.
        if scopes == 0, state != .connected { endsUnused = false }
    }

    var isInScope: Bool { scopes > 0 }

    /// Keeps the link, although it was made for scopes.
    func keep() { endsUnused = false }

    /// Lets the link that is up end with its last use, and so those that follow it in the scopes in progress.
    func leaveToUsers() { endsUnused = true }

    /// Whether the link was made for scopes or a pairing, and nothing uses it any longer.
    var hasServed: Bool { endsUnused && isUnused && !valueStores.contains { $0()?.hasEnded == false } }

    /// Whether there is a link that is not used.
    var isUnused: Bool {
        state == .connected && scopes == 0 && waiters.isEmpty && handlerTask == nil && !operations.isAny
            && subscriptions.isEmpty && writers.isEmpty && channels.isEmpty && !pairing.isInProgress
    }

    /// Keeps a link that was made only to pair, for a caller that uses it. During a scope, it is used for the scope.
    func useBeyondPairing() {
        if scopes == 0 { pairing.keepLink() }
    }

    /// Adds values that want a link for as long as they live.
    func add(_ values: ValueStore) {
        valueStores.removeAll { $0()?.hasEnded != false }
        valueStores.append { [weak values] in values }
    }

    /// Fails the callers that wait for values of the next link, which does not follow.
    func endWaits(_ error: BLEError) {
        for values in valueStores { values()?.endWaits(error) }
    }

    /// Replaces the timer that ends an unused link.
    func setIdleTimer(_ timer: Task<Void, Never>?) {
        idleTimer?.cancel()
        idleTimer = timer
    }

    func setHandler(_ handler: (@Sendable (Peripheral) async throws -> Void)?) { self.handler = handler }

    /// Replaces the running handler, which is cancelled.
    func setHandlerTask(_ task: Task<Void, Never>?) {
        handlerTask?.cancel()
        handlerTask = task
    }

    // MARK: Services

    /// Forgets why an earlier link has ended, before one is made, or its services are discovered.
    func forgetLoss() { loss = nil }

    /// Records the discovered services, unless they have changed since.
    ///
    /// - Parameter changes: the number of their changes when they were discovered. Nil if that was not counted.
    func discovered(_ database: GATTDatabase, after changes: Int? = nil) {
        self.database = changes == nil || changes == serviceChanges ? database : nil
        targets = [:]
        // Questions on the link before may have been answered late.
        lastReads = [:]
        attMTU = nil
    }

    /// Records that the program knows the discovered services. Returns whether it must be told that they changed: since
    /// the last link of the same radio, or during the attempt, even if they are not discovered again yet.
    func publishServices(over radio: String?) -> Bool {
        let known = knownDatabases[radio]
        let isChanged = owesChange || database != nil && known != nil && known != database
        owesChange = false
        if isChanged { knownDatabases = [:] }
        if let database { knownDatabases[radio] = database }
        return isChanged
    }

    /// Records that the program knows the services that were discovered after it was told of their change.
    func publishChangedServices(over radio: String?) {
        if let database { knownDatabases = [radio: database] }
    }

    /// Returns a characteristic; nil if it was not discovered.
    func target(_ key: CharacteristicKey) -> Central.Target? {
        if let target = targets[key] { return target }
        guard let database, let target = try? Central.Target(key, of: id, in: database) else { return nil }
        targets[key] = target
        return target
    }

    /// Forgets the services, and what belongs to the link.
    func voidServices() {
        database = nil
        targets = [:]
        lastReads = [:]
        attMTU = nil
    }

    func didRead(_ value: [UInt8], from handle: UInt16, at time: Duration) {
        lastReads[handle] = (value, time)
    }

    /// Handles changed services. Returns whether to tell the program now: only of the first of the changes since the
    /// last discovery. Before the link is up, it is told when it is.
    func servicesChanged() -> Bool {
        serviceChanges += 1
        guard database != nil else { return false }
        voidServices()
        owesChange = state != .connected
        // It is told once, also if the link ends before the services are discovered again.
        if !owesChange { knownDatabases = [:] }
        return !owesChange
    }

    func setRediscovery(_ task: Task<Result<GATTDatabase, BLEError>, Never>?) { rediscovery = task }
    func setATTMTU(_ length: Int) { attMTU = length }
    func linkLost(_ error: BLEError) { loss = error }

    // MARK: Observers

    func states(_ left: @escaping @Sendable (_ token: Int) -> Void) -> BoundedStream<ConnectionState> {
        stateObservers.add(capacity: 16, first: state, left)
    }

    func events(_ left: @escaping @Sendable (_ token: Int) -> Void) -> BoundedStream<ConnectionEvent> {
        eventObservers.add(capacity: 64, left)
    }

    func removeStateObserver(_ token: Int) { stateObservers.remove(token) }
    func removeEventObserver(_ token: Int) { eventObservers.remove(token) }

    func publish(_ state: ConnectionState) {
        // The next link is made for others.
        if scopes == 0, state == .disconnecting || state == .disconnected { endsUnused = false }
        stateObservers.yield(state)
    }

    func report(_ event: ConnectionEvent) { eventObservers.yield(event) }

    // MARK: Writers and channels

    func add(_ writer: PacketWriterCore, to attribute: AttributeID) { writers[attribute] = writer }

    /// Removes a writer, unless another one has taken its place.
    func remove(_ writer: PacketWriterCore, of attribute: AttributeID) {
        if writers[attribute] === writer { writers[attribute] = nil }
    }

    func add(_ channel: ChannelCore) { channels[ObjectIdentifier(channel)] = channel }
    func remove(_ channel: ChannelCore) { channels[ObjectIdentifier(channel)] = nil }

    // MARK: The end

    /// Fails the operations, and cancels those that have begun.
    func failOperations(_ error: BLEError) {
        for cancel in operations.fail(error) { cancel() }
    }

    /// Ends everything that uses the link, which has ended or is about to. Returns the subscriptions that have ended.
    ///
    /// Prompts are ended by the central, which notifies its delegate.
    ///
    /// - Parameter keepsSubscriptions: whether subscriptions wait for the next link, after a gap marker.
    func end(_ error: BLEError, keepsSubscriptions: Bool) -> [SubscriptionMachine.Ended] {
        failOperations(error)
        rediscovery?.cancel()
        rediscovery = nil
        for writer in writers.values { writer.finish(error) }
        writers = [:]
        for channel in channels.values { channel.finish(.lost(error)) }
        channels = [:]
        guard keepsSubscriptions else { return subscriptions.endAll() }
        for fanout in subscriptions.interrupt() { fanout.interrupt(error) }
        return []
    }

    /// Ends all tasks, and everything that a caller may be waiting for, when the central ends.
    ///
    /// - Parameter drainsChannels: whether the packets that a channel has received are delivered first.
    func finish(_ error: BLEError, drainsChannels: Bool = true) {
        for task in [attempt, retryTimer, idleTimer, handlerTask] { task?.cancel() }
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
        if !drainsChannels {
            for channel in channels.values { channel.finish(.lost(error), drains: false) }
            channels = [:]
        }
        for subscription in end(error, keepsSubscriptions: false) { subscription.fanout.finish(error) }
        stateObservers.finish(error)
        eventObservers.finish(error)
    }

    /// Whether nothing of the peripheral must be kept.
    var isDisposable: Bool {
        machine.isIdle && !machine.mayBeUp && waiters.isEmpty && stateObservers.isEmpty && eventObservers.isEmpty
            && policy == nil && handler == nil && scopes == 0 && operations.isEmpty && subscriptions.isEmpty
            && writers.isEmpty && channels.isEmpty && requests.isEmpty && pairing.isEmpty
    }
}
