internal import Synchronization

/// A continuation that whoever comes first resumes: the answer, the deadline, the cancellation or the loss.
final class OneShot<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, DBusError>

    private enum State {
        case idle
        case waiting(CheckedContinuation<Outcome, Never>)
        case done(Outcome)
    }

    private let state = Mutex<State>(.idle)

    /// The outcome. `start` runs once the outcome can be delivered.
    func wait(
        _ start: () -> Void
    ) async throws(DBusError) -> Value {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Outcome, Never>) in
                let early: Outcome? = state.withLock { state in
                    if case .done(let outcome) = state { return outcome }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) } else { start() }
            }
        } onCancel: {
            finish(.failure(DBusError(.cancelled, message: "the task was cancelled")))
        }
        return try outcome.get()
    }

    /// Delivers the outcome. All but the first are ignored.
    func finish(_ outcome: Outcome) {
        let waiting: CheckedContinuation<Outcome, Never>? = state.withLock { state in
            switch state {
            case .idle:
                state = .done(outcome)
                return nil
            case .waiting(let continuation):
                state = .done(outcome)
                return continuation
            case .done:
                return nil
            }
        }
        waiting?.resume(returning: outcome)
    }
}
