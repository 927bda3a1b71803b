import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Time that runs by itself.
@Suite(.hangLimit) struct ManualClockRunTests {
    @Test func `every deadline passes in order, and the clock stops at the end`() async {
        let clock = ManualClock()
        let passed = SharedValue<[Int]>([])
        let tasks = [3, 1, 2, 5].map { seconds in
            Task {
                try await clock.sleep(for: .seconds(seconds))
                passed.change { $0.append(seconds) }
                try await clock.sleep(for: .milliseconds(500))
                passed.change { $0.append(seconds * 10) }
            }
        }
        await clock.sleepers(4)
        await clock.run(for: .seconds(4))
        #expect(passed.value == [1, 10, 2, 20, 3, 30])
        #expect(clock.now.offset == .seconds(4))
        for task in tasks { task.cancel() }
    }

    @Test func `a run ends when its condition holds, at its limit, and when nothing sleeps`() async throws {
        let clock = ManualClock()
        #expect(await clock.run(until: { false }) == false)
        let task = Task { while !Task.isCancelled { try await clock.sleep(for: .seconds(1)) } }
        await clock.sleepers()
        #expect(await clock.run(until: { clock.now.offset >= .seconds(7) }))
        #expect(clock.now.offset == .seconds(7))
        #expect(await clock.run(for: .seconds(5), until: { false }) == false)
        #expect(clock.now.offset == .seconds(12))
        task.cancel()
    }

    @Test func `no value is missed in an hour with a link that drops every minute`() async throws {
        let world = try await SimulatedWorld()
        let strap = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let peripheral = world.central.peripheral(strap.id)
        try await peripheral.setConnectionPolicy(.maintained())
        let counts = SharedValue((values: 0, gaps: 0))
        await world.radio.run {
            async let reading: Void = {
                for try await event in try await HeartRate(peripheral).measurements().events {
                    counts.change { if case .value = event { $0.values += 1 } else { $0.gaps += 1 } }
                }
            }()
            #expect(await world.clock.run(until: { counts.value.values == 1 }))
            for _ in 1...60 {
                await world.clock.run(for: .milliseconds(59_400))
                await strap.dropLink()
                await world.clock.run(for: .milliseconds(600))
            }
            await world.central.shutDown()
            try? await reading
        }
        // After each loss, the link is back after 0.5 s, and its first value comes at once.
        #expect(counts.value.gaps == 60)
        #expect(counts.value.values == 1 + 60 * 60)
    }
}
