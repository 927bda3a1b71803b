internal import Waiting

/// The state of the adapter in use, its observers, and the waits for Bluetooth to restart.
struct AdapterWatch {
    private(set) var state = AdapterState.resetting
    private var observers = Observers<AdapterState>()
    private var reasons = Observers<BLEError?>()
    /// What was told of why nothing can be sent.
    private var told = ToldReasons()
    private var waiters: [Int: Outcome<Void>] = [:]
    /// Why Bluetooth was lost. Nil when it has returned.
    private var loss: BLEError?

    /// The error for an adapter that is off or absent. Nil if it is on, or resetting.
    var error: BLEError? { state.error }

    /// Why nothing can be sent. Nil if the adapter is on.
    var obstacle: BLEError? {
        guard state == .resetting else { return error }
        return loss
            ?? BLEError(.bluetoothLost, "Bluetooth is restarting", remedy: "Try again once Bluetooth is running.")
    }

    /// Records why Bluetooth was lost, or why it does not return. The state follows, or is `resetting`.
    mutating func lost(_ error: BLEError) { loss = error }

    /// Publishes why nothing can be sent, unless that was published before in this state. Returns whether it was not.
    mutating func tell(_ obstacle: BLEError?) -> Bool {
        let isNew = if let obstacle { told.tell(obstacle) } else { told.clear() }
        guard isNew else { return false }
        reasons.yield(obstacle)
        return true
    }

    /// Returns a stream of why nothing can be sent, now and after every change.
    mutating func obstacles(
        _ current: BLEError?, _ left: @escaping @Sendable (_ token: Int) -> Void
    ) -> BoundedStream<BLEError?> {
        _ = tell(current)
        return reasons.add(capacity: 16, first: .some(current), left)
    }

    mutating func removeObstacleObserver(_ token: Int) { reasons.remove(token) }

    /// Sets the state when the central starts, before there is an observer.
    mutating func begin(_ state: AdapterState) { self.state = state }

    /// Changes and publishes the state. Returns false if it is the same as before.
    mutating func change(to state: AdapterState) -> Bool {
        guard state != self.state else { return false }
        self.state = state
        told.change()
        observers.yield(state)
        if state != .resetting {
            loss = nil
            for waiter in waiters.values { waiter.deliver(.success(())) }
        }
        return true
    }

    /// Returns a stream of the current state and every later change.
    mutating func states(_ left: @escaping @Sendable (_ token: Int) -> Void) -> BoundedStream<AdapterState> {
        observers.add(capacity: 16, first: state, left)
    }

    mutating func removeObserver(_ token: Int) { observers.remove(token) }

    /// Starts to wait for a resetting adapter, until ``endWait(_:)``.
    mutating func beginWait(_ token: Int) -> Outcome<Void> {
        let outcome = Outcome<Void>()
        waiters[token] = outcome
        return outcome
    }

    mutating func endWait(_ token: Int) { waiters[token] = nil }

    /// Ends all streams and waits.
    mutating func finish(_ error: BLEError) {
        observers.finish(error)
        reasons.finish(error)
        for waiter in waiters.values { waiter.deliver(.failure(error)) }
    }
}

extension AdapterState {
    /// The error for an adapter that is off or absent. Nil if it is on, or resetting.
    package var error: BLEError? {
        switch self {
        case .poweredOff: .poweredOff()
        case .unavailable: BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in.")
        case .poweredOn, .resetting: nil
        }
    }
}

extension BLEError {
    /// The error for an adapter that is off.
    package static func poweredOff(remedy: String = "Switch it on.", cause: (any Error)? = nil) -> BLEError {
        BLEError(.poweredOff, "the adapter is switched off", remedy: remedy, cause: cause)
    }
}
