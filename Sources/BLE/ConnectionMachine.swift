/// Whether there is a usable link to a peripheral.
public enum ConnectionState: Hashable, Sendable {
    /// No link.
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
/// Any number of callers share one attempt; only when the last of them gives up is the attempt cancelled. A disconnect ends an
/// attempt at once. Calls that come while the link is being ended wait for that and then start anew.
struct ConnectionMachine {
    typealias Waiter = Int

    enum Action: Equatable {
        case startAttempt(Int)
        /// Ends the running attempt and whatever link it has made; answered by `disconnectFinished`.
        case cancelAttempt
        /// Ends the link; answered by `disconnectFinished`.
        case startDisconnect
        case succeed([Waiter])
        case fail([Waiter], Failure)
        case publish(ConnectionState)
    }

    enum Failure: Equatable {
        /// The attempt's own error.
        case attempt
        /// A disconnect came between.
        case cancelledByDisconnect
    }

    private(set) var state = ConnectionState.disconnected
    private(set) var attempt = 0
    private var connecting: [Waiter] = []
    private var disconnecting: [Waiter] = []

    /// Nothing is going on and nobody waits.
    var isIdle: Bool { state == .disconnected && connecting.isEmpty && disconnecting.isEmpty }

    private mutating func start() -> [Action] {
        state = .connecting
        attempt += 1
        return [.publish(.connecting), .startAttempt(attempt)]
    }

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
        guard state == .connecting, connecting.isEmpty else { return [] }
        state = .disconnecting
        return [.publish(.disconnecting), .cancelAttempt]
    }

    /// The attempt of that number has a link and knows the services.
    mutating func attemptSucceeded(_ number: Int) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .connected
        defer { connecting = [] }
        return [.publish(.connected), .succeed(connecting)]
    }

    /// The attempt of that number has failed and left no link.
    mutating func attemptFailed(_ number: Int) -> [Action] {
        guard state == .connecting, number == attempt else { return [] }
        state = .disconnected
        defer { connecting = [] }
        return [.publish(.disconnected), .fail(connecting, .attempt)]
    }

    /// The link ended by itself. (A running attempt sees that too, and fails.)
    mutating func linkLost() -> [Action] {
        guard state == .connected else { return [] }
        state = .disconnected
        return [.publish(.disconnected)]
    }

    /// A caller wants the link ended.
    mutating func disconnect(_ waiter: Waiter) -> [Action] {
        switch state {
        case .disconnected:
            return [.succeed([waiter])]
        case .disconnecting:
            disconnecting.append(waiter)
            return []
        case .connecting:
            state = .disconnecting
            disconnecting.append(waiter)
            defer { connecting = [] }
            return [.fail(connecting, .cancelledByDisconnect), .publish(.disconnecting), .cancelAttempt]
        case .connected:
            state = .disconnecting
            disconnecting.append(waiter)
            return [.publish(.disconnecting), .startDisconnect]
        }
    }

    /// What `cancelAttempt` or `startDisconnect` began has ended.
    mutating func disconnectFinished() -> [Action] {
        guard state == .disconnecting else { return [] }
        state = .disconnected
        let done = disconnecting
        disconnecting = []
        let actions: [Action] = [.publish(.disconnected), .succeed(done)]
        return connecting.isEmpty ? actions : actions + start()
    }
}
