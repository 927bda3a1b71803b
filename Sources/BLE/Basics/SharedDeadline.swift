internal import Synchronization
internal import Waiting

/// One deadline for several consecutive waits.
final class SharedDeadline: Sendable {
    private struct State {
        var current: Outcome<Void>?
        var hasPassed = false
    }

    private let state = Mutex(State())
    private let error: @Sendable () -> BLEError
    private let expiry = Mutex<Expiry?>(nil)

    init(_ duration: Duration, clock: any Clock<Duration>, _ error: @escaping @Sendable () -> BLEError) {
        self.error = error
        let expiry = Expiry(after: duration, clock: clock) { [weak self] in self?.pass() }
        self.expiry.withLock { $0 = expiry }
    }

    private func pass() {
        let current = state.withLock { state in
            state.hasPassed = true
            return state.current
        }
        current?.deliver(.failure(error()))
    }

    /// Runs `work`, and waits for its end, the deadline or the cancellation of the task.
    func race(_ work: @escaping @Sendable () async throws(BLEError) -> Void) async throws(BLEError) {
        let outcome = Outcome<Void>()
        limit(outcome)
        try await outcome.race(work)
    }

    /// Ends a wait at the deadline. Only the outcome that was passed last is ended.
    func limit(_ outcome: Outcome<Void>) {
        let hasPassed = state.withLock { state in
            state.current = outcome
            return state.hasPassed
        }
        if hasPassed { outcome.deliver(.failure(error())) }
    }

    /// Stops the clock.
    func end() { expiry.withLock { $0 }?.cancel() }
}
