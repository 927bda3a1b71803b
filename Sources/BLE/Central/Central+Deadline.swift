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
}
