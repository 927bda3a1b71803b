internal import Logging
internal import Waiting

/// How radios are started, tried again when they are missing, and restarted when they hear nothing; and what is told.
extension RadiosBackend {
    // MARK: What is told

    /// The events of the radios from now on.
    func events(_ left: @escaping @Sendable (_ token: Int) -> Void) -> BoundedStream<RadioEvent> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return observers.add(capacity: Self.eventCapacity, left)
    }

    /// The maximum number of unread events of a reader.
    private static let eventCapacity = 64

    func removeObserver(_ token: Int) { observers.remove(token) }

    /// The states of the radios, in order.
    var statuses: [RadioStatus] {
        members.indices.map { radio in
            let member = members[radio]
            return RadioStatus(
                name: member.name, state: member.state ?? .unavailable, obstacle: member.obstacle,
                isScanning: member.filter != nil && member.scanObstacle == nil, scanObstacle: member.scanObstacle,
                isSilent: watchdog.isSilent(radio), age: watchdog.age(of: radio, now: elapsed()),
                freeSlots: member.isOn ? member.slots : nil)
        }
    }

    /// Why no radio receives anything, although the central scans. Nil if one does.
    package func scanObstacle() -> BLEError? {
        let scanning = members.filter { $0.filter != nil }
        guard scanning.allSatisfy({ $0.scanObstacle != nil }) else { return nil }
        return scanning.first?.scanObstacle
    }

    /// Asks a radio for what it does not report with its events, and tells what has changed.
    func refresh(_ radio: Int) {
        if members[radio].state == .resetting,
            let reason = members[radio].backend.assumeIsolated({ $0.stackObstacle() })
        {
            setFailure(reason, of: radio)
        }
        let slots = freeSlots(of: radio)
        let obstacle = members[radio].backend.assumeIsolated { $0.scanObstacle() }
        let name = names[radio]
        if slots != members[radio].slots {
            members[radio].slots = slots
            observers.yield(.slotsChanged(radio: name, free: slots))
            // An attempt that waits for a radio that restarts may go on with this one.
            endWaits()
        }
        let former = members[radio].scanObstacle
        members[radio].scanObstacle = obstacle
        if let obstacle {
            // It tries again by itself.
            if former == nil { endWatch(of: radio) }
            if members[radio].toldScanObstacles.tell(obstacle) { observers.yield(.scanFailed(radio: name, obstacle)) }
        } else if members[radio].toldScanObstacles.clear(), let filter = members[radio].filter {
            scanBegan(on: radio, filter)
            observers.yield(.healed(radio: name))
        }
        report(.radioChanged)
    }

    // MARK: Starting

    private static let startLimit = Duration.seconds(5)

    /// Returns when each radio has started or failed, or some have not within the limit and another is on.
    func startAll() async throws(BLEError) {
        let outcome = Outcome<Void>()
        (started, isStartLate) = (outcome, false)
        defer { started = nil }
        let limit = Expiry(after: Self.startLimit, clock: configuredClock) { [weak self] in
            Task { await self?.startIsLate() }
        }
        defer { limit.cancel() }
        for radio in members.indices {
            members[radio].recovered()
            // Several steps: `recovery` keeps other tasks away until the radio has started.
            members[radio].recovery = Task(executorPreference: taskExecutor) { [weak self] in
                await self?.startFirst(radio)
            }
        }
        try await outcome.wait()
    }

    private func startIsLate() {
        isStartLate = true
        checkStarts()
    }

    private func startFirst(_ radio: Int) async {
        do throws(BLEError) {
            try await start(radio)
        } catch {
            setFailure(error, of: radio)
            logger.info("waiting for radio", metadata: ["radio": "\(names[radio])", "error": "\(error)"])
        }
        members[radio].recovery = nil
        guard started == nil else { return checkStarts() }
        // The central has not waited for it.
        guard !Task.isCancelled else { return }
        if members[radio].state != nil { isStarted(radio) } else { report(.radioChanged) }
        if members[radio].startFailure?.code != .unauthorized { recover(radio, isLate: members[radio].state == nil) }
    }

    /// Ends the wait of ``startAll()`` if there is nothing to wait for any longer.
    func checkStarts() {
        let failures = members.compactMap(\.startFailure)
        if let refusal = failures.first(where: { $0.code == .unauthorized }) {
            started?.deliver(.failure(refusal))
        } else if failures.count == members.count {
            started?.deliver(.failure(failures[0]))
        } else if members.allSatisfy({ $0.recovery == nil }) || isStartLate && members.contains(where: \.isOn) {
            started?.deliver(.success(()))
        }
    }

    /// Tells that a radio has started after the others.
    func isStarted(_ radio: Int) {
        logger.info("radio started", metadata: ["radio": "\(names[radio])"])
        if members[radio].isOn { observers.yield(.appeared(radio: names[radio])) }
        updateState()
        endWaits()
    }

    // MARK: Recovery

    static let pauses = Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(30))

    /// Starts a radio that has not started, and its scan if the central scans, until both have succeeded.
    ///
    /// - Parameter isLate: whether to pause before.
    func recover(_ radio: Int, isLate: Bool = false) {
        guard members[radio].recovery == nil, needsRecovery(radio) else { return }
        members[radio].recovery = Task(executorPreference: taskExecutor) { [weak self, clock = configuredClock] in
            var pauses = Self.pauses.pauses
            if isLate {
                guard await pauses.wait(clock, isLongest: self?.isUnsupported(radio) == true) else { return }
            }
            while let self, await !recoverOnce(radio) {
                guard await pauses.wait(clock, isLongest: isUnsupported(radio)) else { return }
            }
        }
    }

    private func needsRecovery(_ radio: Int) -> Bool {
        guard !isShutDown else { return false }
        let member = members[radio]
        return member.state == nil || member.isOn && member.filter != wanted
    }

    /// Whether the device at a radio's place has answered that it is no radio. Its firmware may be replaced one day.
    private func isUnsupported(_ radio: Int) -> Bool { members[radio].startFailure?.code == .notSupported }

    /// Returns whether there is nothing left to do.
    private func recoverOnce(_ radio: Int) async -> Bool {
        do throws(BLEError) {
            if members[radio].state == nil {
                try await start(radio)
                isStarted(radio)
            }
            while members[radio].isOn, members[radio].filter != wanted, !isShutDown {
                if let wanted {
                    try await startDiscovery(wanted, on: radio)
                } else {
                    try await stopDiscovery(on: radio)
                }
            }
        } catch {
            logger.debug("radio failed", metadata: ["radio": "\(names[radio])", "error": "\(error)"])
            if members[radio].state == nil {
                setFailure(error, of: radio)
                report(.radioChanged)
            }
            let isFinal = error.code == .unauthorized || error.code == .notSupported && !isUnsupported(radio)
            if !isFinal, needsRecovery(radio) { return false }
            members[radio].recovery = nil
            // It was the last one that could have gone on with the scan.
            if wanted != nil, !members.contains(where: \.mayScan), members.contains(where: \.isOn) {
                wanted = nil
                report(.scanEnded(error))
            }
            return true
        }
        members[radio].recovery = nil
        return true
    }

    // MARK: The watchdog

    /// Records that a radio scans. A radio is watched while it scans for everything: of particular services, it may
    /// hear nothing although it is well. One that says why it hears nothing is not watched either.
    func scanBegan(on radio: Int, _ filter: DiscoveryFilter) {
        guard members[radio].scanObstacle == nil, filter.services.isEmpty, filter.manufacturers.isEmpty,
            filter.minimumRSSI == nil, filter.transport != .classic
        else { return endWatch(of: radio) }
        watchdog.scanBegan(on: radio, now: elapsed())
        watch()
    }

    /// Records that a radio does not scan any longer.
    ///
    /// - Parameter reason: why the scan has ended by itself. Nil if it was stopped.
    func scanEnded(on radio: Int, _ reason: BLEError? = nil) {
        members[radio].filter = nil
        if let reason { members[radio].scanEnds = (members[radio].scanEnds.count + 1, reason) }
        members[radio].scanObstacle = nil
        members[radio].toldScanObstacles.clear()
        endWatch(of: radio)
    }

    private func endWatch(of radio: Int) {
        watchdog.scanEnded(on: radio)
        guard watchdog.nextCheck == nil else { return }
        watching?.cancel()
        watching = nil
    }

    private func watch() {
        guard watching == nil, members.count > 1, !isShutDown else { return }
        // Several steps: each asks anew what the watchdog knows.
        watching = Task(executorPreference: taskExecutor) { [weak self, clock = configuredClock] in
            while let pause = await self?.untilCheck() {
                guard (try? await clock.sleep(for: pause)) != nil else { return }
                await self?.check()
            }
        }
    }

    /// The time until the radios are to be looked after, at least 1 s. Nil if the task has ended.
    private func untilCheck() -> Duration? {
        guard !Task.isCancelled, let next = watchdog.nextCheck else { return nil }
        return max(next - elapsed(), .seconds(1))
    }

    private func check() {
        guard !Task.isCancelled else { return }
        for action in watchdog.check(now: elapsed(), hasLinks: { choice.hasLinks(on: $0) }) {
            switch action {
            case .tell(let radio, let silence):
                logger.info("radio silent", metadata: ["radio": "\(names[radio])", "for": "\(silence)"])
                observers.yield(.silent(radio: names[radio], for: silence))
            case .restart(let radio, let part): restart(radio, part)
            }
        }
    }

    private func restart(_ radio: Int, _ part: Radio.Restart) {
        // What is being started already is not restarted as well.
        guard members[radio].recovery == nil, members[radio].isOn, !isShutDown else { return }
        logger.info("restarting radio", metadata: ["radio": "\(names[radio])", "part": "\(part)"])
        observers.yield(.restarting(radio: names[radio], part))
        // Several steps: each asks anew for the radio's state, and `recovery` keeps other tasks away.
        members[radio].recovery = Task(executorPreference: taskExecutor) { [weak self, clock = configuredClock] in
            await self?.restartOnce(radio, part)
            var pauses = Self.pauses.pauses
            while let self, await beginPause(radio) {
                guard await pauses.wait(clock) else { break }
                await powerOn(radio)
            }
            await self?.restarted(radio)
        }
    }

    private func restartOnce(_ radio: Int, _ part: Radio.Restart) async {
        guard !isShutDown, members[radio].isOn else { return }
        do throws(BLEError) {
            // A link may have been begun since.
            if part == .scan || choice.hasLinks(on: radio) { return try await stopDiscovery(on: radio) }
            setRestarting(true, radio)
            try await members[radio].backend.restart()
        } catch {
            logger.debug("restart failed", metadata: ["radio": "\(names[radio])", "error": "\(error)"])
            // It is started again, whether or not it has been stopped.
            members[radio].filter = nil
        }
    }

    /// Whether the restart has powered a radio off, and not on again.
    private func isLeftOff(_ radio: Int) -> Bool {
        members[radio].isRestarting && members[radio].state == .poweredOff && !isShutDown
    }

    /// Whether a radio is to be powered on after a pause.
    private func beginPause(_ radio: Int) -> Bool {
        members[radio].isPausing = isLeftOff(radio)
        return members[radio].isPausing
    }

    private func powerOn(_ radio: Int) async {
        members[radio].isPausing = false
        // The program may have switched it off since.
        guard isLeftOff(radio) else { return }
        do throws(BLEError) {
            try await members[radio].backend.setPowered(true, adapter: nil)
        } catch {
            logger.debug("not powered on", metadata: ["radio": "\(names[radio])", "error": "\(error)"])
            if [.notSupported, .unauthorized, .blocked].contains(error.code) { setRestarting(false, radio) }
        }
    }

    private static let restartLimit = Duration.seconds(5)

    /// Lets a restart in progress end, at the latest after a time, and powers the radio on if it may be left off.
    func endRestart(of radio: Int) async {
        guard members[radio].isRestarting, let recovery = members[radio].recovery else { return }
        let expiry = Expiry(after: Self.restartLimit, clock: configuredClock) { recovery.cancel() }
        // A call to power it off or on must end before the next one, but there is no use in waiting for a pause.
        if members[radio].isPausing { recovery.cancel() }
        await recovery.value
        expiry.cancel()
        let backend = members[radio].backend
        guard [.poweredOn, .poweredOff].contains(adapterState(of: radio)) else { return }
        // Also for a caller that is cancelled.
        await Task(executorPreference: taskExecutor) { [logger, name = names[radio]] in
            do throws(BLEError) {
                try await backend.setPowered(true, adapter: nil)
            } catch {
                logger.info("radio left off", metadata: ["radio": "\(name)", "error": "\(error)"])
            }
        }.value
    }

    private func restarted(_ radio: Int) {
        (members[radio].isPausing, members[radio].recovery) = (false, nil)
        setRestarting(false, radio)
        recover(radio)
    }
}
