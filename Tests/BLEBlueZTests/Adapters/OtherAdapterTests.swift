import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@testable import BLEFakeBlueZ
@testable import BlueZTestSupport

/// Devices that have an object on a second adapter, too, with the same address but independent links.
@Suite(.startsProcesses, .hangLimit)
struct OtherAdapterTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
    private static let one = Peripheral.ID(rawValue: "C0:00:00:00:0A:01")
    private static let other = Peripheral.ID(rawValue: "C0:00:00:00:0A:02")

    private let world: BlueZWorld

    init() async throws {
        world = try await BlueZWorld(minorVersion: 80)
        await world.daemon.addAdapter("hci1")
    }

    /// The second adapter receives the device, gets a link, loses it, and forgets the device.
    private func comeAndGo(_ id: Peripheral.ID) async {
        for isConnected in [false, true, false, nil] {
            await world.daemon.setDevice(id, onAdapter: "hci1", isConnected: isConnected)
        }
    }

    @Test func `a central that another adapter has received, lost and forgotten keeps its session`() async throws {
        let host = try await world.makeHost()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(serviceUUIDs: [.battery]),
            services: [
                ServiceDefinition(
                    .battery,
                    characteristics: [CharacteristicDefinition(Self.output.key.characteristic, .notify, value: [0])])
            ])
        try await host.withServed(definition) { served in
            let end = try await world.subscribe(Self.one)
            #expect(try await served.subscribers(of: Self.output) == [Self.one])
            await comeAndGo(Self.one)
            // A bluetoothd without the device does not end its requests, either.
            await world.daemon.setDevice(Self.other, onAdapter: "hci1", isConnected: true)
            // A later link is reported later.
            await world.daemon.pretend(Self.other, isConnected: true)
            await until { await host.connectedCentrals.contains(Self.other) }
            #expect(await host.connectedCentrals == [Self.one, Self.other])
            #expect(try await served.subscribers(of: Self.output) == [Self.one])
            try await served.notify([1], from: Self.output, to: Self.one)
            var packets = end.packets.makeAsyncIterator()
            #expect(await packets.next() == [1])
            end.close()
        }
        await host.shutDown()
    }

    @Test func `only devices with a link to the adapter in use are reported at the start`() async throws {
        await world.daemon.setDevice(Self.one, onAdapter: "hci1", isConnected: true)
        await world.daemon.pretend(Self.other, isConnected: true)
        let host = try await world.makeHost()
        #expect(await host.connectedCentrals == [Self.other])
        await host.shutDown()
    }

    @Test func `when another adapter comes into use, its centrals are reported, and those of the former one have left`()
        async throws
    {
        await world.daemon.setDevice(Self.one, onAdapter: "hci1", isConnected: true)
        let host = try await world.makeHost()
        await world.daemon.pretend(Self.other, isConnected: true)
        await until { await host.connectedCentrals == [Self.other] }
        await world.daemon.setPresent(false)
        await until { await host.connectedCentrals == [Self.one] }
        await host.shutDown()
    }

    @Test func `a peripheral that another adapter has received, lost and forgotten stays connected`() async throws {
        let battery = await world.radio.add(.battery())
        let central = try await world.makeCentral()
        let peripheral = try await central.find(battery.id)
        try await peripheral.connect()
        var events = await peripheral.connectionEvents().makeAsyncIterator()
        await comeAndGo(battery.id)
        #expect(try await peripheral.read(.batteryLevel) == 90)
        #expect(await world.daemon.calls["Connect"] == 1)
        await battery.disconnect()
        while let event = try await events.next() {
            guard case .disconnected = event else { continue }
            break
        }
        // No other end of a link was reported.
        #expect(await world.daemon.calls["Connect"] == 1)
        await central.shutDown()
    }
}
