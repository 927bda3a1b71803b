import BLE
import BLEBackendTesting
import BLESimulation
import BLETestSupport
import Testing

/// The contract of the peripheral role on the simulated radio, whose centrals are the other side.
@Suite(.hangLimit)
struct SimulatedPeripheralContractTests {
    @Test(arguments: PeripheralContract.selected)
    func contract(_ item: PeripheralContract) async throws {
        try await item.check(SimulatedServingPeer())
    }

    @Test(arguments: HostRadioContract.selected)
    func radio(_ item: HostRadioContract) async throws {
        try await item.check(SimulatedServingPeer(clock: ManualClock()))
    }
}

private struct SimulatedServingPeer: SimulatedHostPeer {
    let radio: SimulatedRadio

    init(clock: any Clock<Duration> = ContinuousClock()) { radio = SimulatedRadio(clock: clock) }

    /// Long enough that only a hang exceeds it, even on a busy machine.
    var timeout: Duration { .seconds(600) }
    var distinguishesSubscribers: Bool { true }

    func makeHost(_ configuration: PeripheralHost.Configuration) async throws -> PeripheralHost {
        try await PeripheralHost(
            backend: .simulated(radio, requestTimeout: timeout), configuration: configuration)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: .simulated(radio), configuration: configuration)
    }

    func restartStack() async {
        await radio.stop()
        await radio.restart()
    }

    func setPowered(_ isPowered: Bool) async { await radio.setPowered(isPowered) }
    func setPresent(_ isPresent: Bool) async { await radio.setPresent(isPresent) }
    func reset() async {}
}
