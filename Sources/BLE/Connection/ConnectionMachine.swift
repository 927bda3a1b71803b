/// The state of the connection to a peripheral.
public enum ConnectionState: String, Hashable, Codable, Sendable {
    /// There is no link. It may be reestablished after a pause.
    case disconnected
    /// The link is being established, or its services are being discovered.
    case connecting
    /// The link is up, and the services are discovered.
    case connected
    /// The link is being ended.
    case disconnecting
}

/// The state machine of one peripheral's connection. Its methods are events and return actions.
///
/// Any number of callers share one attempt. The attempt is cancelled only when the last caller gives up and the link is
/// not maintained. A disconnect ends an attempt immediately. Callers that request a link while it is being ended wait
/// for that, and then a new attempt starts. A maintained link is reestablished whenever it is down, after a pause that
/// grows with each failed attempt.
struct ConnectionMachine {
    typealias Waiter = Int

    enum Action: Equatable {
        case startAttempt(Int)
        /// Ends the running attempt and any link that it has established; answered by `disconnectFinished`.
        case cancelAttempt
        /// Ends the link; answered by `disconnectFinished`.
        case startDisconnect
        /// Answered by `retryIsDue`, unless `cancelRetry` comes first.
        case scheduleRetry(after: Duration)
        case cancelRetry
        case succeed([Waiter])
        case fail([Waiter], Failure)
        case publish(ConnectionState)
        case tell(Event)
        /// Gives waiters a deadline that had none.
        case limit([Waiter])
    }

    /// What observers are told besides the states.
    enum Event: Equatable {
        /// The attempt failed, and the next one follows after the pause. Nil if none follows.
        case attemptFailed(retryAfter: Duration?)
        /// The link ended by itself, or by another program.
        case linkEnded
        /// This central ended the link.
        case endedHere
        /// The link could not be ended.
        case disconnectFailed
        /// The next attempt follows when the adapter allows it.
        case waiting
    }

    enum Failure: Equatable {
        /// The attempt failed, with an error of its own.
        case attempt
        /// A disconnect ended the attempt.
        case cancelledByDisconnect
        /// The disconnect failed, with an error of its own.
        case disconnect
    }

    /// What the connection is doing, with what is known for as long as it does that.
    private enum Phase {
        case disconnected(Rest)
        case connecting
        case connected
        case disconnecting(Ending)
    }

    private struct Rest {
        var isRetryScheduled = false
        /// The link could not be ended: it may be up, although it is no longer used.
        var mayBeUp = false
    }

    private struct Ending {
        /// It ends an attempt, not a link.
        var endsAttempt = false
        var waiters: [Waiter] = []
        /// The link has ended meanwhile.
        var hasEnded = false
    }

    private struct Caller {
        let waiter: Waiter
        /// Waits for the adapter as well.
        let isPatient: Bool
    }

    private var phase = Phase.disconnected(Rest())
    private(set) var attempt = 0
    /// The number of attempts in a row that have failed.
    private var failures = 0
    /// The policy set for this peripheral. Nil if the configuration's policy applies.
    private(set) var policy: ConnectionPolicy?
    /// The callers that wait for the link; none once it is up.
    private var callers: [Caller] = []

    var state: ConnectionState {
        switch phase {
        case .disconnected: .disconnected
        case .connecting: .connecting
        case .connected: .connected
        case .disconnecting: .disconnecting
        }
    }

    /// The pauses between attempts for a maintained link. Nil if the link is not maintained.
    private var upkeep: Backoff? { if case .maintained(let backoff) = policy { backoff } else { nil } }

    var isMaintained: Bool { upkeep != nil }

    var isRetryScheduled: Bool { if case .disconnected(let rest) = phase { rest.isRetryScheduled } else { false } }

    /// Whether the link may be up, although it is no longer used.
    var mayBeUp: Bool { if case .disconnected(let rest) = phase { rest.mayBeUp } else { false } }

    /// Whether the link has ended during the disconnect in progress.
    var hasEnded: Bool { if case .disconnecting(let ending) = phase { ending.hasEnded } else { false } }

    /// Whether there is no link, nothing is in progress or scheduled, and no caller waits.
    var isIdle: Bool { state == .disconnected && !isWanted }

