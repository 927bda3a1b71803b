internal import BLE
internal import Synchronization
internal import Waiting

/// Work that is performed once for all its callers, and cancelled when no caller waits any longer.
final class SharedWork<Value: Sendable>: Sendable {
    private struct State {
        var waiters: [Int: Outcome<Value>] = [:]
        var lastToken = 0
        var task: Task<Void, Never>?
        var result: Result<Value, BLEError>?
        var isAbandoned = false
        var wasAwaited = false
    }

    private let state = Mutex(State())

    /// Starts the work. A result that no caller waits for any longer is passed to `discard`.
    init(
        _ work: @escaping @Sendable () async throws(BLEError) -> Value,
        discard: @escaping @Sendable (Value) async -> Void = { _ in }
    ) {
        let task = Task { [weak self] in
            let result: Result<Value, BLEError>
            do throws(BLEError) {
                result = .success(try await work())
            } catch {
                result = .failure(error)
            }
            if self?.finish(result) != true, case .success(let value) = result { await discard(value) }
        }
        state.withLock { $0.task = task }
    }

    /// Whether the work has finished or was abandoned. A new caller must start new work.
    var isOver: Bool { state.withLock { $0.result != nil } }

    /// Whether the work was abandoned. It may still be running.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// The number of callers that wait for the result.
    var waiterCount: Int { state.withLock { $0.waiters.count } }

    /// A caller's wait for the result.
    struct Waiter: Sendable {
        fileprivate let token: Int
        fileprivate let outcome: Outcome<Value>
    }

    /// Begins a wait for the result, for ``value(of:)``. Nil if the work was abandoned.
    ///
    /// For a caller on an actor, in the step in which it has found the work: others may have their turn before an
    /// asynchronous function begins, and the last of them that waits may leave.
    func join() -> Waiter? {
        let outcome = Outcome<Value>()
        let token: Int? = state.withLock { state in
            guard !state.isAbandoned else { return nil }
            state.lastToken += 1
            state.wasAwaited = true
            if let result = state.result {
                outcome.deliver(result)
            } else {
                state.waiters[state.lastToken] = outcome
            }
            return state.lastToken
        }
        return token.map { Waiter(token: $0, outcome: outcome) }
    }

    /// Waits for the result of the work.
    func value(of waiter: Waiter) async throws(BLEError) -> Value {
        defer { leave(waiter.token) }
        return try await waiter.outcome.wait()
    }

    /// Waits for the result of the work, from now on.
    func value() async throws(BLEError) -> Value {
        guard let waiter = join() else { throw .cancelled }
        return try await value(of: waiter)
    }

    private func leave(_ token: Int) {
        let abandoned: Task<Void, Never>? = state.withLock { state in
            guard state.waiters.removeValue(forKey: token) != nil, state.waiters.isEmpty, state.result == nil else {
                return nil
            }
            state.result = .failure(.cancelled)
            state.isAbandoned = true
            return state.task
        }
        abandoned?.cancel()
    }

    /// Delivers the result. Returns false if no caller is left to receive it: the last one may have been cancelled
    /// meanwhile.
    private func finish(_ result: Result<Value, BLEError>) -> Bool {
        state.withLock { state in
            guard state.result == nil else { return false }
            let takers = state.waiters.values.filter { $0.deliver(result) }
            state.waiters = [:]
            state.isAbandoned = takers.isEmpty && state.wasAwaited
            state.result = state.isAbandoned ? .failure(.cancelled) : result
            return !state.isAbandoned
        }
    }

    /// Waits until the work has stopped running, even if it was abandoned.
    func untilEnded() async { await state.withLock { $0.task }?.value }
}
