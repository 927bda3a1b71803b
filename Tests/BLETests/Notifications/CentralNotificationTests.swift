import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralNotificationTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// A task that subscribes to the level; its deadline is running when this returns.
    private func subscribing() async throws -> Task<NotificationStream<UInt8>, any Error> {
        try await strap.connect()
        let sleeping = bench.clock.sleeperCount
        let task = Task { [strap] in try await strap.notifications(Bench.level) }
        await bench.clock.sleepers(sleeping + 1)
        return task
    }

    @Test func `values arrive in order, as what their type makes of them`() async throws {
        let stream = try await strap.notifications(Bench.level)
        for level in UInt8(1)...3 { await bench.backend.notify([level], from: 2) }
        var values = stream.makeAsyncIterator()
        for level in UInt8(1)...3 { #expect(try await values.next() == level) }
        #expect(stream.droppedCount == 0)
    }

    @Test func `ending a stream from outside ends its reader, and waits for the peripheral`() async throws {
        let stream = try await strap.notifications(Bench.level)
        let other = try await strap.notifications(Bench.level)
        let reading = Task { try await stream.reduce(into: [UInt8]()) { $0.append($1) } }
        await bench.backend.notify([5], from: 2)
        // Another reader is left, so the peripheral continues.
        await stream.end()
        #expect(try await reading.value == [5])
        #expect(await bench.backend.count(.stopNotifications) == 0)
        await bench.backend.script(.stopNotifications, .hold)
        let isOver = SharedValue(false)
        let ending = Task {
            await other.end()
            isOver.change { $0 = true }
        }
        await bench.backend.asked(.stopNotifications)
        #expect(!isOver.value)
        await bench.backend.release(.stopNotifications)
        await ending.value
        for try await _ in other {}
        await other.end()
        #expect(await bench.backend.count(.stopNotifications) == 1)
        // A new subscription starts them again.
        _ = try await strap.notifications(Bench.level)
        #expect(await bench.backend.count(.startNotifications) == 2)
    }

    @Test func `a cancelled task does not wait for the end of its stream, which comes anyway`() async throws {
        let stream = try await strap.notifications(Bench.level)
        await bench.backend.script(.stopNotifications, .hold)
        let ending = Task { await stream.end() }
        await bench.backend.asked(.stopNotifications)
        ending.cancel()
        await ending.value
        await bench.backend.release(.stopNotifications)
        for try await _ in stream {}
    }

    @Test func `a value that cannot be decoded throws, and the next one follows`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.notify([], from: 2)
        await bench.backend.notify([5], from: 2)
        let error = await expectError(.invalidValue) { try await values.next() }
        #expect(error?.peripheral == strap.id)
        #expect(error?.characteristic == Bench.level.key.characteristic)
        #expect(try await values.next() == 5)
    }

    @Test func `a value that comes before the peripheral has agreed is not lost`() async throws {
        await bench.backend.script(.startNotifications, .hold)
        let subscriber = try await subscribing()
        await bench.backend.asked(.startNotifications)
        await bench.backend.notify([8], from: 2)
        await bench.backend.release(.startNotifications)
        var values = try await subscriber.value.makeAsyncIterator()
        #expect(try await values.next() == 8)
    }

    @Test func `the overflow policy is the subscriber's`() async throws {
        let oldest = try await strap.notifications(Bench.level, overflow: .dropNewest(capacity: 2))
        let newest = try await strap.notifications(Bench.level, overflow: .dropOldest(capacity: 2))
        for level in UInt8(1)...5 { await bench.backend.notify([level], from: 2) }
        var first = oldest.makeAsyncIterator()
        var second = newest.makeAsyncIterator()
        #expect(try await [first.next(), first.next()] == [1, 2])
        #expect(try await [second.next(), second.next()] == [4, 5])
        #expect(oldest.droppedCount == 3)
        #expect(newest.droppedCount == 3)
    }

    // MARK: Sharing

    @Test func `subscribers share one start, and the last to go stops it`() async throws {
        func share() async throws {
            var first: NotificationStream<UInt8>? = try await strap.notifications(Bench.level)
            let second = try await strap.notifications(Bench.level)
            await bench.backend.notify([1], from: 2)
            for stream in [first, second] {
                var values = try #require(stream).makeAsyncIterator()
                #expect(try await values.next() == 1)
            }
            first = nil
            // When this has ended, so have all steps that the end of the first one has started.
            for _ in 0..<10 { _ = try await strap.read(Bench.setting) }
            #expect(await bench.backend.calls(.startNotifications, .stopNotifications) == [.startNotifications(2)])
            await bench.backend.notify([2], from: 2)
            var values = second.makeAsyncIterator()
            #expect(try await values.next() == 2)
        }
        try await share()
        await bench.backend.asked(.stopNotifications)
        #expect(
            await bench.backend.calls(.startNotifications, .stopNotifications)
                == [.startNotifications(2), .stopNotifications(2)])
    }

    @Test func `subscribers that come at the same time share one start`() async throws {
        await bench.backend.script(.startNotifications, .hold)
        let subscribers = [try await subscribing(), try await subscribing(), try await subscribing()]
        await bench.backend.release(.startNotifications)
        var streams: [NotificationStream<UInt8>] = []
        for subscriber in subscribers { streams.append(try await subscriber.value) }
        #expect(await bench.backend.calls(.startNotifications, .stopNotifications) == [.startNotifications(2)])
        withExtendedLifetime(streams) {}
    }

    @Test func `leaving the loop stops the notifications`() async throws {
        func first() async throws -> UInt8? {
            let stream = try await strap.notifications(Bench.level)
            await bench.backend.notify([1], from: 2)
            for try await level in stream { return level }
            return nil
        }
        #expect(try await first() == 1)
        await bench.backend.asked(.stopNotifications)
        #expect(
            await bench.backend.calls(.startNotifications, .stopNotifications)
                == [.startNotifications(2), .stopNotifications(2)])
    }

    @Test func `a subscription while the last one is being stopped starts after it`() async throws {
        await bench.backend.script(.stopNotifications, .hold)
        _ = try await strap.notifications(Bench.level)
        await bench.backend.asked(.stopNotifications)
        let subscriber = try await subscribing()
        #expect(await bench.backend.count(.startNotifications) == 1)
        await bench.backend.release(.stopNotifications)
        var values = try await subscriber.value.makeAsyncIterator()
        await bench.backend.notify([3], from: 2)
        #expect(try await values.next() == 3)
        #expect(
            await bench.backend.calls(.startNotifications, .stopNotifications)
                == [.startNotifications(2), .stopNotifications(2), .startNotifications(2)])
    }

    @Test func `different characteristics are started by themselves`() async throws {
        let levels = try await strap.notifications(Bench.level)
        let settings = try await strap.notifications(Bench.setting)
        #expect(await bench.backend.calls(.startNotifications) == [.startNotifications(2), .startNotifications(14)])
        await bench.backend.notify([1], from: 14)
        var values = settings.makeAsyncIterator()
        #expect(try await values.next() == [1])
        withExtendedLifetime(levels) {}
    }

    // MARK: Failing

    @Test func `a failing start is the subscriber's error, and can be tried again`() async throws {
        await bench.backend.script(.startNotifications, .fail(BLEError(ATTError.insufficientAuthentication)))
        let error = await expectError(.pairingRequired) { try await strap.notifications(Bench.level) }
        #expect(error?.peripheral == strap.id)
        #expect(error?.characteristic == Bench.level.key.characteristic)
        let stream = try await strap.notifications(Bench.level)
        #expect(await bench.backend.count(.startNotifications) == 2)
        withExtendedLifetime(stream) {}
    }

    @Test(arguments: [true, false])
    func `a subscriber that waited behind one that failed asks for itself`(_ isCancelled: Bool) async throws {
        await bench.backend.script(.startNotifications, .hold)
        let first = try await subscribing()
        await bench.backend.asked(.startNotifications)
        let second = try await subscribing()
        if isCancelled {
            first.cancel()
        } else {
            await bench.backend.release(.startNotifications, Bench.error(.failed))
        }
        await expectError(isCancelled ? .cancelled : .failed) { try await first.value }
        let stream = try await second.value
        #expect(await bench.backend.count(.startNotifications) == 2)
        withExtendedLifetime(stream) {}
    }

    @Test func `a start without callers is undone`() async throws {
        await bench.backend.script(.startNotifications, .hold)
        let subscriber = try await subscribing()
        await bench.backend.asked(.startNotifications)
        subscriber.cancel()
        await expectError(.cancelled) { try await subscriber.value }
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `a deadline ends the wait for a peripheral that never agrees`() async throws {
        await bench.backend.script(.startNotifications, .ignore)
        let subscriber = try await subscribing()
        await bench.backend.asked(.startNotifications)
        bench.clock.advance(by: .seconds(30))
        await expectError(.timedOut) { try await subscriber.value }
        await bench.backend.release(.startNotifications)
    }

    @Test func `the end of the link ends the streams, after what they hold`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.notify([1], from: 2)
        await bench.dropLink()
        #expect(try await values.next() == 1)
        let error = await expectError(.disconnected) { try await values.next() }
        #expect(error?.peripheral == strap.id)
        // Otherwise, the system would switch notifications on again on the next link.
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `the end of the link ends the wait for a value`() async throws {
        let stream = try await strap.notifications(Bench.level)
        let executor = StepwiseExecutor()
        let reader = Task(executorPreference: executor) {
            var values = stream.makeAsyncIterator()
            return try await values.next()
        }
        #expect(executor.run())
        await bench.dropLink()
        #expect(executor.run())
        await expectError(.disconnected) { try await reader.value }
    }

    @Test func `the end of the link fails a subscription that is being started`() async throws {
        await bench.backend.script(.startNotifications, .ignore)
        let subscriber = try await subscribing()
        await bench.backend.asked(.startNotifications)
        await bench.dropLink()
        await expectError(.disconnected) { try await subscriber.value }
        await bench.backend.release(.startNotifications)
    }

    @Test func `a disconnect ends the streams`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        try await strap.disconnect()
        await expectError(.disconnected) { try await values.next() }
    }

    @Test func `after the end of the link, a subscription starts again`() async throws {
        var old = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.dropLink()
        var new = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.notify([4], from: 2)
        #expect(try await new.next() == 4)
        await expectError(.disconnected) { try await old.next() }
        #expect(await bench.backend.count(.startNotifications) == 2)
    }
}
