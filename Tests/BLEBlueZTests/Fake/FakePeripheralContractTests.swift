import BLE
import BLEBackendTesting
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// The contract of the peripheral role with a fake bluetoothd, whose radio has the centrals.
@Suite(.startsProcesses, .hangLimit)
struct FakePeripheralContractTests {
    @Test(arguments: PeripheralContract.selected)
    func contract(_ item: PeripheralContract) async throws {
        try await item.check(FakeServingPeer(world: try await BlueZWorld()))
    }
}

private struct FakeServingPeer: PeripheralContractPeer {
    let world: BlueZWorld

    /// Long enough that only a hang exceeds it, even on a busy machine.
    var timeout: Duration { .seconds(600) }
    var distinguishesSubscribers: Bool { false }

    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost {
        try await PeripheralHost(backend: .bluez(bus: world.bus.address), configuration: configuration)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: .simulated(world.radio), configuration: configuration)
    }

    func restartStack() async throws {
        await world.daemon.kill()
        try await world.daemon.start()
    }

    func setPowered(_ isPowered: Bool) async { await world.daemon.setPowered(isPowered) }
    func reset() async {}
}
