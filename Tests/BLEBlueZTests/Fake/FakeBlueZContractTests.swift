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

    /// A central whose radios are two adapters of one bluetoothd. Their connections learn of its death one after the
    /// other, and in between one radio seems to remain: what is pending may have failed before Bluetooth is lost.
    @Test(arguments: BackendContract.selected.filter { $0 != .deathOfBluetoothFailsWhatIsPending })
    func `contract of two radios`(_ item: BackendContract) async throws {
        try await item.check(try await FakePeer(minorVersion: 82, adapters: ["hci0", "hci1"]))
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
    /// The adapters that the central uses as radios. Empty if it uses the first one by itself.
    private let adapters: [String]
    var systemProperties: [String: SystemValue]? { EchoStrap.systemProperties }
    var faultFacts: FaultFacts { .bluetoothd }

    init(
        over carrier: TestCarrier = .socket, minorVersion: Int = 66, clock: any Clock<Duration> = ContinuousClock(),
        adapters: [String] = []
    ) async throws {
        self.adapters = adapters
        world = try await BlueZWorld(over: carrier, minorVersion: minorVersion, clock: clock)
        peripheral = await world.radio.add(strap.definition)
        for adapter in adapters.dropFirst() { await daemon.addAdapter(adapter) }
    }

    func makeCentral(_ configuration: Central.Configuration) async throws -> Central {
        guard !adapters.isEmpty else { return try await world.makeCentral(configuration) }
        let radios = adapters.map { adapter in
            Radio.bluez(adapter: adapter, address: world.address, channelSockets: daemon.channelSockets)
        }
        return try await Central(radios: radios, configuration: configuration)
    }

    /// The daemon's parts for the adapters of the central.
    private var parts: [FakeBlueZ] {
        get async {
            var parts: [FakeBlueZ] = []
            for adapter in adapters { if let part = await daemon.adapter(adapter) { parts.append(part) } }
            return parts.isEmpty ? [daemon] : parts
        }
    }

    func stopNotifications(_ service: UInt16, _ characteristic: UInt16) async {
        for part in await parts { await part.stopNotifications(of: EchoStrap.output.key.characteristic) }
    }

    func stopBluetooth() async { await daemon.kill() }
    func restartBluetooth() async throws { try await daemon.start() }
    func setPowered(_ isPowered: Bool) async { for part in await parts { await part.setPowered(isPowered) } }
    func setBlocked(_ isBlocked: Bool) async { for part in await parts { await part.setBlocked(isBlocked) } }
    func unplug() async { for part in await parts { await part.setPresent(false) } }
    func plug() async { for part in await parts { await part.setPresent(true) } }
}
