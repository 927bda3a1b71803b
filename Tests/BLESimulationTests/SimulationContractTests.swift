import BLE
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import Testing

/// The contract on the simulated radio, in real time: a second of the radio is a real one.
@Suite(.hangLimit)
struct SimulationContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(await SimulatedPeer())
    }
}

/// The contract's peripheral on a simulated radio.
private struct SimulatedPeer: SimulatedStrapPeer {
    let strap = SimulatedStrap()
    private let radio = SimulatedRadio()
    let peripheral: SimulatedPeripheral
    var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }

    init() async {
        peripheral = await radio.add(strap.definition)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: .simulated(radio), configuration: configuration)
    }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        await peripheral.stopChannels(of: EchoStrap.output.key.characteristic)
    }

    func stopBluetooth() async { await radio.stop() }
    func restartBluetooth() async { await radio.restart() }
    func setPowered(_ isPowered: Bool) async { await radio.setPowered(isPowered) }
    func setBlocked(_ isBlocked: Bool) async { await radio.setBlocked(isBlocked) }
    func unplug() async { await radio.setPresent(false) }
    func plug() async { await radio.setPresent(true) }
}
