import BLE
import BLESimulation
import BackendContract
import Testing

/// The contract on the simulated radio, in real time: what takes a second there takes one here.
@Suite(.timeLimit(.minutes(1)))
struct SimulationContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(await SimulatedPeer())
    }
}

/// The contract's peripheral on a simulated radio.
private struct SimulatedPeer: ContractPeer {
    private let strap = SimulatedStrap()
    private let radio = SimulatedRadio()
    private let peripheral: SimulatedPeripheral

    init() async {
        peripheral = await radio.add(strap.definition)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await Central(backend: .simulated(radio), configuration: configuration)
    }

    func disconnect() async { await peripheral.disconnect() }
    func loseLink() async { await peripheral.dropLink() }
    func setAdvertising(_ isAdvertising: Bool) async { await peripheral.setAdvertising(isAdvertising) }
    func notify(_ value: [UInt8]) async { await peripheral.notify(value, from: EchoStrap.output.key.characteristic) }

    func burst(count: Int, length: Int) async {
        for number in 0..<count {
            let head = (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
            await notify(head + [UInt8](repeating: 0, count: length - 4))
        }
    }

    func written() async -> [UInt8] { await strap.written }
    func hold() async { await strap.hold() }
    func release() async { await strap.release() }
    func setPairing(_ pairing: PeerPairing) async { await peripheral.setPairing(strap.method(pairing)) }
    func enter(_ passkey: Passkey) async { await strap.enter(passkey) }
    func untilAskedToPair() async { while await !peripheral.isPairing { await Task.yield() } }
    func bonds() async -> Int { await peripheral.isPaired ? 1 : 0 }
    func loseBonds() async { await peripheral.loseBond() }
    func reset() async { await strap.reset() }

    func until(connections: Int) async {
        while await peripheral.isConnected != (connections > 0) { await Task.yield() }
    }

    func until(subscribers: Int) async {
        while await peripheral.subscriberCount(of: EchoStrap.output.key.characteristic) != subscribers {
            await Task.yield()
        }
    }

    func untilHeld() async {
        while await strap.heldCount == 0 { await Task.yield() }
    }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        await peripheral.stopChannels(of: EchoStrap.output.key.characteristic)
    }

    func stopBluetooth() async { await radio.stop() }
    func restartBluetooth() async { await radio.restart() }
    func setPowered(_ isPowered: Bool) async { await radio.setPowered(isPowered) }
    func unplug() async { await radio.setPresent(false) }
    func plug() async { await radio.setPresent(true) }
}
