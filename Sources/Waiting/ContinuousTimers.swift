internal import Synchronization

/// The calls at deadlines of the continuous clock. One task of the process sleeps until the next deadline.
final class ContinuousTimers: Sendable {
    static let shared = ContinuousTimers()

    private struct Sleep {
        let deadline: ContinuousClock.Instant
        let task: Task<Void, Never>
    }

    private struct State {
        var calls = TimerQueue<ContinuousClock.Instant, @Sendable () -> Void>()
        var sleep: Sleep?
    }

    private let state = Mutex(State())

    /// Calls `work` once after `duration` on the global executor, unless its number is passed to ``cancelCall(_:)``
    /// before.
    func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        // What is longer cannot be slept for.
        let deadline = ContinuousClock.now + min(duration, .seconds(1 << 40))
        return state.withLock { state in
            if state.sleep.map({ deadline < $0.deadline }) ?? true { sleep(&state, until: deadline) }
            return state.calls.add(deadline, work)
        }
    }

    /// Cancels a call. The task still sleeps until the call's deadline, because most calls are
    /// cancelled.
    func cancelCall(_ number: UInt64) { state.withLock { _ = $0.calls.remove(number) } }

    private func sleep(_ state: inout State, until deadline: ContinuousClock.Instant) {
        state.sleep?.task.cancel()
        let task = Task.detached { [self] in
            guard (try? await Task.sleep(until: deadline, clock: .continuous)) != nil else { return }
            for work in takeDue() { work() }
        }
        state.sleep = Sleep(deadline: deadline, task: task)
    }

    private func takeDue() -> [@Sendable () -> Void] {
        state.withLock { state in
            // Another task may sleep until an earlier deadline.
            guard !Task.isCancelled else { return [] }
            state.sleep = nil
            let due = state.calls.takeDue(at: .now)
            if let next = state.calls.next { sleep(&state, until: next) }
            return due
        }
    }
}
