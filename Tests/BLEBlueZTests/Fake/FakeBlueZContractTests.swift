import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// The contract over a private bus, with a fake bluetoothd at its other end.
@Suite(.startsProcesses, .hangLimit)
struct FakeBlueZContractTests {
    @Test(arguments: BackendContract.selected, [66, 82])
    func contract(_ item: BackendContract, minorVersion: Int) async throws {
        try await item.check(try await FakePeer(minorVersion: minorVersion))
    }

    @Test(arguments: BackendContract.selected, [TestCarrier.gdbus, .existing])
    func `contract over GDBus`(_ item: BackendContract, carrier: TestCarrier) async throws {
        try await item.check(try await FakePeer(over: carrier, minorVersion: 82))
    }

    @Test func `a peripheral is heard again while the adapter is being switched off`() async throws {
        let peer = try await FakePeer(minorVersion: 82)
        await peer.daemon.hearWhileSwitchingOff()
        try await BackendContract.scansTellWhyTheyWait.check(peer)
    }

    @Test(arguments: RadioContract.selected, [66, 82])
    func radio(_ item: RadioContract, minorVersion: Int) async throws {
        try await item.check(try await FakePeer(minorVersion: minorVersion, clock: ManualClock()))
    }
}

/// The contract's peripheral behind a fake bluetoothd on a bus of its own.
struct FakePeer: SimulatedStrapPeer {
    private let world: BlueZWorld
    var bus: PrivateBus { world.bus }
    var daemon: FakeBlueZ { world.daemon }
    let strap = SimulatedStrap()
    let peripheral: SimulatedPeripheral
    var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }
    var faultFacts: FaultFacts { .bluetoothd }

    init(
        over carrier: TestCarrier = .socket, minorVersion: Int = 66, clock: any Clock<Duration> = ContinuousClock()
    ) async throws {
        world = try await BlueZWorld(over: carrier, minorVersion: minorVersion, clock: clock)
        peripheral = await world.radio.add(strap.definition)
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        try await world.makeCentral(configuration)
    }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        await daemon.stopNotifications(of: EchoStrap.output.key.characteristic)
    }

    func stopBluetooth() async { await daemon.kill() }
    func restartBluetooth() async throws { try await daemon.start() }
    func setPowered(_ isPowered: Bool) async { await daemon.setPowered(isPowered) }
    func setBlocked(_ isBlocked: Bool) async { await daemon.setBlocked(isBlocked) }
    func unplug() async { await daemon.setPresent(false) }
    func plug() async { await daemon.setPresent(true) }
}
