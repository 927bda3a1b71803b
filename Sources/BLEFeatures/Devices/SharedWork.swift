internal import BLE
internal import Synchronization

/// Work that is done once for all who wait for it, and cancelled when nobody waits any more.
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

    /// Begins the work. What it gives when nobody waits any more goes to `discard`.
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

    /// Whether the work is done or given up: then new callers need new work.
    var isOver: Bool { state.withLock { $0.result != nil } }

    /// Whether it was given up; it may still be on its way to an end.
    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// What the work gives.
    func value() async throws(BLEError) -> Value {
        let outcome = Outcome<Value>()
        let token = state.withLock { state in
            state.lastToken += 1
            state.wasAwaited = true
            if let result = state.result {
                outcome.deliver(result)
            } else {
                state.waiters[state.lastToken] = outcome
            }
            return state.lastToken
        }
        defer { leave(token) }
        return try await outcome.wait()
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

    /// False when nobody has waited to the end: the last may have been cancelled in the same moment.
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

    /// Returns when nothing of the work goes on any more.
    func untilEnded() async { await state.withLock { $0.task }?.value }
}
