import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// More peripherals than a bus allows calls.
@Suite(.startsProcesses, .hangLimit)
struct ManyPeripheralsTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0x2A19))

    /// Makes reads that the daemon does not answer, and cancels them.
    private func leaveReads(unanswered: Int, of peripheral: Peripheral, in world: BlueZWorld) async {
        await world.daemon.hang("ReadValue")
        for count in 1...unanswered {
            let reading = Task { try await peripheral.read(Self.level) }
            await until { await world.daemon.hungCount == count }
            reading.cancel()
            _ = await reading.result
        }
    }

    @Test func `a link on which nothing is answered is ended all the same`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.battery())
        let central = try await world.makeCentral()
        let peripheral = try await central.find(strap.id)
        let levels = try await peripheral.notifications(Self.level)
        await leaveReads(unanswered: 16, of: peripheral, in: world)
        try await peripheral.disconnect()
        #expect(await strap.isConnected == false)
        await world.daemon.release()
        await central.shutDown()
        _ = levels
    }

    @Test func `a write that waits behind unanswered reads is not sent when its time is up`() async throws {
        let world = try await BlueZWorld()
        let switchable = Characteristic<[UInt8]>(BluetoothUUID(0xFF01))
        let lamp = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Lamp", rssi: -40),
                services: [
                    .battery(level: 90),
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [CharacteristicDefinition(switchable.key.characteristic, .write)]),
                ]))
        let central = try await world.makeCentral()
        let peripheral = try await central.find(lamp.id)
        try await peripheral.connect()
        await leaveReads(unanswered: 16, of: peripheral, in: world)
        await expectError(.timedOut) {
            try await peripheral.write([1], to: switchable, timeout: .milliseconds(20))
        }
        await world.daemon.release()
        // Sent after calls that could have waited.
        try await peripheral.write([2], to: switchable)
        #expect(await world.daemon.calls["WriteValue"] == 1)
        await central.shutDown()
    }

    @Test func `a live link works beside 140 unsuccessful attempts to connect`() async throws {
        let world = try await BlueZWorld()
        let strap = await world.radio.add(.battery())
        var others: [SimulatedPeripheral] = []
        var rare = PeripheralDefinition.battery()
        rare.advertisingInterval = .seconds(3600)
        for _ in 0..<140 { others.append(await world.radio.add(rare)) }
        let central = try await world.makeCentral()
        var missing = Set((others + [strap]).map(\.id))
        for try await discovery in central.discoveries() {
            missing.remove(discovery.peripheral.id)
            if missing.isEmpty { break }
        }
        let peripheral = central.peripheral(strap.id)
        try await peripheral.connect()
        await world.daemon.hang("Connect")
        for other in others { try await central.peripheral(other.id).setConnectionPolicy(.maintained()) }
        await until { await world.daemon.hungCount == 32 }
        for _ in 0..<200 { #expect(try await peripheral.read(Self.level) > 0) }
        do {
            let levels = try await peripheral.notifications(Self.level)
            await strap.notify([42], from: Self.level.key.characteristic)
            for try await level in levels where level == 42 { break }
        }
        try await peripheral.disconnect()
        #expect(await strap.isConnected == false)
        #expect(await world.daemon.hungCount == 32)
        // Waiting calls get their turn.
        await world.daemon.release()
        for other in others { await until { await other.isConnected } }
        await central.shutDown()
    }
}
