import BLE
import BLEBlueZ
import BLESimulation
import BackendContract
import BlueZTestSupport
import Testing

/// The contract over a private bus, with a fake bluetoothd at its other end.
@Suite(.timeLimit(.minutes(2)))
struct FakeBlueZContractTests {
    @Test(arguments: BackendContract.selected)
    func contract(_ item: BackendContract) async throws {
        try await item.check(try await FakePeer())
    }
}

/// The contract's peripheral behind a fake bluetoothd on a bus of its own.
struct FakePeer: ContractPeer {
    private let world: BlueZWorld
    var bus: PrivateBus { world.bus }
    var daemon: FakeBlueZ { world.daemon }
    private let strap = SimulatedStrap()
    private let peripheral: SimulatedPeripheral

    init() async throws {
        world = try await BlueZWorld()
        peripheral = await world.radio.add(strap.definition)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await world.makeCentral(configuration)
    }

    var isConnected: Bool {
        get async { await peripheral.isConnected }
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
        await daemon.stopNotifications(of: EchoStrap.output.key.characteristic)
    }

    func stopBluetooth() async { await daemon.kill() }
    func restartBluetooth() async throws { try await daemon.start() }
    func setPowered(_ isPowered: Bool) async { await daemon.setPowered(isPowered) }
    func unplug() async { await daemon.setPresent(false) }
    func plug() async { await daemon.setPresent(true) }
}
