import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct ManualClockTests {
    private let clock = ManualClock()
    private let executor = StepwiseExecutor()

    /// A task that sleeps on the clock when this returns.
    private func sleeping(_ duration: Duration) -> Task<Void, any Error> {
        let task = Task(executorPreference: executor) { [clock] in try await clock.sleep(for: duration) }
        executor.run()
        return task
    }

    @Test func `it stands still until it is moved`() {
        let start = clock.now
        #expect(start.offset == .zero)
        clock.advance(by: .seconds(2))
        clock.advance(by: .milliseconds(500))
        #expect(start.duration(to: clock.now) == .milliseconds(2500))
        #expect(start < clock.now)
        #expect(start.advanced(by: .milliseconds(2500)) == clock.now)
    }

    @Test func `a sleeping task wakes when its time has come, not before`() async throws {
        let sleeper = sleeping(.seconds(2))
        clock.advance(by: .milliseconds(1999))
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .milliseconds(1))
        #expect(clock.sleeperCount == 0)
        #expect(executor.run())
        try await sleeper.value
    }

    @Test func `sleepers wake in the order of their deadlines, then in that of their sleep`() async throws {
        let log = SharedValue<[Int]>([])
        try await withThrowingTaskGroup { group in
            for (number, seconds) in [3, 1, 2, 1, 5, 3].enumerated() {
                group.addTask(executorPreference: executor) { [clock] in
                    try await clock.sleep(for: .seconds(seconds))
                    log.change { $0.append(number) }
                }
                executor.run()
            }
            clock.advance(by: .seconds(4))
            #expect(executor.run())
            #expect(log.value == [1, 3, 2, 0, 5])
            clock.advance(by: .seconds(1))
            #expect(executor.run())
            try await group.waitForAll()
        }
        #expect(log.value == [1, 3, 2, 0, 5, 4])
    }

    @Test(arguments: [0, -1]) func `a moment that has passed is not waited for`(_ seconds: Int) async throws {
        clock.advance(by: .seconds(5))
        try await clock.sleep(for: .seconds(seconds))
        try await clock.sleep(until: clock.now)
        #expect(clock.sleeperCount == 0)
    }

    @Test func `cancelling ends the sleep`() async {
        let sleeper = sleeping(.seconds(1))
        #expect(clock.sleeperCount == 1)
        sleeper.cancel()
        #expect(clock.sleeperCount == 0)
        #expect(executor.run())
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        clock.advance(by: .seconds(2))
    }

    @Test func `a cancelled task does not begin to sleep`() async {
        let sleeper = Task { [clock] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await clock.sleep(for: .seconds(1))
        }
        await #expect(throws: CancellationError.self) { try await sleeper.value }
        #expect(clock.sleeperCount == 0)
    }

    @Test func `cancelling after the time has come changes nothing`() async throws {
        let sleeper = sleeping(.seconds(1))
        clock.advance(by: .seconds(1))
        sleeper.cancel()
        executor.run()
        try await sleeper.value
    }

    @Test func `cancelling one leaves the others asleep`() async throws {
        let first = sleeping(.seconds(1))
        let second = sleeping(.seconds(1))
        first.cancel()
        #expect(clock.sleeperCount == 1)
        clock.advance(by: .seconds(1))
        executor.run()
        try await second.value
        await #expect(throws: CancellationError.self) { try await first.value }
    }

    @Test func `a test can wait until so many sleep`() async throws {
        await clock.sleepers(0)
        let observer = Task(executorPreference: executor) { [clock] in
            await clock.sleepers(2)
            return clock.sleeperCount
        }
        executor.run()
        let first = sleeping(.seconds(1))
        let second = sleeping(.seconds(1))
        executor.run()
        #expect(await observer.value == 2)
        await clock.sleepers(1)
        await clock.sleepers(2)
        clock.advance(by: .seconds(1))
        executor.run()
        try await first.value
        try await second.value
    }

    @Test func `a test can wait for a sleep of one length among others`() async throws {
        let tick = sleeping(.seconds(1))
        clock.advance(by: .milliseconds(700))
        let observer = Task(executorPreference: executor) { [clock] in
            await clock.sleepers(for: .seconds(1.3))
            return clock.sleeperCount
        }
        executor.run()
        let long = sleeping(.seconds(20))
        #expect(clock.sleeperCount == 2)
        let meant = sleeping(.seconds(1.3))
        #expect(await observer.value == 3)
        clock.advance(by: .seconds(1.3))
        executor.run()
        try await meant.value
        try await tick.value
        clock.advance(by: .seconds(20))
        executor.run()
        try await long.value
    }

    @Test func `an unnecessary sleep does not wake tasks that wait for sleepers`() async throws {
        let observer = Task(executorPreference: executor) { [clock] in
            await clock.sleepers(1)
            return clock.now.offset
        }
        executor.run()
        try await clock.sleep(for: .zero)
        executor.run()
        clock.advance(by: .seconds(3))
        let sleeper = sleeping(.seconds(1))
        #expect(await observer.value == .seconds(3))
        sleeper.cancel()
        executor.run()
        _ = await sleeper.result
    }

    @Test func `many sleep and wake at once`() async throws {
        try await withThrowingTaskGroup { group in
            for number in 1...200 { group.addTask { [clock] in try await clock.sleep(for: .milliseconds(number)) } }
            await clock.sleepers(200)
            clock.advance(by: .milliseconds(100))
            #expect(clock.sleeperCount == 100)
            clock.advance(by: .milliseconds(100))
            try await group.waitForAll()
        }
        #expect(clock.sleeperCount == 0)
    }
}

@Suite(.hangLimit) struct CancelledClockTests {
    @Test func `a wait for sleepers ends with its task`() async {
        let clock = ManualClock()
        let waiting = Task { await clock.sleepers(1, for: .seconds(99)) }
        for _ in 0..<20 { await Task.yield() }
        waiting.cancel()
        await waiting.value
        let late = Task {
            await untilCancelled()
            await clock.sleepers()
        }
        late.cancel()
        await late.value
    }
}