    /// Whether a caller waits for the link.
    var isAwaited: Bool { !callers.isEmpty }

    /// Whether there is a link that is not being ended, or one is requested.
    var isWanted: Bool {
        switch phase {
        case .connecting, .connected: true
        case .disconnected, .disconnecting: isMaintained || !callers.isEmpty
        }
    }

    private mutating func start() -> [Action] {
        let actions = cancelRetry()
        phase = .connecting
        attempt += 1
        return actions + [.publish(.connecting), .startAttempt(attempt)]
    }

    private mutating func cancelRetry() -> [Action] {
        guard case .disconnected(var rest) = phase, rest.isRetryScheduled else { return [] }
        rest.isRetryScheduled = false
        phase = .disconnected(rest)
        return [.cancelRetry]
    }

    /// Removes the callers, and returns their waiters.
    private mutating func takeCallers(where isTaken: (Caller) -> Bool = { _ in true }) -> [Waiter] {
        defer { callers.removeAll(where: isTaken) }
        return callers.filter(isTaken).map(\.waiter)
    }

    // MARK: Requests of callers

    /// Requests the link for a caller.
    ///
    /// - Parameter isPatient: whether the caller of a maintained link waits even if an attempt is hopeless for now.
    mutating func connect(_ waiter: Waiter, isPatient: Bool = false) -> [Action] {
        if state == .connected { return [.succeed([waiter])] }
        callers.append(Caller(waiter: waiter, isPatient: isPatient))
        return state == .disconnected ? start() : []
    }

    /// Withdraws a caller's request for the link.
    mutating func abandon(_ waiter: Waiter) -> [Action] {
        takeCallers { $0.waiter == waiter }.isEmpty ? [] : giveUpUnwanted()
    }

    /// Cancels an attempt that no caller waits for any longer.
    private mutating func giveUpUnwanted() -> [Action] {
        guard state == .connecting, callers.isEmpty, !isMaintained else { return [] }
        phase = .disconnecting(Ending(endsAttempt: true))
        return [.publish(.disconnecting), .cancelAttempt]
    }

    /// Sets the policy, and starts or stops to maintain the link.
    mutating func setPolicy(_ policy: ConnectionPolicy) -> [Action] {
        self.policy = policy
        failures = 0
        if isMaintained { return state == .disconnected ? start() : [] }
        // Callers that still wait for the link get one more attempt.
        let actions = cancelRetry() + endPatience()
        return actions + (state == .disconnected && !callers.isEmpty ? start() : giveUpUnwanted())
    }

    /// Gives the patient waiters a deadline, because the link is no longer maintained.
    private mutating func endPatience() -> [Action] {
        let waiting = callers.filter(\.isPatient).map(\.waiter)
        callers = callers.map { Caller(waiter: $0.waiter, isPatient: false) }
        return waiting.isEmpty ? [] : [.limit(waiting)]
    }

    /// Ends the link for a caller. A maintained link is no longer maintained.
    mutating func disconnect(_ waiter: Waiter) -> [Action] {
        if isMaintained { policy = .manual }
        switch phase {
        case .disconnected(let rest):
            var actions = cancelRetry()
            // The callers that waited for the next attempt.
            let waiting = takeCallers()
            if !waiting.isEmpty { actions.append(.fail(waiting, .cancelledByDisconnect)) }
            guard rest.mayBeUp else { return actions + [.succeed([waiter])] }
            return actions + end(Ending(waiters: [waiter]))
        case .connecting:
            let failed = Action.fail(takeCallers(), .cancelledByDisconnect)
            phase = .disconnecting(Ending(endsAttempt: true, waiters: [waiter]))
            return [failed, .publish(.disconnecting), .cancelAttempt]
        case .connected:
            return end(Ending(waiters: [waiter]))
        case .disconnecting(var ending):
            ending.waiters.append(waiter)
            phase = .disconnecting(ending)
            return endPatience()
        }
    }

    /// Ends a link that is no longer used, unless it is maintained.
    mutating func release() -> [Action] {
        state == .connected && !isMaintained ? end(Ending()) : []
    }

