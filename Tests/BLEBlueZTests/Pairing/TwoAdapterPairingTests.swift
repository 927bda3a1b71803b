import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Pairings of a central with two adapters, which have a connection and an agent each. bluetoothd asks one of them for
/// the devices of both.
@Suite(.startsProcesses, .hangLimit)
struct TwoAdapterPairingTests {
    private struct User: PairingDelegate {
        let asked = SharedValue<[Peripheral.ID]>([])
        let ended = SharedValue<[Peripheral.ID]>([])
        /// Whether it does not answer.
        let isAway: Bool
        private let clock = ManualClock()

        init(isAway: Bool = false) { self.isAway = isAway }

        func enterPasskey(for peripheral: Peripheral) async -> Passkey? {
            asked.change { $0.append(peripheral.id) }
            if isAway { try? await clock.sleep(for: .seconds(1)) }
            return Passkey(123_456)
        }

        func promptEnded(for peripheral: Peripheral) async { ended.change { $0.append(peripheral.id) } }
    }

    /// A lock that only one adapter hears, and a battery that only the other one hears.
    private struct World {
        let bluetooth: BlueZWorld
        let central: Central
        let lock: Peripheral
        let grip: SimulatedPeripheral
        private let scan: Task<Void, any Error>

        init(_ user: User, lock adapter: String, isDefaultAgent: Bool) async throws {
            bluetooth = try await BlueZWorld()
            await bluetooth.daemon.addAdapter("hci1")
            let battery = await bluetooth.radio.add(.battery())
            grip = await bluetooth.radio.add(.lock(), pairing: .display(Passkey(123_456)!))
            await battery.setStrength(nil, adapter: adapter)
            await grip.setStrength(nil, adapter: adapter == "hci0" ? "hci1" : "hci0")
            let radios = ["hci0", "hci1"].map { [bluetooth] adapter in
                Radio.bluez(
                    adapter: adapter, address: bluetooth.address, channelSockets: bluetooth.daemon.channelSockets)
            }
            central = try await Central(
                radios: radios,
                configuration: .quiet(
                    pairing: PairingBehavior(
                        capability: .keyboardOnly, delegate: user, isDefaultAgent: isDefaultAgent)))
            let (first, second) = (central.peripheral(battery.id), central.peripheral(grip.id))
            lock = second
            scan = Task { [central] in for try await _ in central.discoveries() {} }
            await until { await first.radioPaths.contains { $0.age != nil } }
            await until { await second.radioPaths.contains { $0.age != nil } }
            // Unless another one asks for it, the first agent is the default.
            try await first.connect()
        }

        func end() async {
            scan.cancel()
            await central.shutDown()
        }
    }

    @Test(arguments: ["hci0", "hci1"], [false, true])
    func `a pairing that a read begins is answered, whichever adapter has the link`(
        _ adapter: String, isDefaultAgent: Bool
    ) async throws {
        let user = User()
        let world = try await World(user, lock: adapter, isDefaultAgent: isDefaultAgent)
        try await world.lock.connect()
        #expect(await world.lock.radio == adapter)
        #expect(await world.bluetooth.daemon.agentOwners.count == 2)
        #expect(try await world.lock.read(.lockSealed) == [2])
        #expect(user.asked.value == [world.lock.id])
        #expect(await world.grip.isPaired)
        await world.end()
    }

    @Test func `a prompt of the other adapter ends with its link`() async throws {
        let user = User(isAway: true)
        let world = try await World(user, lock: "hci1", isDefaultAgent: false)
        try await world.lock.connect()
        let read = Task { try await world.lock.read(.lockSealed) }
        try await user.asked.until { $0.count == 1 }
        await world.grip.dropLink()
        _ = await read.result
        try await user.ended.until { $0 == [world.lock.id] }
        await world.end()
    }
}
