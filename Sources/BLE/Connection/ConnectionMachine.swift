/// Whether there is a usable link to a peripheral.
public enum ConnectionState: Hashable, Sendable {
    /// No link. (It may be about to be made anew, after a pause.)
    case disconnected
    /// A link is being made, or its services are being discovered.
    case connecting
    /// There is a link, and the services are known.
    case connected
    /// The link is being ended.
    case disconnecting
}

/// One peripheral's connection, as events in and actions out.
///
/// Any number of callers share one attempt; only when the last of them gives up, and the link is not maintained, is the attempt
/// cancelled. A disconnect ends an attempt at once. Calls that come while the link is being ended wait for that and then start
/// anew. A maintained link is made anew whenever it is down, after a pause that grows with every attempt that fails.
struct ConnectionMachine {
    typealias Waiter = Int

    enum Action: Equatable {
        case startAttempt(Int)
        /// Ends the running attempt and whatever link it has made; answered by `disconnectFinished`.
        case cancelAttempt
        /// Ends the link; answered by `disconnectFinished`.
        case startDisconnect
        /// Answered by `retryIsDue`, unless `cancelRetry` comes before.
        case scheduleRetry(after: Duration)
        case cancelRetry
        case succeed([Waiter])
        case fail([Waiter], Failure)
        case publish(ConnectionState)
    }

    enum Failure: Equatable {
        /// The attempt's own error.
        case attempt
        /// A disconnect came between.
        case cancelledByDisconnect
        /// The disconnect's own error.
        case disconnect
    }

    private(set) var state = ConnectionState.disconnected
    private(set) var attempt = 0
    /// The pauses of a link that is maintained.
    private(set) var upkeep: Backoff?
    private(set) var isRetryScheduled = false
    private var failures = 0
    /// The last disconnect has failed: the link may be up, although it is not used any longer.
    private var mayBeUp = false
    private var connecting: [Waiter] = []
    private var disconnecting: [Waiter] = []

    /// How long it is until the next attempt, when one was scheduled.
    var nextPause: Duration? { isRetryScheduled ? upkeep?.pause(afterFailures: max(1, failures)) : nil }

    /// Nothing is going on, nothing is to happen by itself, and nobody waits.
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

    // MARK: What callers want

    /// A caller wants the link.
    mutating func connect(_ waiter: Waiter) -> [Action] {
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

    /// A caller that wanted the link gives up.
    mutating func abandon(_ waiter: Waiter) -> [Action] {
        guard let index = connecting.firstIndex(of: waiter) else { return [] }
        connecting.remove(at: index)
        return giveUpUnwanted()
    }

    /// Ends an attempt that nobody wants any more.
    private mutating func giveUpUnwanted() -> [Action] {
        guard state == .connecting, connecting.isEmpty, upkeep == nil else { return [] }
        state = .disconnecting
        return [.publish(.disconnecting), .cancelAttempt]
    }

    /// The link is to be there from now on; nil: it is no longer.
    mutating func maintain(_ backoff: Backoff?) -> [Action] {
        upkeep = backoff
        failures = 0
        guard backoff != nil else {
            // Who still waits for the link has it tried once more.
            let actions = cancelRetry()
            if state == .disconnected, !connecting.isEmpty { return actions + start() }
            return actions + giveUpUnwanted()
        }
        return state == .disconnected ? start() : []
    }

    /// A caller wants the link ended, and no longer maintained.
    mutating func disconnect(_ waiter: Waiter) -> [Action] {
        upkeep = nil
        var actions = cancelRetry()
        switch state {
        case .disconnected:
            // Those who waited for the next attempt.
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
            disconnecting.append(waiter)
            defer { connecting = [] }
            return actions + [.fail(connecting, .cancelledByDisconnect), .publish(.disconnecting), .cancelAttempt]
        case .connected:
            state = .disconnecting
            disconnecting.append(waiter)
            return actions + [.publish(.disconnecting), .startDisconnect]
        }
    }

    /// Nobody uses the link any more.
    mutating func release() -> [Action] {
        guard state == .connected, upkeep == nil else { return [] }
        state = .disconnecting
        return [.publish(.disconnecting), .startDisconnect]
    }

    // MARK: What happens

    /// The attempt of that number has a link and knows the services.
    mutating func attemptSucceeded(_ number: Int) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .connected
        failures = 0
        defer { connecting = [] }
        return [.publish(.connected), .succeed(connecting)]
    }

    /// The attempt of that number has failed and left no link.
    ///
    /// - Parameter isHopeless: another attempt makes no sense before something has changed, of which `retry` tells.
    mutating func attemptFailed(_ number: Int, isHopeless: Bool = false) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .disconnected
        guard let upkeep, !isHopeless else {
            defer { connecting = [] }
            return [.publish(.disconnected), .fail(connecting, .attempt)]
        }
        // Whoever waits goes on waiting, each until its own deadline.
        failures += 1
        isRetryScheduled = true
        return [.publish(.disconnected), .scheduleRetry(after: upkeep.pause(afterFailures: failures))]
    }

    /// The pause is over.
    mutating func retryIsDue() -> [Action] {
        guard isRetryScheduled, state == .disconnected else { return [] }
        isRetryScheduled = false
        return start()
    }

    /// Something has happened that makes an attempt worthwhile now: the adapter is on, the peripheral was heard.
    mutating func retry() -> [Action] {
        guard upkeep != nil, state == .disconnected else { return [] }
        return start()
    }

    /// The link ended by itself. (A running attempt sees that too, and fails.)
    mutating func linkLost() -> [Action] {
        guard state == .connected else { return [] }
        state = .disconnected
        guard let upkeep else { return [.publish(.disconnected)] }
        // Not at once: the link may be the first that is heard of an adapter that is being switched off, and connecting then
        // brings down some kernels (seen with Linux 6.1: a list of L2CAP channels is corrupted).
        isRetryScheduled = true
        return [.publish(.disconnected), .scheduleRetry(after: upkeep.pause(afterFailures: 1))]
    }

    /// What `cancelAttempt` or `startDisconnect` began has ended; `hasFailed` when the link may still be up, of which nobody here
    /// makes use any more.
    mutating func disconnectFinished(hasFailed: Bool = false) -> [Action] {
        guard state == .disconnecting else { return [] }
        state = .disconnected
        mayBeUp = hasFailed
        let done = disconnecting
        disconnecting = []
        let actions: [Action] = [.publish(.disconnected), hasFailed ? .fail(done, .disconnect) : .succeed(done)]
        return connecting.isEmpty && upkeep == nil ? actions : actions + start()
    }
}
