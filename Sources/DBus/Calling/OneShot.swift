internal import Synchronization

/// A continuation that the first of several events resumes: the answer, the deadline, the cancellation or the loss.
final class OneShot<Value: Sendable>: Sendable {
    typealias Outcome = Result<Value, DBusError>

    private enum State {
        case idle
        case waiting(CheckedContinuation<Outcome, Never>)
        case done(Outcome)
    }

    private let state = Mutex<State>(.idle)

    /// Waits for the outcome. Waits on the caller's actor: naming the actor keeps the closures there.
    func wait(isolation: isolated (any Actor)? = #isolation) async throws(DBusError) -> Value {
        let outcome = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                let early: Outcome? = state.withLock { state in
                    if case .done(let outcome) = state { return outcome }
                    state = .waiting(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            finish(.failure(.cancelled))
        }
        return try outcome.get()
    }

    /// Delivers `.timedOut`.
    func expire() { finish(.failure(DBusError(.timedOut, message: "the time was up"))) }

    /// Delivers the outcome. All outcomes after the first are ignored.
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
