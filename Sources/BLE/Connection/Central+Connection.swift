internal import Logging
internal import Waiting

/// Connecting and disconnecting. Callers share one link to a peripheral and one attempt to establish it.
extension Central {
    // MARK: Connecting and disconnecting

    func connect(
        _ id: Peripheral.ID, timeout: Duration?, isPatient: Bool = false, appliesPolicy: Bool = true
    ) async throws(BLEError) {
        links[id]?.useBeyondPairing()
        try await establish(id, timeout: timeout, isPatient: isPatient, appliesPolicy: appliesPolicy)
    }

    /// Establishes the link for a caller that does not want it to end with a scope. While it waits, the link is in use.
    func connectToStay(
        _ id: Peripheral.ID, timeout: Duration?, isPatient: Bool = false, appliesPolicy: Bool = true
    ) async throws(BLEError) {
        links[id]?.pairing.keepLink()
        // A scope that ends before the call returns must not end the link that is up.
        if connectionState(id) == .connected { links[id]?.keep() }
        try await establish(id, timeout: timeout, isPatient: isPatient, appliesPolicy: appliesPolicy)
        links[id]?.keep()
    }

    /// Establishes the link, or joins an attempt in progress.
    ///
    /// - Parameters:
    ///   - isPatient: whether to wait without a time limit if the link is maintained, also while the adapter is off.
    ///   - appliesPolicy: whether the link is maintained from now on if the configuration's policy says so.
    ///   - total: the time that the caller has given, of which `timeout` is the rest. Nil if it is `timeout`.
    func establish(
        _ id: Peripheral.ID, timeout: Duration?, of total: Duration? = nil, isPatient: Bool = false,
        appliesPolicy: Bool = true
    ) async throws(BLEError) {
        try checkRunning()
        if connectionState(id) == .connected { return }
        let outcome = Outcome<Void>()
        let waiter = token()
        if appliesPolicy { applyPolicy(id) }
        let isPatient = isPatient && isMaintained(id)
        let limit = timeout ?? configuration.connectTimeout
        let deadline = isPatient ? nil : deadline(limit, of: total, "connecting", outcome)
        defer { deadline?.cancel() }
        try await wait(on: id, waiter, outcome, limit: total ?? limit, as: .connect) {
            $0.connect(waiter, isPatient: isPatient)
        } abandon: {
            $0.abandon(waiter)
        }
    }

    /// - Parameter kind: what the wait is observed as. Nil if it is not observed.
    func wait(
        on id: Peripheral.ID, _ waiter: Int, _ outcome: Outcome<Void>, limit: Duration, as kind: OperationKind? = nil,
        _ event: (inout ConnectionMachine) -> [ConnectionMachine.Action],
        abandon: (inout ConnectionMachine) -> [ConnectionMachine.Action]
    ) async throws(BLEError) {
        let observation = kind.map { observe($0, on: id) }
        link(id).addWaiter(waiter, outcome)
        step(link(id), isCall: true, event)
        do throws(BLEError) {
            try await outcome.wait()
            ended(observation, nil)
            waitEnded(waiter, on: id) { _ in [] }
        } catch {
            let isSearching = scanning.isSearching(id)
            let error = error.code == .timedOut && isSearching ? BLEError.notHeard(within: limit, cause: error) : error
            ended(observation, error.code)
            let obstacle = links[id]?.obstacle ?? adapter.obstacle
            waitEnded(waiter, on: id, abandon)
            throw error.waiting(for: obstacle).at(id)
        }
    }

    private func waitEnded(
        _ waiter: Int, on id: Peripheral.ID, _ abandon: (inout ConnectionMachine) -> [ConnectionMachine.Action]
    ) {
        links[id]?.removeWaiter(waiter)
        step(id, abandon)
        // The caller may go no further.
        considerIdle(id)
        removeLinkIfUnused(id)
    }

    /// Passes an event to the connection machine and performs the actions that it returns.
    func step(_ id: Peripheral.ID, _ event: (inout ConnectionMachine) -> [ConnectionMachine.Action]) {
        if let link = links[id] { step(link, event) }
    }

    /// - Parameter isCall: whether the event is a caller's request, in its task.
    func step(
        _ link: Link, isCall: Bool = false, _ event: (inout ConnectionMachine) -> [ConnectionMachine.Action]
    ) {
        // After the shutdown, a link that an attempt still holds is not the central's any more.
        guard links[link.id] === link else { return }
        for action in link.send(event) { carryOut(action, for: link, isCall: isCall) }
    }

