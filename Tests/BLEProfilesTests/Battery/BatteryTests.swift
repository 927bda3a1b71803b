import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct BatteryTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    @Test(arguments: [([0], 0), ([1], 1), ([99], 99), ([100], 100)] as [([UInt8], UInt8)])
    func `a level is a byte up to 100`(_ bytes: [UInt8], _ level: UInt8) throws {
        #expect(try Characteristic.batteryLevel.coding.decode(bytes) == level)
    }

    @Test(arguments: [[], [101], [255], [128, 50], [50, 1]] as [[UInt8]])
    func `any other value is not a level`(_ bytes: [UInt8]) async {
        await expectError(.invalidValue) { try Characteristic.batteryLevel.coding.decode(bytes) }
    }

    @Test func `the level is read`() async throws {
        let (thing, _) = try await world.add(.battery(level: 42))
        #expect(try await Battery(thing).level() == 42)
    }

    @Test func `the error for an invalid level names the characteristic`() async throws {
        let (thing, grip) = try await world.add(.battery(level: 101))
        let error = await expectError(.invalidValue) { try await Battery(thing).level() }
        #expect(error?.peripheral == grip.id)
        #expect(error?.service == .battery)
        #expect(error?.characteristic == BluetoothUUID(0x2A19))
    }

    @Test func `levels come as they change`() async throws {
        let (thing, grip) = try await world.add(.battery(level: 42))
        var levels = try await Battery(thing).levels().makeAsyncIterator()
        for level in [41, 101, 40] as [UInt8] { await grip.notify([level], from: BluetoothUUID(0x2A19)) }
        #expect(try await levels.next() == 41)
        await expectError(.invalidValue) { try await levels.next() }
        #expect(try await levels.next() == 40)
    }

    @Test func `a battery that does not notify says so`() async throws {
        let definition = PeripheralDefinition(
            advertisement: Advertisement(rssi: -50),
            services: [
                ServiceDefinition(
                    .battery, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), .read, value: [7])])
            ])
        let (thing, _) = try await world.add(definition)
        #expect(try await Battery(thing).level() == 7)
        await expectError(.notSupported) { try await Battery(thing).levels() }
    }
}
