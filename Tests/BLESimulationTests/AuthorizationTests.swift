import BLE
import BLESimulation
import BLETestSupport
import Testing

/// A system that does not let the program use Bluetooth.
@Suite(.hangLimit) struct AuthorizationTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))

    private static let tank = PeripheralDefinition(
        advertisement: Advertisement(localName: "Tank", rssi: -50),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [CharacteristicDefinition(level.uuid, [.read, .write, .notify], value: [7])])
        ])

    @Test func `without permission, neither a central nor a host exists`() async throws {
        let radio = SimulatedRadio(clock: ManualClock())
        await radio.setAuthorized(false)
        await expectError(.unauthorized) {
            _ = try await Central(backend: .simulated(radio), configuration: .quiet(clock: radio.clock))
        }
        await expectError(.unauthorized) {
            _ = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        }
        await radio.setAuthorized(true)
        await (try await Central(backend: .simulated(radio), configuration: .quiet(clock: radio.clock))).shutDown()
    }

    @Test func `a central that loses the permission keeps what it has, and its calls fail`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, device) = try await world.add(Self.tank)
        let (other, _) = try await world.add(Self.tank)
        let central = world.central
        try await peripheral.connect()
        var values = try await peripheral.notifications(Self.level).makeAsyncIterator()
        await world.radio.setAuthorized(false)
        await expectError(.unauthorized) { try await peripheral.read(Self.level) }
        await expectError(.unauthorized) { try await peripheral.write(1, to: Self.level) }
        await expectError(.unauthorized) { try await other.connect() }
        await expectError(.unauthorized) { try await peripheral.pair() }
        await expectError(.unauthorized) { try await peripheral.setTrusted(true) }
        await expectError(.unauthorized) { try await central.setPowered(false) }
        await expectError(.unauthorized) { for try await _ in central.discoveries() {} }
        await device.notify([9], from: Self.level.key)
        #expect(try await values.next() == 9)
        #expect(await central.adapterState == .poweredOn)
        await world.radio.setAuthorized(true)
        #expect(try await peripheral.read(Self.level) == 9)
        try await other.connect()
        await central.shutDown()
    }

    @Test func `a host that loses the permission serves on, and registers nothing more`() async throws {
        let world = try await SimulatedWorld()
        let host = try await PeripheralHost(backend: .simulated(world.radio), configuration: .quiet())
        try await host.withServed(Self.tank) { _ in
            await world.radio.setAuthorized(false)
            await expectError(.unauthorized) { try await host.serve(Self.tank) }
            await world.radio.setAuthorized(true)
            let remote = try await world.central.find()
            #expect(try await remote.read(Self.level) == 7)
        }
        await host.shutDown()
        await world.central.shutDown()
    }
}