    private func carryOut(_ action: ConnectionMachine.Action, for link: Link, isCall: Bool) {
        let id = link.id
        for run in autoConnecting.values { run.take(action, of: id, link.error) }
        switch action {
        case .publish(let state):
            logger.debug("connection", metadata: ["peripheral": "\(id)", "state": "\(state)"])
            link.publish(state)
            count(state, of: link)
            if state == .connected { reconnectEnded(link, nil) }
            switch state {
            case .connecting: report(.connecting, of: id)
            case .connected:
                report(.connected, of: id)
                reportLinked(id)
            case .disconnecting, .disconnected: stopHandler(id)
            }
        case .tell(let event):
            let error =
                link.error
                ?? BLEError(.disconnected, "the link ended", peripheral: id, disconnectReason: .unknown)
            if event != .linkEnded, event != .waiting { reconnectEnded(link, error.code) }
            switch event {
            case .attemptFailed(let pause): report(.connectFailed(error.at(id), retryAfter: pause), of: id)
            case .linkEnded, .endedHere: report(.disconnected(error), of: id)
            case .disconnectFailed: report(.disconnectFailed(error.at(id)), of: id)
            case .waiting: report(.waiting((adapter.error ?? error).at(id)), of: id)
            }
        case .limit(let waiters):
            for outcome in link.outcomes(of: waiters) {
                _ = deadline(configuration.connectTimeout, "connecting", outcome)
            }
        case .succeed(let waiters):
            link.deliver(.success(()), to: waiters)
        case .fail(let waiters, let failure):
            let error: BLEError =
                switch failure {
                case .attempt:
                    link.error ?? BLEError(.connectionFailed, "the link could not be established")
                case .cancelledByDisconnect:
                    BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")
                case .disconnect:
                    link.error ?? BLEError(.disconnectionFailed, "the link could not be ended")
                }
            link.deliver(.failure(error), to: waiters)
        case .startAttempt(let number):
            // On a maintained link, the failure of one attempt is what callers of the next should know.
            if !link.isMaintained { link.setObstacle(nil) }
            let work: @concurrent @Sendable () async -> Void = { [weak self] in
                // Several steps: the actor knows the attempt by its number. A wait without a time limit must not retain
                // the central.
                var failure: BLEError?
                while let wait = await self?.attempt(number, on: id, after: failure) {
                    do throws(BLEError) {
                        try await wait.outcome.wait()
                        failure = nil
                    } catch {
                        failure = error
                    }
                    await self?.end(wait)
                }
            }
            if isCall {
                link.setAttempt(Task(executorPreference: taskExecutor, operation: work))
            } else {
                if !link.isAwaited { link.beginReconnect(observe(.reconnect, on: id), elapsed) }
                // Not with the task-local values of an earlier call, such as its logger and its span.
                link.setAttempt(Task.detached(executorPreference: taskExecutor, operation: work))
            }
        case .cancelAttempt:
            let attempt = link.attempt
            attempt?.cancel()
            Task {
                await attempt?.value
                await self.endLink(
                    id, BLEError(.connectionCancelled, "the attempt to connect was ended", peripheral: id))
            }
        case .startDisconnect:
            link.failOperations(endedHere(id))
            Task { await self.endLink(id, endedHere(id)) }
        case .scheduleRetry(let pause):
            link.setRetryTimer(
                .after(pause, clock: clock, on: self, executor: taskExecutor) { $0.step(id) { $0.retryIsDue() } })
        case .cancelRetry:
            link.setRetryTimer(nil)
        }
    }

    // MARK: An attempt

    /// A wait without a time limit during an attempt: a search for the peripheral, or the adapter's return.
    struct AttemptWait {
        let isSearch: Bool
        let peripheral: Peripheral.ID
        let token: Int
        let outcome: Outcome<Void>
    }

    /// Records what an attempt waits for, and reports it once in the same wait.
    func wait(on id: Peripheral.ID, for obstacle: BLEError) {
        if links[id]?.wait(for: obstacle) == true { report(.waiting(obstacle.at(id)), of: id) }
    }

    private func end(_ wait: AttemptWait) {
        links[wait.peripheral]?.endWait()
        if wait.isSearch { endSearch(wait.token, for: wait.peripheral) } else { adapter.endWait(wait.token) }
    }

