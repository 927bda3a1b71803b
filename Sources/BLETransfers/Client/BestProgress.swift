internal import Synchronization

/// The farthest that a transfer has come, in all its attempts.
final class BestProgress: Sendable {
    private let state = Mutex((best: 0, hasAdvanced: false))

    func take(_ transferredBytes: Int) {
        state.withLock { state in
            if transferredBytes > state.best { state = (transferredBytes, true) }
        }
    }

    /// Whether it has come farther since the last call.
    func hasAdvanced() -> Bool {
        state.withLock { state in
            defer { state.hasAdvanced = false }
            return state.hasAdvanced
        }
    }
}
