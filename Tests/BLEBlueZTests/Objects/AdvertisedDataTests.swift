import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Advertised data, over the bus.
@Suite(.startsProcesses, .hangLimit) struct AdvertisedDataTests {
    @Test func `flags and structures arrive that only an experimental bluetoothd shows`() async throws {
        let world = try await BlueZWorld()
        let structures = [
            AdvertisingStructure(type: 0x1C, bytes: [2]), AdvertisingStructure(type: 0x26, bytes: [1, 2, 3]),
        ]
        _ = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(
                    localName: "Thermometer", rssi: -50, manufacturerData: [0x0499: [5]],
                    flags: [.generalDiscoverable, .classicNotSupported],
                    solicitedServiceUUIDs: [BluetoothUUID(0x1805)], advertisingInterval: .milliseconds(100),
                    structures: structures),
                advertisingInterval: .milliseconds(20), services: []))
        let central = try await world.makeCentral()
        var found: Advertisement?
        for try await discovery in central.discoveries(matching: .name("Thermometer")) {
            found = discovery.advertisement
            break
        }
        await central.shutDown()
        let advertisement = try #require(found)
        #expect(advertisement.flags == [.generalDiscoverable, .classicNotSupported])
        #expect(advertisement.solicitedServiceUUIDs == [BluetoothUUID(0x1805)])
        #expect(advertisement.advertisingInterval == .milliseconds(100))
        #expect(advertisement.manufacturerData == [0x0499: [5]])
        #expect(advertisement.structures.map(\.type) == [0x14, 0x1A, 0x1C, 0x26])
        #expect(Array(advertisement.structures.suffix(2)) == structures)
    }
}
