import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Every await of the profiles ends with its task, at its deadline, and with its central.
@Suite(.hangLimit) struct ProfileAwaitTests {
    private let world: SimulatedWorld
    /// A peripheral out of range. An operation that needs a link searches for it.
    private let absent: Peripheral

    init() async throws {
        world = try await SimulatedWorld()
        absent = world.central.peripheral("00:11:22:33:44:55")
    }

    private func begin(_ call: ProfileCall) async -> Task<Void, any Error> {
        let task = Task { [absent] in try await call.run(absent) }
        await until { await world.central.isScanning }
        return task
    }

    @Test(arguments: ProfileCall.all) func `a cancelled call ends at once`(_ call: ProfileCall) async throws {
        let task = await begin(call)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await until { await !world.central.isScanning }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test(arguments: ProfileCall.all) func `a call ends at its deadline`(_ call: ProfileCall) async throws {
        let task = await begin(call)
        await world.clock.sleepers(1, for: .seconds(20))
        world.clock.advance(by: .seconds(20))
        await expectError(.peripheralNotFound) { try await task.value }
    }

    @Test(arguments: ProfileCall.all) func `a call ends with the central`(_ call: ProfileCall) async throws {
        let task = await begin(call)
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }
}
