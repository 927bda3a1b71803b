/// A clock that can call back. A deadline costs less than with a task that sleeps, and most deadlines never come.
package protocol CallbackClock: Clock<Duration> {
    /// Calls `work` once after `duration`, from any thread, unless its number is passed to ``cancelCall(_:)`` before.
    func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> Int
    func cancelCall(_ number: Int)
}

/// Something that happens after a duration, unless it is cancelled before.
public struct Expiry: Sendable {
    private enum Timer: Sendable {
        case call(any CallbackClock, Int)
        case continuous(Int)
        case task(Task<Void, Never>)
    }

    private let timer: Timer

    public init(after duration: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () -> Void) {
        if let clock = clock as? any CallbackClock {
            timer = .call(clock, clock.call(after: duration, work))
        } else if clock is ContinuousClock {
            timer = .continuous(ContinuousTimers.shared.call(after: duration, work))
        } else {
            timer = .task(
                Task {
                    guard (try? await clock.sleep(for: duration)) != nil else { return }
                    work()
                })
        }
    }

    public func cancel() {
        switch timer {
        case .call(let clock, let number): clock.cancelCall(number)
        case .continuous(let number): ContinuousTimers.shared.cancelCall(number)
        case .task(let task): task.cancel()
        }
    }
}
