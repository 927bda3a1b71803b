internal import Synchronization
internal import Waiting

/// A clock that stands still until a test advances it.
///
/// ```swift
/// let clock = ManualClock()
/// let radio = SimulatedRadio(clock: clock)
/// …
/// await clock.run(for: .seconds(8))   // 8 seconds pass, with everything that happens in them
/// ```
///
/// For a test of one deadline, ``sleepers(_:for:)`` waits until something sleeps until then, and ``advance(by:)`` wakes
/// it.
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
        let wake: Wake
    }

    private enum Wake {
        case task(CheckedContinuation<Void, any Error>)
        case call(@Sendable () -> Void)
    }

    private struct WeakExecutor {
        weak var executor: RadioExecutor?
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
        /// The executors of the radios on this clock.
        var executors: [WeakExecutor] = []
        /// The sleeps that are over, and whose tasks have not continued yet.
        var waking: Set<Int> = []
        /// The number of sleeps that have begun or ended.
        var changes = 0

        mutating func add(_ token: Int, _ deadline: Instant, _ wake: Wake) -> UInt64 {
            changes += 1
            return sleepers.add(
                deadline,
                Sleeper(token: token, deadline: deadline, duration: now.duration(to: deadline), wake: wake))
        }

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
                    state.numbers[token] = state.add(token, deadline, .task(continuation))
                    return (nil, state.satisfiedObservers())
                }
                if let early { continuation.resume(with: early) }
                for observer in observers { observer.resume() }
            }
        } onCancel: {
            let sleeper = state.withLock { state in
                let sleeper = state.numbers.removeValue(forKey: token).flatMap { state.sleepers.remove($0) }
                if sleeper == nil { state.cancelled.insert(token) }
                state.changes += 1
                return sleeper
            }
            if case .task(let continuation)? = sleeper?.wake { continuation.resume(throwing: CancellationError()) }
        }
        // The sleep may have ended before it was cancelled.
        state.withLock { state in
            state.cancelled.remove(token)
            if state.waking.remove(token) != nil { state.changes += 1 }
        }
    }

    /// Calls `work` when the clock has been advanced by `duration`. It counts as a task that sleeps.
    package func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        let (number, observers) = state.withLock { state in
            state.lastToken += 1
            let deadline = state.now.advanced(by: duration)
            return (state.add(state.lastToken, deadline, .call(work)), state.satisfiedObservers())
        }
        for observer in observers { observer.resume() }
        // The caller may hold a lock that `work` needs.
        if duration <= .zero { Task { advance(by: .zero) } }
        return number
    }

    /// Cancels a call.
    package func cancelCall(_ number: UInt64) {
        state.withLock { state in
            state.sleepers.remove(number)
            state.changes += 1
        }
    }

    // MARK: Time passes

    /// Lets time pass, with everything that happens in it: goes from one deadline to the next, and each time waits
    /// until the radios of this clock have nothing left to do. Returns when they are quiet after `duration`, or when
    /// the task is cancelled.
    ///
    /// It waits for the centrals and peripherals of these radios, and for the tasks that run among their steps: those
    /// inside ``SimulatedRadio/run(_:)`` and `withCentral`, with their `async let` and task groups. Other tasks, such
    /// as those of `Task { … }` and the handlers of a `PeripheralHost`, may take their turns later, after more time has
    /// passed. What never comes to rest, such as a loop that needs no time, is not waited for without end.
    public func run(for duration: Duration) async {
        let end = now.advanced(by: duration)
        while true {
            await settle()
            if Task.isCancelled { return }
            guard let next = state.withLock({ $0.sleepers.next }), next < end else { break }
            advance(by: now.duration(to: next))
        }
        if now < end { advance(by: now.duration(to: end)) }
        await settle()
    }

    /// Lets time pass, in the same way, until `condition` holds. Returns whether it does: false if nothing sleeps until
    /// `limit` has passed, or if the task is cancelled.
    @discardableResult
    public func run(
        for limit: Duration = .seconds(3600), isolation: isolated (any Actor)? = #isolation,
        until condition: () async throws -> Bool
    ) async rethrows -> Bool {
        let end = now.advanced(by: limit)
        while true {
            await settle()
            if try await condition() { return true }
            guard !Task.isCancelled, let next = state.withLock({ $0.sleepers.next }), next <= end else { return false }
            advance(by: now.duration(to: next))
        }
    }

    /// How many turns of all tasks must change nothing: one goes through the global executor now and then.
    private static let quietTurns = 3

    /// Waits until nothing happens any more without the passing of time.
    private func settle() async {
        let executors = state.withLock { $0.executors.compactMap(\.executor) }
        func count() -> Int { executors.reduce(state.withLock(\.changes)) { $0 &+ $1.stepCount } }
        var quiet = 0
        // What never comes to rest, such as a loop that needs no time, must not stop time.
        for _ in 0..<10_000 {
            guard quiet < Self.quietTurns, !Task.isCancelled else { return }
            // Tasks of other executors that are ready get a thread, too.
            await Task.detached {}.value
            // The steps with which this task itself continues.
            let own = executors.contains(where: \.isCurrent) ? executors.count : 0
            let before = count()
            for executor in executors { await executor.takeTurns() }
            let isAwake = state.withLock(\.waking.isEmpty)
            quiet = isAwake && count() &- before == own ? quiet + 1 : 0
        }
    }

    /// Includes what happens on a radio in what ``run(for:)`` waits for.
    func include(_ executor: RadioExecutor) {
        state.withLock { state in
            state.executors.removeAll { $0.executor == nil }
            state.executors.append(WeakExecutor(executor: executor))
        }
    }

    /// Advances the clock, and wakes the tasks whose deadlines have passed, in order of their deadlines.
    public func advance(by duration: Duration) {
        let due = state.withLock { state in
            state.now = state.now.advanced(by: duration)
            let due = state.sleepers.takeDue(at: state.now)
            for sleeper in due { state.numbers[sleeper.token] = nil }
            state.changes += due.count
            for sleeper in due { if case .task = sleeper.wake { state.waking.insert(sleeper.token) } }
            return due
        }
        for sleeper in due {
            switch sleeper.wake {
            case .task(let continuation): continuation.resume()
            case .call(let work): work()
            }
        }
    }

    /// The time to the earliest deadline of the sleeps with a duration of at most `longest`. Nil if no
    /// task sleeps for so short a time.
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
            // A call sets its deadline before it begins.
            for executor in state.withLock({ $0.executors.compactMap(\.executor) }) { await executor.takeTurns() }
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

extension ManualClock: CallbackClock {}
