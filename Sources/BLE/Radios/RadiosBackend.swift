internal import Logging
internal import Waiting

/// Several radios as one: a backend of backends.
///
/// An advertisement is passed on from the radio that is the peripheral's source, a link is made with the radio that
/// ``RadioChoice`` puts first, and everything on a link goes to the radio that has it. A radio that goes, or that is
/// not there yet, leaves the others as they are.
///
/// All radios run on one executor, that of the first, and so does this backend: events and what the central asks
/// synchronously need no suspension.
package actor RadiosBackend: CentralBackend {
    /// A radio that this backend uses.
    struct Member {
        let name: String
        let backend: any CentralBackend
        /// Nil until it has started.
        var state: AdapterState?
        /// The filter with which it scans. Nil if it does not.
        var filter: DiscoveryFilter?
        /// Starts it, or its scan, again and again.
        var recovery: Task<Void, Never>?
        /// What it has said last of its slots and its scan.
        var slots: Int?
        var scanObstacle: BLEError?
        var toldScanObstacles = ToldReasons()
        /// Whether it is being powered off and on.
        fileprivate(set) var isRestarting = false
        /// Whether its restart pauses before it is powered on again.
        var isPausing = false
        /// The number of calls to start its scan that have not returned.
        var scanStarts = 0
        /// How often its scan has ended by itself, and why it last did.
        var scanEnds: (count: Int, reason: BLEError?) = (0, nil)
        /// Why it has not started, or why its stack was lost. Nil while neither is known, and when it is there.
        private(set) var failure: BLEError?
        private var toldFailures = ToldReasons()
        /// When it was on last, as a number that is higher for each radio that is lost. 0 if it never was.
        fileprivate(set) var loss = 0

        fileprivate init(name: String, backend: any CentralBackend) { (self.name, self.backend) = (name, backend) }

        /// Records why it cannot be used. Returns whether that is told: not if it is the same as before.
        mutating func fail(_ error: BLEError) -> Bool {
            let isRepeated = BLEError.haveSameReason(failure, error)
            failure = error
            return !isRepeated && toldFailures.tell(error)
        }

        /// Records why it cannot be used, which is not told: it may be told later, after another reason.
        mutating func failUntold(_ error: BLEError) { failure = error }

        /// Records that it is there.
        mutating func recovered() {
            failure = nil
            toldFailures.clear()
        }

        var isOn: Bool { state == .poweredOn }
        /// Whether there is a scan to stop, or one that begins.
        var hasScan: Bool { filter != nil || isOn && scanStarts > 0 }
        /// Whether it scans, or tries to.
        var mayScan: Bool { hasScan || isOn && recovery != nil }
        /// Why it cannot be used. Nil if it is on.
        var obstacle: BLEError? {
            guard !isOn else { return nil }
            return failure ?? state?.error
                ?? (state == nil
                    ? BLEError(.bluetoothUnavailable, "it has not answered yet", isRetryable: true)
                    : BLEError(.bluetoothLost, "its stack restarts", isRetryable: true))
        }
        /// Why it has not started. Nil if it has, or is being started.
        var startFailure: BLEError? { state == nil ? failure : nil }
        /// Whether it can be asked, even if it is off.
        var isThere: Bool { isOn || state == .poweredOff }
    }

    private nonisolated let first: any CentralBackend
    /// The names of the radios, in order.
    nonisolated let names: [String]
    package nonisolated let limits: CentralLimits
    package nonisolated var unownedExecutor: UnownedSerialExecutor { first.unownedExecutor }
    package nonisolated var isCurrent: Bool { first.isCurrent }
    package nonisolated var taskExecutor: (any TaskExecutor)? { first.taskExecutor }
    package nonisolated var clock: any Clock<Duration> { first.clock }

    var members: [Member]
    var choice: RadioChoice
    var watchdog: RadioWatchdog
    /// Looks after radios that hear nothing. Nil if none is watched.
    var watching: Task<Void, Never>?
    var observers = Observers<RadioEvent>()
    /// The filter that the central wants the radios to scan with. Nil if it does not scan.
    var wanted: DiscoveryFilter?
    /// The attempts to connect, by peripheral. Removed by a disconnect, which ends them.
    var attempts: [Peripheral.ID: Int] = [:]
    /// Attempts that wait for a radio whose stack restarts.
    private var waits: [Int: Outcome<Void>] = [:]
    /// Delivered when enough radios have started. Nil after that.
    var started: Outcome<Void>?
    /// Whether radios that have not started yet are not waited for, once another is on.
    var isStartLate = false
    private var lastAttempt = 0
    private var context: CentralContext?
    private(set) var isShutDown = false
    /// Whether the loss of all radios was reported.
    private var isLost = false
    private var reported = AdapterState.resetting
    /// The time since the start, by the central's clock.
    private(set) var elapsed: @Sendable () -> Duration = { .zero }

    var logger: Logger { context?.logger ?? Logger(label: "ble") }
    var configuredClock: any Clock<Duration> { context?.clock ?? ContinuousClock() }

    /// - Parameters:
    ///   - radios: at least one, with unique names.
    ///   - restarts: for each radio, what is restarted if it hears nothing; by default, its scan.
    package init(
        _ radios: [(name: String, backend: any CentralBackend)], restarts: [Radio.Restart]? = nil,
        rules: RadioChoice.Rules = RadioChoice.Rules()
    ) {
        precondition(!radios.isEmpty, "a central needs a radio")
        precondition(Set(radios.map(\.name)).count == radios.count, "two radios have the same name")
        members = radios.map { Member(name: $0.name, backend: $0.backend) }
        choice = RadioChoice(radios: radios.count, rules: rules)
        watchdog = RadioWatchdog(restarts ?? radios.map { _ in .scan })
        first = radios[0].backend
        names = radios.map(\.name)
        limits = Self.limits(radios.map(\.backend.limits))
    }

    /// The limits that hold for all radios.
    private static func limits(_ all: [CentralLimits]) -> CentralLimits {
        CentralLimits(
            adapterNameLength: all.map(\.adapterNameLength).min() ?? 0,
            pairingPromptTimeout: all.map(\.pairingPromptTimeout).min() ?? .zero,
            connectionTimeout: all.map(\.connectionTimeout).reduce(.zero, +),
            reportsConnectability: all.allSatisfy(\.reportsConnectability))
    }

    func report(_ event: CentralBackendEvent) { context?.handleEvent(event) }

    func nextAttempt() -> Int {
        lastAttempt += 1
        return lastAttempt
    }

    /// The next change of a radio's state, or the next end of an attempt.
    struct Change {
        let token: Int
        let outcome: Outcome<Void>
    }

    /// Begins a wait for a change, in the step in which the caller has seen that it must wait: others may have their
    /// turn before an asynchronous function begins.
    func nextChange() -> Change {
        let change = Change(token: nextAttempt(), outcome: Outcome())
        waits[change.token] = change.outcome
        return change
    }

    func wait(for change: Change) async throws(BLEError) {
        defer { waits[change.token] = nil }
        try await change.outcome.wait()
    }

    func endWaits(_ result: Result<Void, BLEError> = .success(())) {
        for wait in waits.values { wait.deliver(result) }
    }

    /// Records whether a radio is being powered off and on. Attempts to connect wait for that.
    func setRestarting(_ isRestarting: Bool, _ radio: Int) {
        guard members[radio].isRestarting != isRestarting else { return }
        members[radio].isRestarting = isRestarting
        endWaits()
    }

    // MARK: Starting and stopping

    /// Starts all radios at once. Those that cannot start yet are tried again as long as this backend runs, and those
    /// that take longer than 5 s are not waited for if another is on.
    ///
    /// Throws the error of the first radio if none can start, and `unauthorized` if one throws that.
    package func start(_ context: CentralContext) async throws(BLEError) {
        guard members.allSatisfy({ $0.backend.isCurrent }) else {
            throw BLEError(
                .invalidArgument, "the radios of a central do not run on one executor", isRetryable: false,
                remedy: "Give radios of different stacks centrals of their own.")
        }
        self.context = context
        elapsed = Central.stopwatch(context.clock)
        do throws(BLEError) {
            try await startAll()
        } catch {
            let starting = members.compactMap(\.recovery)
            for task in starting { task.cancel() }
            for task in starting { await task.value }
            for radio in members.indices where members[radio].state != nil {
                await members[radio].backend.shutDown()
                members[radio].state = nil
            }
            throw error
        }
        reported = state
        for radio in members.indices where members[radio].startFailure != nil { recover(radio) }
    }

    func start(_ radio: Int) async throws(BLEError) {
        guard let context else { return }
        let handle: @Sendable (CentralBackendEvent) -> Void = { [weak self] event in
            guard let self else { return }
            enter(isCurrent: isCurrent, with: (radio, event)) { $0.handle($1.1, from: $1.0) }
        }
        try await members[radio].backend.start(
            CentralContext(
                handleEvent: handle, logger: context.logger, clock: context.clock, pairing: context.pairing))
        guard !isShutDown else { return await members[radio].backend.shutDown() }
        members[radio].state = adapterState(of: radio)
        members[radio].recovered()
        members[radio].slots = freeSlots(of: radio)
    }

    package func shutDown() async {
        isShutDown = true
        endWaits(.failure(.shutDown))
        observers.finish(.shutDown)
        watching?.cancel()
        let recoveries = members.compactMap(\.recovery)
        // A restart in progress must not leave the adapter off.
        for member in members where !member.isRestarting { member.recovery?.cancel() }
        await withDiscardingTaskGroup { group in
            for radio in members.indices where members[radio].state != nil {
                let backend = members[radio].backend
                group.addTask(executorPreference: taskExecutor) {
                    await self.endRestart(of: radio)
                    await backend.shutDown()
                }
            }
            for recovery in recoveries {
                group.addTask(executorPreference: taskExecutor) { await recovery.value }
            }
        }
    }

    // MARK: States

    package func adapterState() -> AdapterState { reported }

    func adapterState(of radio: Int) -> AdapterState {
        members[radio].backend.assumeIsolated { $0.adapterState() }
    }

    func freeSlots(of radio: Int) -> Int? { members[radio].backend.assumeIsolated { $0.freeSlots() } }

    /// The state of all radios together: the best of them.
    private var state: AdapterState {
        let states = members.compactMap(\.state)
        return [.poweredOn, .resetting, .poweredOff].first(where: states.contains) ?? .unavailable
    }

    /// Why no radio can be used: the reason of the one that was lost last, of those whose state is that of all. Nil if
    /// one is on.
    var obstacle: BLEError? {
        guard !members.contains(where: \.isOn) else { return nil }
        let state = self.state
        let last = members.filter { $0.state == state }.max { $0.loss < $1.loss }
        guard let member = last ?? members.first else { return nil }
        // A failure names what has failed.
        guard members.count > 1, member.failure == nil, var obstacle = member.obstacle else { return member.obstacle }
        obstacle.message = "radio \(member.name): \(obstacle.message)"
        return obstacle
    }

    /// Why no radio's stack has returned.
    package func stackObstacle() -> BLEError? { state == .resetting ? obstacle : nil }

    /// Records why a radio cannot be used, and tells it if it was not told since the radio was there.
    func setFailure(_ error: BLEError, of radio: Int) {
        guard started == nil else { return members[radio].failUntold(error) }
        guard members[radio].fail(error) else { return }
        observers.yield(.gone(radio: names[radio], members[radio].state ?? .unavailable))
    }

    func updateState() {
        guard started == nil, state != reported else { return }
        reported = state
        // The central starts its scan again when a radio is on.
        if state != .poweredOn { wanted = nil }
        report(.adapterStateChanged(state))
    }

    private func change(_ radio: Int, to state: AdapterState) {
        let (wasOn, wasStarted) = (members[radio].isOn, members[radio].state != nil)
        // An adapter that has not been there was not removed: it is still missing for the reason of its start.
        let isStillMissing = state == .unavailable && [nil, .unavailable].contains(members[radio].state)
        members[radio].state = state
        if state != .resetting { isLost = false }
        if state != .resetting, !isStillMissing { members[radio].recovered() }
        if wasOn, state != .poweredOn {
            members[radio].loss = nextAttempt()
            scanEnded(on: radio, BLEError(.poweredOff, "the radio is off, or gone"))
            observers.yield(.gone(radio: names[radio], state))
            // Their links end with an event of their own.
            _ = choice.didLose(radio)
        }
        logger.debug("radio", metadata: ["radio": "\(names[radio])", "state": "\(state)"])
        if state == .poweredOn, !wasOn, wasStarted { observers.yield(.appeared(radio: names[radio])) }
        updateState()
        refresh(radio)
        endWaits()
        // The start of the central may wait for a radio that is on.
        checkStarts()
        if state == .poweredOn { recover(radio) }
    }

    private func handle(_ event: CentralBackendEvent, from radio: Int) {
        switch event {
        case .adapterStateChanged(let state):
            change(radio, to: state)
        case .advertisementReceived(let id, var advertisement):
            let now = elapsed()
            if watchdog.didReceive(on: radio, now: now) { observers.yield(.healed(radio: names[radio])) }
            guard choice.didReceive(id, rssi: advertisement.rssi, on: radio, now: now) else { return }
            advertisement.radio = UInt8(truncatingIfNeeded: radio)
            report(.advertisementReceived(id, advertisement))
        case .scanEnded(let error):
            scanEnded(on: radio, error)
            // Another radio may be about to scan.
            guard members.contains(where: \.mayScan) else {
                wanted = nil
                return report(.scanEnded(error))
            }
            logger.debug("scan of radio ended", metadata: ["radio": "\(names[radio])", "error": "\(error)"])
            report(.radioChanged)
            recover(radio, isLate: true)
        case .peripheralRemoved(let id):
            if choice.didRemove(id, on: radio) { report(event) }
        case .linkEnded(let id, _):
            if choice.linkEnded(id, on: radio) { report(event) }
        case .servicesChanged(let id), .pairingEnded(let id):
            guard choice.holder(of: id) ?? radio == radio else { return }
            report(event)
            // An operation may have paired.
            if case .pairingEnded = event { learnBond(of: id, on: radio) }
        case .notificationsEnded(let attribute, _):
            if choice.holder(of: attribute.peripheral) == radio { report(event) }
        case .radioChanged:
            refresh(radio)
        case .stackLost(let error):
            lose(radio, error)
        }
    }

    /// Handles the loss of a radio's stack, which may be that of the others, too.
    private func lose(_ radio: Int, _ error: BLEError) {
        if members[radio].isOn {
            members[radio].loss = nextAttempt()
            // The reason is that of the status.
            _ = members[radio].fail(error)
            observers.yield(.gone(radio: names[radio], .resetting))
        } else {
            members[radio].failUntold(error)
        }
        members[radio].state = .resetting
        scanEnded(on: radio, error)
        let ended = choice.didLose(radio)
        guard !isLost else { return }
        let others = members.indices.filter { members[$0].state != nil }
        guard others.allSatisfy({ adapterState(of: $0) == .resetting }) else {
            for id in ended { report(.linkEnded(id, error)) }
            return
        }
        // The adapter's state follows.
        isLost = true
        wanted = nil
        report(.stackLost(error))
    }
}
