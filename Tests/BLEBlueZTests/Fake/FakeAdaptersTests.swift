import BLE
import BLEBlueZ
import BLEFakeBlueZ
import BLEProfiles
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Testing

/// A fake bluetoothd with several adapters, whose programs find each other, and services that change.
@Suite(.startsProcesses, .hangLimit)
struct FakeAdaptersTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))

    private static let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Served", serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [CharacteristicDefinition(output.key.characteristic, [.read, .notify], value: [9])])
        ])

    private func backend(_ world: BlueZWorld, _ adapter: String) -> BlueZCentral {
        .bluez(adapter: adapter, bus: world.bus.address)
    }

    @Test(arguments: [66, 82])
    func `what a program serves on one adapter, programs on two others find and use`(_ version: Int) async throws {
        let world = try await BlueZWorld(minorVersion: version)
        for name in ["hci1", "hci2"] { await world.daemon.addAdapter(name) }
        let host = try await PeripheralHost(
            backend: .bluez(adapter: "hci0", bus: world.bus.address), configuration: .quiet())
        var centrals: [Central] = []
        try await host.withServed(Self.definition) { served in
            var streams: [NotificationStream<[UInt8]>.AsyncIterator] = []
            for name in ["hci1", "hci2"] {
                let central = try await Central(backend: backend(world, name), configuration: .quiet())
                centrals.append(central)
                let remote = try await central.first(matching: .name("Served"), timeout: HangLimit.step).peripheral
                #expect(try await remote.read(Self.output) == [9])
                streams.append(try await remote.notifications(Self.output).makeAsyncIterator())
            }
            await until { await host.connectedCentrals.count == 2 }
            // An adapter does not receive itself.
            let own = try await Central(backend: backend(world, "hci0"), configuration: .quiet())
            #expect(await own.knownPeripherals().allSatisfy { $0.advertisement.localName != "Served" })
            await own.shutDown()
            try await served.notify([1], from: Self.output)
            for index in streams.indices { #expect(try await streams[index].next() == [1]) }
            await world.daemon.setPowered(false, adapter: "hci1")
            await until { await host.connectedCentrals.count == 1 }
            try await served.notify([2], from: Self.output)
            #expect(try await streams[1].next() == [2])
        }
        for central in centrals { await central.shutDown() }
        await host.shutDown()
    }

    @Test func `services that change keep the objects of those that do not`() async throws {
        let world = try await BlueZWorld()
        let lamp = await world.radio.add(Self.definition)
        let central = try await world.makeCentral()
        let remote = try await central.find(lamp.id)
        #expect(try await remote.read(Self.output) == [9])
        var values = try await remote.notifications(Self.output).makeAsyncIterator()
        let battery = ServiceDefinition(
            .battery, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A19), .read, value: [50])])
        await lamp.setServices(Self.definition.services + [battery])
        await until { (try? await remote.read(.batteryLevel)) == 50 }
        await lamp.notify([3], from: Self.output.key.characteristic)
        #expect(try await values.next() == [3])
        await lamp.setServices(Self.definition.services)
        await until {
            do {
                _ = try await remote.read(.batteryLevel)
                return false
            } catch {
                return true
            }
        }
        // As the new services have it.
        #expect(try await remote.read(Self.output) == [9])
        await central.shutDown()
    }
}
