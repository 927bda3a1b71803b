import BLETestSupport
import Synchronization
import Testing
import Waiting

/// An error to wait with.
private enum Failure: Error {
    case cancelled
    case busy
    case late
}

private enum Errors: WaitErrors {
    static var cancelled: Failure { .cancelled }
}

private typealias Outcome<Value: Sendable> = FirstOutcome<Value, Errors>

@Suite(.hangLimit) struct FirstOutcomeTests {
    @Test func `a result that is there already is not waited for`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(1))
        #expect(try await outcome.wait() == 1)
    }

    @Test func `only the first result counts`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(1))
        outcome.deliver(.success(2))
        outcome.deliver(.failure(.cancelled))
        #expect(try await outcome.wait() == 1)
    }

    @Test func `a failure is thrown`() async {
        let outcome = Outcome<Int>()
        outcome.deliver(.failure(.busy))
        await #expect(throws: Failure.busy) { try await outcome.wait() }
    }

    @Test func `a later result wakes the waiting task`() async throws {
        let outcome = Outcome<Int>()
        let waiter = Task { try await outcome.wait() }
        await Task.yield()
        outcome.deliver(.success(3))
        #expect(try await waiter.value == 3)
    }

    @Test func `cancelling ends the wait`() async {
        let outcome = Outcome<Int>()
        let waiter = Task { try await outcome.wait() }
        await Task.yield()
        waiter.cancel()
        await #expect(throws: Failure.cancelled) { try await waiter.value }
        outcome.deliver(.success(1))  // too late, and harmless
    }

    @Test func `a task that is cancelled already does not wait`() async {
        let outcome = Outcome<Int>()
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outcome.wait()
        }
        await #expect(throws: Failure.cancelled) { try await waiter.value }
    }

    @Test func `cancellation does not undo a result`() async throws {
        let outcome = Outcome<Int>()
        outcome.deliver(.success(4))
        let waiter = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            return try await outcome.wait()
        }
        #expect(try await waiter.value == 4)
    }

    @Test func `several deliveries at once wake the waiting task once`() async throws {
        for _ in 0..<200 {
            let outcome = Outcome<Int>()
            let waiter = Task { try await outcome.wait() }
            await withTaskGroup { group in
                for number in 0..<4 { group.addTask { outcome.deliver(.success(number)) } }
            }
            #expect(try await 0..<4 ~= waiter.value)
        }
    }

    // MARK: Work

    /// Work that ends when it is cancelled, and reports its beginning.
    private final class Work: Sendable {
        let begun = Outcome<Void>()
        let ended = Outcome<Void>()

        func run() async throws(Failure) -> Int {
            begun.deliver(.success(()))
            // Waits until it is cancelled.
            defer { ended.deliver(.success(())) }
            return try await Outcome<Int>().wait()
        }
    }

    @Test func `a race ends with the result of the work`() async throws {
        #expect(try await Outcome<Int>().race { () throws(Failure) in 5 } == 5)
        await #expect(throws: Failure.busy) {
            try await Outcome<Int>().race { () throws(Failure) in throw .busy }
        }
    }

    @Test func `a race that ends otherwise cancels the work`() async throws {
        let (outcome, work) = (Outcome<Int>(), Work())
        let race = Task { try await outcome.race { () throws(Failure) in try await work.run() } }
        try await work.begun.wait()
        outcome.deliver(.failure(.busy))
        await #expect(throws: Failure.busy) { try await race.value }
        try await work.ended.wait()
    }

    @Test func `cancelling a race cancels the work`() async throws {
        let (outcome, work) = (Outcome<Int>(), Work())
        let race = Task { try await outcome.race { () throws(Failure) in try await work.run() } }
        try await work.begun.wait()
        race.cancel()
        await #expect(throws: Failure.cancelled) { try await race.value }
        try await work.ended.wait()
    }

    @Test @MainActor func `work begins on the actor of its caller`() async throws {
        let isThere = try await Outcome<Bool>().race { () throws(Failure) in
            #isolation === MainActor.shared
        }
        #expect(isThere)
    }

    // MARK: Deadlines

    @Test func `a deadline that passes is the end`() async throws {
        let outcome = Outcome<Int>()
        _ = outcome.expire(after: .zero, clock: ContinuousClock()) { .late }
        await #expect(throws: Failure.late) { try await outcome.wait() }
    }

    @Test func `a deadline that is cancelled delivers nothing`() async throws {
        let outcome = Outcome<Int>()
        let (ends, end) = AsyncStream.makeStream(of: Void.self)
        let deadline = outcome.expire(after: .seconds(1000), clock: SleepingClock(onEnd: end)) { .late }
        deadline.cancel()
        for await _ in ends { break }
        #expect(outcome.deliver(.success(1)))
    }

    @Test func `a clock that calls back is called, and gets the cancellation`() async throws {
        let clock = CallingClock()
        let late = Outcome<Int>()
        let (_, cancelled) = (late.expire(after: .seconds(2), clock: clock) { .late }, Outcome<Int>())
        cancelled.expire(after: .seconds(3), clock: clock) { .late }.cancel()
        #expect(clock.calls.withLock { $0.map(\.value.duration) } == [.seconds(2)])
        for call in clock.calls.withLock({ $0.values }) { call.work() }
        await #expect(throws: Failure.late) { try await late.wait() }
        #expect(cancelled.deliver(.success(1)))
    }
}

/// A clock whose sleeps end with their cancellation only.
private struct SleepingClock: Clock {
    typealias Instant = ContinuousClock.Instant

    let onEnd: AsyncStream<Void>.Continuation
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws {
        let (nothing, source) = AsyncStream.makeStream(of: Never.self)
        // Ends when the task is cancelled.
        for await _ in nothing {}
        source.finish()
        onEnd.yield()
        throw CancellationError()
    }
}

/// A clock that keeps the closures that it has to call.
private final class CallingClock: CallbackClock {
    typealias Instant = ContinuousClock.Instant

    let calls = Mutex<[UInt64: (duration: Duration, work: @Sendable () -> Void)]>([:])
    var now: Instant { .now }
    var minimumResolution: Duration { .zero }

    func sleep(until deadline: Instant, tolerance: Duration?) async throws { Issue.record("it calls back") }

    func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        calls.withLock { calls in
            let number = UInt64(calls.count)
            calls[number] = (duration, work)
            return number
        }
    }

    func cancelCall(_ number: UInt64) { calls.withLock { $0[number] = nil } }
}
