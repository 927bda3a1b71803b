internal import Synchronization
internal import Waiting

/// A clock that stands still until a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let radio = SimulatedRadio(clock: clock)
/// …
/// await clock.sleepers(1)          // a task is sleeping
/// clock.advance(by: .seconds(8))   // its time has passed
/// ```
public final class ManualClock: Clock {
    /// A moment, as the time since the clock was created.
    public struct Instant: InstantProtocol {
        /// The time since the clock was created.
        public var offset: Duration

        /// The moment `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from here to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Whether the left moment is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let token: Int
        let deadline: Instant
        /// The time from the start of the sleep to its deadline.
        let duration: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Observer {
        let token: Int
        let count: Int
        /// Counts only the sleeps of exactly this duration; nil counts all.
        let duration: Duration?
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastToken = 0
        var sleepers = TimerQueue<Instant, Sleeper>()
        /// The numbers of the sleepers in the queue, by their tokens.
        var numbers: [Int: UInt64] = [:]
        /// Sleeps that were cancelled before they began to wait.
        var cancelled: Set<Int> = []
        /// The waits for a number of sleepers.
        var observers: [Observer] = []

        mutating func satisfiedObservers() -> [CheckedContinuation<Void, Never>] {
            let satisfied = observers.filter(isSatisfied)
            observers.removeAll(where: isSatisfied)
            return satisfied.map(\.continuation)
        }

        private func isSatisfied(_ observer: Observer) -> Bool {
            guard let duration = observer.duration else { return sleepers.count >= observer.count }
            return sleepers.pending.count { $0.duration == duration } >= observer.count
        }
    }

    private let state = Mutex(State())

    /// Creates a clock at zero.
    public init() {}

    /// The moment to which the test has advanced the clock.
    public var now: Instant { state.withLock { $0.now } }

    /// Zero: any two moments are distinguishable.
    public var minimumResolution: Duration { .zero }

    /// Waits until the clock reaches `deadline`. Throws `CancellationError` if the task is cancelled.
    public func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let token = state.withLock { state in
            state.lastToken += 1
            return state.lastToken
        }
        try await withTaskCancellationHandler {
            try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
                let (early, observers): (Result<Void, any Error>?, [CheckedContinuation<Void, Never>]) = state.withLock
                { state in
                    if state.cancelled.remove(token) != nil { return (.failure(CancellationError()), []) }
                    if deadline <= state.now { return (.success(()), []) }
                    state.numbers[token] = state.sleepers.add(
                        deadline,
                        Sleeper(
                            token: token, deadline: deadline, duration: state.now.duration(to: deadline),
                            continuation: continuation))
                    return (nil, state.satisfiedObservers())
                }
                if let early { continuation.resume(with: early) }
                for observer in observers { observer.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.numbers.removeValue(forKey: token).flatMap { state.sleepers.remove($0) }
                if sleeper == nil { state.cancelled.insert(token) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        // The sleep may have ended before it was cancelled.
        state.withLock { _ = $0.cancelled.remove(token) }
    }

    /// Advances the clock, and wakes the tasks whose deadlines have passed, in order of their deadlines.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.takeDue(at: state.now)
            for sleeper in due { state.numbers[sleeper.token] = nil }
            return due
        }
        for sleeper in due { sleeper.continuation.resume() }
    }

    /// The time to the earliest deadline of the sleeps with a duration of at most `longest`. Nil if there is none.
    package func remaining(ofSleepsUpTo longest: Duration) -> Duration? {
        state.withLock { state in
            let deadline = state.sleepers.pending.filter { $0.duration <= longest }.map(\.deadline).min()
            return deadline.map { state.now.duration(to: $0) }
        }
    }

    /// Returns when at least `count` tasks sleep on this clock, so that everything before their sleep has happened.
    public func sleepers(_ count: Int = 1) async { await sleepers(count, lasting: nil) }

    /// Returns when at least `count` tasks sleep on this clock for exactly `duration`, from the start of their sleep.
    ///
    /// A test identifies a sleep by a unique duration, such as 1.25 s. Also returns if the task is cancelled, so that a
    /// test that waits for the wrong duration ends at its time limit.
    public func sleepers(_ count: Int = 1, for duration: Duration) async {
        await sleepers(count, lasting: duration)
    }

    private func sleepers(_ count: Int, lasting duration: Duration?) async {
        let token = state.withLock { state in
            state.lastToken += 1
            return state.lastToken
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
                let satisfied = state.withLock { state -> [CheckedContinuation<Void, Never>] in
                    guard !Task.isCancelled else { return [continuation] }
                    state.observers.append(
                        Observer(token: token, count: count, duration: duration, continuation: continuation))
                    return state.satisfiedObservers()
                }
                for waiting in satisfied { waiting.resume() }
            }
        } onCancel: {
            let cancelled = state.withLock { state in
                let cancelled = state.observers.filter { $0.token == token }
                state.observers.removeAll { $0.token == token }
                return cancelled
            }
            for observer in cancelled { observer.continuation.resume() }
        }
    }

    /// The number of tasks that sleep on this clock.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
}
