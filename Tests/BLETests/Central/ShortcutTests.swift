import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Small programs, which do not keep a peripheral.
@Suite(.hangLimit) struct ShortcutTests {
    private let world: SimulatedWorld
    private let level = Characteristic<UInt8>(BluetoothUUID(0x2A19), service: BluetoothUUID(0x180F))
    private let brightness = Characteristic<[UInt8]>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))

    private struct Lamp: Profile {
        static let serviceUUID = BluetoothUUID(0xFF00)
        static var discovery: DiscoveryCriteria { .service(serviceUUID) && .name("Lamp 2") }
        let service: PeripheralService
    }

    init() async throws { world = try await SimulatedWorld() }

    @Test func `the one with the service is read, written and listened to`() async throws {
        _ = await world.radio.add(.battery(level: 42))
        _ = await world.radio.add(.lamp())
        _ = await world.radio.add(.heartRateStrap(beatsPerMinute: 61, batteryLevel: 42))
        try await world.asTimePasses {
            #expect(try await world.central.read(level) == 42)
            try await world.central.write([30], to: brightness)
            #expect(try await world.central.read(brightness) == [30])
            let beats = Characteristic<[UInt8]>(BluetoothUUID(0x2A37), service: BluetoothUUID(0x180D))
            for try await beat in try await world.central.notifications(beats) {
                #expect(beat[1] == 61)
                break
            }
        }
    }

    @Test func `without a service nothing is searched for`() async throws {
        await expectError(.invalidArgument) {
            try await world.central.read(Characteristic<UInt8>(BluetoothUUID(0x2A19)))
        }
    }

    @Test func `a profile says how its peripherals are recognized`() async throws {
        for number in 1...3 { _ = await world.radio.add(.lamp(name: "Lamp \(number)")) }
        let lamp = try await world.asTimePasses { try await world.central.first(Lamp.self) }
        let name = await world.central.knownPeripherals().first { $0.id == lamp.peripheral.id }?.advertisement.localName
        #expect(name == "Lamp 2")
    }
}
