import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Strengths, distances and losses over time.
@Suite(.hangLimit) struct SimulatedAirScriptTests {
    @Test func `a script ends the former one of its kind`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        try await peripheral.connect()
        await gauge.play([(0, -50), (2, -70), (4, -80)])
        await gauge.play(loss: [(3, 1), (30, 0)], seed: 1)
        await world.clock.run(for: .seconds(1))
        await gauge.play(meters: [(0, 1), (4, 2)])
        await gauge.play(loss: [(0, 0)], seed: 1)
        await world.clock.run(for: .milliseconds(3500))
        #expect(try await peripheral.signalStrength() == -59)
        await world.clock.run(for: .seconds(1))
        #expect(try await peripheral.signalStrength() == -65)
        #expect(await gauge.isConnected)
        await world.central.shutDown()
    }

    @Test func `the steps of a script happen in the order of their times`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, gauge) = try await world.add(Gauge.definition())
        try await peripheral.connect()
        await gauge.play([(2, -70), (1, -60), (0, -50), (-5, -40)])
        var strengths: [Int] = []
        for _ in 1...3 {
            strengths.append(try await peripheral.signalStrength())
            await world.clock.run(for: .seconds(1))
        }
        #expect(strengths == [-50, -60, -70])
        await world.central.shutDown()
    }
}

/// Scripts that a program may not play.
@Suite(.startsProcesses, .hangLimit) struct SimulatedScriptPreconditionTests {
    @Test func `a time that is none ends the program`() async {
        await #expect(processExitsWith: .failure) {
            let gauge = await SimulatedRadio(clock: ManualClock()).add(.battery())
            await gauge.play([(.nan, -50)])
        }
        await #expect(processExitsWith: .failure) {
            let gauge = await SimulatedRadio(clock: ManualClock()).add(.battery())
            await gauge.play(loss: [(.infinity, 0.5)], seed: 1)
        }
    }
}