    /// Establishes the link and discovers the services. Both have a time limit, even if no caller waits.
    ///
    /// - Parameter failure: the error of the wait that the previous call returned, if it failed.
    /// - Returns: a wait that must end before the attempt can continue: Bluetooth returns, or the peripheral is found.
    ///   Nil when the attempt has ended.
    private func attempt(_ number: Int, on id: Peripheral.ID, after failure: BLEError?) async -> AttemptWait? {
        guard let link = links[id] else { return nil }
        do throws(BLEError) {
            if let failure { throw failure }
            try checkRunning()
            if let obstacle = adapter.obstacle, adapterState == .resetting {
                let token = token()
                let outcome = adapter.beginWait(token)
                link.waitsForAdapter = true
                wait(on: id, for: obstacle)
                return AttemptWait(isSearch: false, peripheral: id, token: token, outcome: outcome)
            }
            link.forgetLoss()
            do throws(BLEError) {
                try await within(backend.limits.connectionTimeout, "establishing the link") {
                    (backend) throws(BLEError) in
                    try await backend.connect(id)
                }
            } catch {
                // The system does not know it, or no longer. It may come into range, or advertise again.
                if error.code == .peripheralNotFound, !Task.isCancelled {
                    logger.debug("searching for peripheral", metadata: ["peripheral": "\(id)"])
                    let (token, found) = beginSearch(for: id)
                    wait(on: id, for: error)
                    return AttemptWait(isSearch: true, peripheral: id, token: token, outcome: found)
                }
                throw error
            }
            link.forgetLoss()
            let (database, changes) = try await discoverInTime(id)
            link.discovered(database, after: changes)
            // Streams that survived the gap receive the first value that is sent on this link.
            try await restoreSubscriptions(of: id, database)
            if let lost = link.loss { throw lost }
            link.setObstacle(nil)
            step(link) { $0.attemptSucceeded(number) }
            if link.state == .connected, link.publishServices(over: linkRadio(of: id)) {
                report(.servicesChanged, of: id)
            }
            restoreInterrupted(id)
            runHandler(id)
            considerIdle(id)
        } catch {
            if link.isMaintained, error.code != .cancelled {
                report(unhandled: error, while: "reestablishing the link", of: id)
            } else {
                logger.debug("connect failed", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            }
            // A link whose services cannot be discovered is useless. The link of a cancelled attempt is ended by the
            // code that cancelled it.
            var mayBeUp = Task.isCancelled ? false : await !isDown(id)
            if link.loss != nil { mayBeUp = false }
            // Those that were restored already were stopped with the link.
            for fanout in link.subscriptions.interrupt() { fanout.interrupt(error) }
            link.fail(error)
            link.setObstacle(error.isCancellation ? nil : error)
            link.voidServices()
            let isHopeless = adapterState != .poweredOn && adapterState != .resetting
            let isPermanent = Self.permanent.contains(error.code)
            step(link) {
                $0.attemptFailed(number, mayBeUp: mayBeUp, isHopeless: isHopeless, isPermanent: isPermanent)
            }
            endStranded(id)
        }
        removeLinkIfUnused(id)
        return nil
    }

    /// The errors that a later attempt will meet as well.
    private static let permanent: Set<BLEError.Code> = [.invalidArgument, .unauthorized, .notSupported]

    /// Performs `work` with a time limit.
    ///
    /// - Parameter kind: what it is observed as. Nil if it is not observed.
    func within<Value: Sendable>(
        _ limit: Duration, _ name: String, as kind: OperationKind? = nil, on id: Peripheral.ID? = nil,
        _ work: @escaping @Sendable (any CentralBackend) async throws(BLEError) -> Value
    ) async throws(BLEError) -> Value {
        let observation = kind.map { observe($0, on: id) }
        do throws(BLEError) {
            let value = try await Outcome.race(within: limit, clock: clock, executor: taskExecutor) {
                BLEError(.timedOut, "\(name) took longer than \(limit)")
            } _: { [backend] () throws(BLEError) in
                try await work(backend)
            }
            ended(observation, nil)
            return value
        } catch {
            ended(observation, error.code)
            throw error
        }
    }

    /// Discovers the services, with a time limit, and repeats this until they have not changed in the meantime.
    ///
    /// - Returns: the services, and after how many changes: there may be another one before the caller records them.
    func discoverInTime(_ id: Peripheral.ID) async throws(BLEError) -> (GATTDatabase, changes: Int?) {
        try await within(
            configuration.connectTimeout, "discovering the services", as: .discover, on: id
        ) { [weak self] (_) throws(BLEError) in
            guard let self else { throw .shutDown }
            return try await self.discover(id)
        }
    }

    private func discover(_ id: Peripheral.ID) async throws(BLEError) -> (GATTDatabase, changes: Int?) {
        while true {
            let changes = links[id]?.serviceChanges
            let database = try await backend.discoverServices(id)
            // The link may have ended between the backend's answer and this line.
            if let lost = links[id]?.loss { throw lost }
            if links[id]?.serviceChanges == changes { return (database, changes) }
        }
    }
}
