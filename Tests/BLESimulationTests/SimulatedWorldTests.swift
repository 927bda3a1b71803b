import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// A world with more than one central.
@Suite(.hangLimit) struct SimulatedWorldTests {
    @Test func `two centrals find the host of a world, each as another device`() async throws {
        let world = try await SimulatedWorld()
        let host = try await world.makeHost()
        let other = try await world.makeCentral()
        let readers = SharedValue<Set<DeviceID>>([])
        let level = CharacteristicDefinition(
            BluetoothUUID(0x2A19), .read,
            onRead: { request in
                _ = readers.change { $0.insert(request.central) }
                return [90]
            })
        let battery = PeripheralDefinition(
            advertisement: Advertisement(localName: "Battery", serviceUUIDs: [BluetoothUUID(0x180F)]),
            services: [ServiceDefinition(BluetoothUUID(0x180F), characteristics: [level])])
        let serving = Task { try await host.serve(battery) }
        let levels = try await world.asTimePasses {
            async let first = world.central.read(.batteryLevel)
            async let second = other.read(.batteryLevel)
            return try await [first, second]
        }
        #expect(levels == [90, 90])
        #expect(readers.value.count == 2)
        serving.cancel()
        _ = await serving.result
        await other.shutDown()
        await host.shutDown()
        await world.central.shutDown()
    }

    @Test func `a peripheral is added while the scan of another central begins`() async throws {
        let world = try await SimulatedWorld()
        let other = try await world.makeCentral()
        let scan = Task { for try await _ in other.discoveries() {} }
        for _ in 0..<3 { _ = try await world.add(.heartRateStrap()) }
        scan.cancel()
        await expectError(.cancelled) { try await scan.value }
        await other.shutDown()
        await world.central.shutDown()
    }

    @Test func `a central on another adapter goes on when the first adapter is switched off`() async throws {
        let world = try await SimulatedWorld()
        await world.radio.addAdapter("hci1")
        let other = try await world.makeCentral(adapter: "hci1")
        let (peripheral, strap) = try await world.add(.heartRateStrap())
        let seen = try await world.asTimePasses { try await other.first(matching: .id(strap.id)).peripheral }
        await world.radio.setPowered(false)
        await expectError(.poweredOff) { try await peripheral.connect() }
        #expect(try await seen.read(.batteryLevel) == 90)
        await other.shutDown()
        await world.central.shutDown()
    }
}
