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

    private(set) var state = ConnectionState.disconnected
    private(set) var attempt = 0
    /// The pauses between attempts for a maintained link. Nil if the link is not maintained.
    private(set) var upkeep: Backoff?
    private(set) var isRetryScheduled = false
    private var failures = 0
    /// The last disconnect failed: the link may be up, although it is no longer used.
    private(set) var mayBeUp = false
    /// The disconnect in progress ends an attempt, not a link.
    private var endsAttempt = false
    /// The link has ended during the disconnect in progress.
    private var hasEnded = false
    private var connecting: [Waiter] = []
    /// The waiters that wait for the adapter as well.
    private var patient: Set<Waiter> = []
    private var disconnecting: [Waiter] = []

    /// Whether there is no link, nothing is in progress or scheduled, and no caller waits.
    var isIdle: Bool { state == .disconnected && upkeep == nil && connecting.isEmpty && disconnecting.isEmpty }

    private mutating func start() -> [Action] {
        let actions = cancelRetry()
        state = .connecting
        attempt += 1
        return actions + [.publish(.connecting), .startAttempt(attempt)]
    }

    private mutating func cancelRetry() -> [Action] {
        defer { isRetryScheduled = false }
        return isRetryScheduled ? [.cancelRetry] : []
    }

    // MARK: Requests of callers

    /// Requests the link for a caller.
    ///
    /// - Parameter isPatient: whether the caller of a maintained link waits even if an attempt is hopeless for now.
    mutating func connect(_ waiter: Waiter, isPatient: Bool = false) -> [Action] {
        if isPatient, state != .connected { patient.insert(waiter) }
        switch state {
        case .connected:
            return [.succeed([waiter])]
        case .connecting, .disconnecting:
            connecting.append(waiter)
            return []
        case .disconnected:
            connecting.append(waiter)
            return start()
        }
    }

    /// Withdraws a caller's request for the link.
    mutating func abandon(_ waiter: Waiter) -> [Action] {
        patient.remove(waiter)
        guard let index = connecting.firstIndex(of: waiter) else { return [] }
        connecting.remove(at: index)
        return giveUpUnwanted()
    }

    /// Cancels an attempt that no caller waits for any longer.
    private mutating func giveUpUnwanted() -> [Action] {
        guard state == .connecting, connecting.isEmpty, upkeep == nil else { return [] }
        state = .disconnecting
        endsAttempt = true
        return [.publish(.disconnecting), .cancelAttempt]
    }

    /// Starts to maintain the link. Nil stops maintaining it.
    mutating func maintain(_ backoff: Backoff?) -> [Action] {
        upkeep = backoff
        failures = 0
        guard backoff != nil else {
            // Callers that still wait for the link get one more attempt.
            let actions = cancelRetry() + endPatience()
            if state == .disconnected, !connecting.isEmpty { return actions + start() }
            return actions + giveUpUnwanted()
        }
        return state == .disconnected ? start() : []
    }

    /// Gives the patient waiters a deadline, because the link is no longer maintained.
    private mutating func endPatience() -> [Action] {
        let waiting = connecting.filter { patient.contains($0) }
        patient = []
        return waiting.isEmpty ? [] : [.limit(waiting)]
    }

    /// Ends the link for a caller, and stops maintaining it.
    mutating func disconnect(_ waiter: Waiter) -> [Action] {
        upkeep = nil
        var actions = cancelRetry()
        if state == .disconnecting { actions += endPatience() }
        patient = []
        switch state {
        case .disconnected:
            // The callers that waited for the next attempt.
            if !connecting.isEmpty { actions.append(.fail(connecting, .cancelledByDisconnect)) }
            connecting = []
            guard mayBeUp else { return actions + [.succeed([waiter])] }
            state = .disconnecting
            disconnecting.append(waiter)
            return actions + [.publish(.disconnecting), .startDisconnect]
        case .disconnecting:
            disconnecting.append(waiter)
            return actions
        case .connecting:
            state = .disconnecting
            endsAttempt = true
            disconnecting.append(waiter)
            defer { connecting = [] }
            return actions + [.fail(connecting, .cancelledByDisconnect), .publish(.disconnecting), .cancelAttempt]
        case .connected:
            state = .disconnecting
            disconnecting.append(waiter)
            return actions + [.publish(.disconnecting), .startDisconnect]
        }
    }

    /// Ends a link that is no longer used, unless it is maintained.
    mutating func release() -> [Action] {
        guard state == .connected, upkeep == nil else { return [] }
        state = .disconnecting
        return [.publish(.disconnecting), .startDisconnect]
    }

    // MARK: Events

    /// Completes the attempt with that number: the link is up, and the services are discovered.
    mutating func attemptSucceeded(_ number: Int) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .connected
        mayBeUp = false
        failures = 0
        defer { (connecting, patient) = ([], []) }
        return [.publish(.connected), .succeed(connecting)]
    }

    /// Fails the attempt with that number, which left no link.
    ///
    /// - Parameters:
    ///   - isHopeless: whether another attempt is pointless until `retry` is called.
    ///   - isPermanent: whether no attempt will succeed as far as anyone knows. Then no caller keeps waiting.
    mutating func attemptFailed(_ number: Int, isHopeless: Bool = false, isPermanent: Bool = false) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .disconnected
        guard let upkeep, !isHopeless else {
            let failed = upkeep == nil ? connecting : connecting.filter { !patient.contains($0) }
            connecting.removeAll { failed.contains($0) }
            if upkeep == nil { patient = [] }
            let actions: [Action] = [
                .publish(.disconnected), .fail(failed, .attempt), .tell(.attemptFailed(retryAfter: nil)),
            ]
            return upkeep == nil ? actions : actions + [.tell(.waiting)]
        }
        // Callers keep waiting, each until its own deadline.
        let failed = isPermanent ? connecting : []
        if isPermanent { (connecting, patient) = ([], []) }
        failures += 1
        isRetryScheduled = true
        let pause = upkeep.pause(afterFailures: failures)
        let actions: [Action] = [
            .publish(.disconnected), .scheduleRetry(after: pause), .tell(.attemptFailed(retryAfter: pause)),
        ]
        return failed.isEmpty ? actions : actions + [.fail(failed, .attempt)]
    }

    /// Starts the next attempt after its pause.
    mutating func retryIsDue() -> [Action] {
        guard isRetryScheduled, state == .disconnected else { return [] }
        isRetryScheduled = false
        return start()
    }

    /// Starts an attempt without waiting for the end of the pause, for example because the adapter is on again.
    mutating func retry() -> [Action] {
        guard upkeep != nil, state == .disconnected else { return [] }
        return start()
    }

    /// Handles the loss of an established link. A running attempt detects the loss itself, and fails.
    mutating func linkLost() -> [Action] {
        if state == .disconnected, mayBeUp {
            mayBeUp = false
            return [.tell(.linkEnded)]
        }
        if state == .disconnecting { hasEnded = true }
        guard state == .connected else { return [] }
        state = .disconnected
        guard let upkeep else { return [.tell(.linkEnded), .publish(.disconnected)] }
        // Not immediately: the loss of the link may be the first sign that the adapter is being powered off, and
        // connecting at that moment crashes some kernels (seen with Linux 6.1: a list of L2CAP channels is corrupted).
        isRetryScheduled = true
        return [
            .tell(.linkEnded), .publish(.disconnected), .scheduleRetry(after: upkeep.pause(afterFailures: 1)),
        ]
    }

    /// Completes a `cancelAttempt` or `startDisconnect`. With `hasFailed`, the link may still be up, but is no longer
    /// used by this central.
    mutating func disconnectFinished(hasFailed: Bool = false) -> [Action] {
        guard state == .disconnecting else { return [] }
        state = .disconnected
        mayBeUp = hasFailed && !hasEnded
        defer { (endsAttempt, hasEnded) = (false, false) }
        let done = disconnecting
        disconnecting = []
        let actions: [Action] = [
            .tell(hasFailed ? .disconnectFailed : endsAttempt ? .attemptFailed(retryAfter: nil) : .endedHere),
            .publish(.disconnected),
            hasFailed ? .fail(done, .disconnect) : .succeed(done),
        ]
        return connecting.isEmpty && upkeep == nil ? actions : actions + start()
    }
}
