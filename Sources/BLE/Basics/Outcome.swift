internal import Synchronization

/// A result that is delivered once, by the first of completion, deadline, cancellation and loss of the link.
///
/// One task waits for it. Cancelling that task delivers `cancelled`, so every wait ends.
package final class Outcome<Value: Sendable>: Sendable {
    package typealias Result = Swift.Result<Value, BLEError>

    private enum State {
        case open
        case awaited(CheckedContinuation<Result, Never>)
        case delivered(Result)
    }

    private let state = Mutex<State>(.open)

    package init() {}

    /// Delivers the result. Does nothing and returns false if a result was already delivered.
    @discardableResult package func deliver(_ result: Result) -> Bool {
        let (waiting, isFirst): (CheckedContinuation<Result, Never>?, Bool) = state.withLock { state in
            switch state {
            case .open:
                state = .delivered(result)
                return (nil, true)
            case .awaited(let continuation):
                state = .delivered(result)
                return (continuation, true)
            case .delivered:
                return (nil, false)
            }
        }
        waiting?.resume(returning: result)
        return isFirst
    }

    /// Waits for the result on the caller's actor. Passing the isolation on keeps the closures there.
    package func wait(isolation: isolated (any Actor)? = #isolation) async throws(BLEError) -> Value {
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation(isolation: isolation) { continuation in
                let early: Result? = state.withLock { state in
                    if case .delivered(let result) = state { return result }
                    state = .awaited(continuation)
                    return nil
                }
                if let early { continuation.resume(returning: early) }
            }
        } onCancel: {
            _ = deliver(.failure(.cancelled))
        }
        return try result.get()
    }
}
