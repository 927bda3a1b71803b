internal import Synchronization

/// A clock that stands still until a test moves it.
///
/// ```swift
/// let clock = ManualClock()
/// let radio = SimulatedRadio(clock: clock)
/// …
/// await clock.sleepers(1)          // somebody waits for the time to pass
/// clock.advance(by: .seconds(8))   // it has passed
/// ```
public final class ManualClock: Clock {
    /// A moment: the time since the clock was made.
    public struct Instant: InstantProtocol {
        /// The time since the clock was made.
        public var offset: Duration

        /// The moment `duration` later.
        public func advanced(by duration: Duration) -> Instant { Instant(offset: offset + duration) }
        /// The time from here to `other`.
        public func duration(to other: Instant) -> Duration { other.offset - offset }
        /// Which is earlier.
        public static func < (left: Instant, right: Instant) -> Bool { left.offset < right.offset }
    }

    private struct Sleeper {
        let deadline: Instant
        /// From the beginning of the sleep to its deadline.
        let duration: Duration
        let continuation: CheckedContinuation<Void, any Error>
    }

    private struct Observer {
        let count: Int
        /// Counts only those that sleep for exactly so long; nil counts all.
        let duration: Duration?
        let continuation: CheckedContinuation<Void, Never>
    }

    private struct State {
        var now = Instant(offset: .zero)
        var lastToken = 0
        var sleepers: [Int: Sleeper] = [:]
        /// Sleeps that were cancelled before they began to wait.
        var cancelled: Set<Int> = []
        /// Who waits for so many sleepers.
        var observers: [Observer] = []

        mutating func satisfiedObservers() -> [CheckedContinuation<Void, Never>] {
            let satisfied = observers.filter(isSatisfied)
            observers.removeAll(where: isSatisfied)
            return satisfied.map(\.continuation)
        }

        private func isSatisfied(_ observer: Observer) -> Bool {
            guard let duration = observer.duration else { return sleepers.count >= observer.count }
            return sleepers.values.count { $0.duration == duration } >= observer.count
        }
    }

    private let state = Mutex(State())

    /// A clock at zero.
    public init() {}

    /// The moment that the test has brought the clock to.
    public var now: Instant { state.withLock { $0.now } }

    /// Any moment can be told from any other.
    public var minimumResolution: Duration { .zero }

    /// Waits until the clock has been moved to `deadline`. Throws `CancellationError` when the task is cancelled.
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
                    state.sleepers[token] = Sleeper(
                        deadline: deadline, duration: state.now.duration(to: deadline), continuation: continuation)
                    return (nil, state.satisfiedObservers())
                }
                if let early { continuation.resume(with: early) }
                for observer in observers { observer.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.sleepers.removeValue(forKey: token)
                if sleeper == nil { state.cancelled.insert(token) }
                return sleeper
            }
            sleeper?.continuation.resume(throwing: CancellationError())
        }
        // A sleep that had ended when it was cancelled.
        state.withLock { _ = $0.cancelled.remove(token) }
    }

    /// Moves the clock, and wakes whoever has slept until then, in the order of their deadlines.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.filter { $0.value.deadline <= state.now }
            for token in due.keys { state.sleepers[token] = nil }
            return due.sorted { ($0.value.deadline, $0.key) < ($1.value.deadline, $1.key) }
        }
        for (_, sleeper) in due { sleeper.continuation.resume() }
    }

    /// Returns once at least `count` tasks sleep on this clock: then what led to their sleep has happened.
    public func sleepers(_ count: Int = 1) async { await sleepers(count, lasting: nil) }

    /// Returns once at least `count` tasks sleep on this clock for exactly `duration`, from the beginning of their sleep.
    ///
    /// A test tells the sleep that it means from others by a duration that nothing else has, such as 1.25 s.
    public func sleepers(_ count: Int = 1, for duration: Duration) async {
        await sleepers(count, lasting: duration)
    }

    private func sleepers(_ count: Int, lasting duration: Duration?) async {
        await withCheckedContinuation { continuation in
            let satisfied = state.withLock { state in
                state.observers.append(Observer(count: count, duration: duration, continuation: continuation))
                return state.satisfiedObservers()
            }
            for observer in satisfied { observer.resume() }
        }
    }

    /// How many tasks sleep on this clock now.
    public var sleeperCount: Int { state.withLock { $0.sleepers.count } }
}
