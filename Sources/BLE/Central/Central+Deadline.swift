internal import Waiting

extension Central {
    /// Delivers `timedOut` after `timeout`, unless the returned expiry is cancelled first.
    nonisolated func deadline<Value>(
        _ timeout: Duration, of total: Duration? = nil, _ name: String, _ outcome: Outcome<Value>
    ) -> Expiry {
        Expiry(after: timeout, clock: deadlineClock) {
            outcome.deliver(.failure(BLEError(.timedOut, "\(name) took longer than \(total ?? timeout)")))
        }
    }

    /// Runs `body` with a deadline measured by the central's clock; see ``withDeadline(_:clock:_:)``.
    public nonisolated func withDeadline<Value: Sendable>(
        _ duration: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await BLE.withDeadline(duration, clock: clock, body)
    }
}
