internal import Synchronization
internal import Waiting

/// The end of the backend's work for a pairing, which may come after the caller has given up.
final class PairingEnd: Sendable {
    private let hasBegun = Atomic(false)
    private let outcome = Outcome<Void>()

    func begin() { hasBegun.store(true, ordering: .relaxed) }

    func reached() { outcome.deliver(.success(())) }

    /// Waits for the end of work that has begun, even in a task that is cancelled.
    func wait(atMost limit: Duration, clock: DeadlineClock) async {
        guard hasBegun.load(ordering: .relaxed), outcome.isOpen else { return }
        let expiry = Expiry(after: limit, clock: clock) { [outcome] in outcome.deliver(.success(())) }
        await Task { [outcome] in try? await outcome.wait() }.value
        expiry.cancel()
    }
}
