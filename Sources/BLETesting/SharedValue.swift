internal import BLE
internal import Synchronization
internal import Waiting

/// A value that a test shares with its handlers, tasks and other threads.
public final class SharedValue<Value: Sendable>: Sendable {
    private struct Waiter {
        let holds: @Sendable (Value) -> Bool
        let outcome = Outcome<Void>()
    }

    private struct State {
        var value: Value
        var waiters: [Waiter] = []
    }

    private let state: Mutex<State>

    /// Creates a shared value.
    public init(_ value: Value) { state = Mutex(State(value: value)) }

    /// The value now.
    public var value: Value { state.withLock { $0.value } }

    /// Changes the value in place, atomically.
    @discardableResult
    public func change<Result: Sendable>(_ body: @Sendable (inout Value) -> Result) -> Result {
        let (result, ready) = state.withLock { state in
            let result = body(&state.value)
            let split = state.waiters.partition { $0.holds(state.value) }
            let ready = Array(state.waiters[split...])
            state.waiters.removeSubrange(split...)
            return (result, ready)
        }
        for waiter in ready { waiter.outcome.deliver(.success(())) }
        return result
    }

    /// Returns once `holds` is true of the value. It must not use the shared value itself. Throws when the task is
    /// cancelled.
    public func until(_ holds: @escaping @Sendable (Value) -> Bool) async throws {
        let waiter = Waiter(holds: holds)
        let holdsAlready = state.withLock { state in
            if holds(state.value) { return true }
            state.waiters.append(waiter)
            return false
        }
        if !holdsAlready { try await waiter.outcome.wait() }
    }
}
