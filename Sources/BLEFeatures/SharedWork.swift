internal import BLE
internal import Synchronization

/// Work that is done once for all who wait for it, and cancelled when nobody waits any more.
final class SharedWork<Value: Sendable>: Sendable {
    private struct State {
        var waiters: [Int: Outcome<Value>] = [:]
        var lastToken = 0
        var task: Task<Void, Never>?
        var result: Result<Value, BLEError>?
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

    /// What the work gives.
    func value() async throws(BLEError) -> Value {
        let outcome = Outcome<Value>()
        let token = state.withLock { state in
            state.lastToken += 1
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
            return state.task
        }
        abandoned?.cancel()
    }

    /// False when nobody waits any more.
    private func finish(_ result: Result<Value, BLEError>) -> Bool {
        let waiters: [Int: Outcome<Value>]? = state.withLock { state in
            guard state.result == nil else { return nil }
            state.result = result
            defer { state.waiters = [:] }
            return state.waiters
        }
        for waiter in (waiters ?? [:]).values { waiter.deliver(result) }
        return waiters != nil
    }
}