    private mutating func end(_ ending: Ending) -> [Action] {
        phase = .disconnecting(ending)
        return [.publish(.disconnecting), .startDisconnect]
    }

    // MARK: Events

    /// Completes the attempt with that number: the link is up, and the services are discovered.
    mutating func attemptSucceeded(_ number: Int) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        phase = .connected
        failures = 0
        return [.publish(.connected), .succeed(takeCallers())]
    }

    /// Fails the attempt with that number.
    ///
    /// - Parameters:
    ///   - mayBeUp: whether a link that the attempt has made could not be ended.
    ///   - isHopeless: whether another attempt is pointless until `retry` is called.
    ///   - isPermanent: whether no attempt will succeed as far as anyone knows. Then no caller keeps waiting.
    mutating func attemptFailed(
        _ number: Int, mayBeUp: Bool = false, isHopeless: Bool = false, isPermanent: Bool = false
    ) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        phase = .disconnected(Rest(mayBeUp: mayBeUp))
        guard let upkeep, !isHopeless else {
            let isMaintained = isMaintained
            let failed = takeCallers { !isMaintained || !$0.isPatient }
            let actions: [Action] = [
                .publish(.disconnected), .fail(failed, .attempt), .tell(.attemptFailed(retryAfter: nil)),
            ]
            return isMaintained ? actions + [.tell(.waiting)] : actions
        }
        failures += 1
        phase = .disconnected(Rest(isRetryScheduled: true, mayBeUp: mayBeUp))
        let pause = upkeep.pause(afterFailures: failures)
        let actions: [Action] = [
            .publish(.disconnected), .scheduleRetry(after: pause), .tell(.attemptFailed(retryAfter: pause)),
        ]
        // Callers keep waiting, each until its own deadline.
        let failed = isPermanent ? takeCallers() : []
        return failed.isEmpty ? actions : actions + [.fail(failed, .attempt)]
    }

    /// Starts the next attempt after its pause.
    mutating func retryIsDue() -> [Action] {
        guard case .disconnected(var rest) = phase, rest.isRetryScheduled else { return [] }
        rest.isRetryScheduled = false
        phase = .disconnected(rest)
        return start()
    }

    /// Starts an attempt without waiting for the end of the pause, for example because the adapter is on again.
    mutating func retry() -> [Action] {
        isMaintained && state == .disconnected ? start() : []
    }

    /// Handles the loss of an established link. A running attempt detects the loss itself, and fails.
    mutating func linkLost() -> [Action] {
        switch phase {
        case .disconnected(var rest):
            guard rest.mayBeUp else { return [] }
            rest.mayBeUp = false
            phase = .disconnected(rest)
            return [.tell(.linkEnded)]
        case .connecting:
            return []
        case .disconnecting(var ending):
            ending.hasEnded = true
            phase = .disconnecting(ending)
            return []
        case .connected:
            phase = .disconnected(Rest(isRetryScheduled: isMaintained))
            let actions: [Action] = [.tell(.linkEnded), .publish(.disconnected)]
            // Not immediately: the loss of the link may be the first sign that the adapter is being powered off, and
            // connecting at that moment crashes some kernels (seen with Linux 6.1: a list of L2CAP channels is
            // corrupted).
            return actions + (upkeep.map { [.scheduleRetry(after: $0.pause(afterFailures: 1))] } ?? [])
        }
    }

    /// Completes a `cancelAttempt` or `startDisconnect`. With `hasFailed`, the link may still be up, unless it has
    /// ended meanwhile, but is no longer used by this central.
    mutating func disconnectFinished(hasFailed: Bool = false) -> [Action] {
        guard case .disconnecting(let ending) = phase else { return [] }
        let hasFailed = hasFailed && !ending.hasEnded
        phase = .disconnected(Rest(mayBeUp: hasFailed))
        let actions: [Action] = [
            .tell(hasFailed ? .disconnectFailed : ending.endsAttempt ? .attemptFailed(retryAfter: nil) : .endedHere),
            .publish(.disconnected),
            hasFailed ? .fail(ending.waiters, .disconnect) : .succeed(ending.waiters),
        ]
        return callers.isEmpty && !isMaintained ? actions : actions + start()
    }
}
