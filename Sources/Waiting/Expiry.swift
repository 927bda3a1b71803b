/// A clock that can call a function at a deadline. This costs less than a task that sleeps, and most deadlines are
/// cancelled.
package protocol CallbackClock: Clock<Duration> {
    /// Calls `work` once after `duration`, from any thread, unless its number is passed to ``cancelCall(_:)`` before.
    func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> UInt64
    func cancelCall(_ number: UInt64)
}

/// A clock that can also call back at a deadline. Made once for many deadlines, because determining the kind of a clock
/// takes longer than setting a deadline.
public struct DeadlineClock: Sendable {
    fileprivate enum Kind {
        case callback(any CallbackClock)
        case continuous
        case other(any Clock<Duration>)
    }

    fileprivate let kind: Kind

    public init(_ clock: any Clock<Duration>) {
        kind =
            if let clock = clock as? any CallbackClock { .callback(clock) } else if clock is ContinuousClock {
                .continuous
            } else { .other(clock) }
    }
}

/// A call after a duration, unless it is cancelled before.
public struct Expiry: Sendable {
    private enum Timer: Sendable {
        case call(any CallbackClock, UInt64)
        case continuous(UInt64)
        case task(Task<Void, Never>)
    }

    private let timer: Timer

    public init(after duration: Duration, clock: DeadlineClock, _ work: @escaping @Sendable () -> Void) {
        timer =
            switch clock.kind {
            case .callback(let clock): .call(clock, clock.call(after: duration, work))
            case .continuous: .continuous(ContinuousTimers.shared.call(after: duration, work))
            case .other(let clock):
                .task(
                    Task {
                        guard (try? await clock.sleep(for: duration)) != nil else { return }
                        work()
                    })
            }
    }

    public init(after duration: Duration, clock: any Clock<Duration>, _ work: @escaping @Sendable () -> Void) {
        self.init(after: duration, clock: DeadlineClock(clock), work)
    }

    public func cancel() {
        switch timer {
        case .call(let clock, let number): clock.cancelCall(number)
        case .continuous(let number): ContinuousTimers.shared.cancelCall(number)
        case .task(let task): task.cancel()
        }
    }
}
