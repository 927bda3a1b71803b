import BLE
import BLEESPHome
import BLEProfiles
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// The bytes that a proxy rebuilds of an advertisement, and the queue in which they wait.
@Suite(.hangLimit)
struct RawAdvertisementTests {
    private func raw(_ advertisement: Advertisement) async throws -> RawAdvertisement {
        let central = try await Central(backend: .simulated(SimulatedRadio()), configuration: .quiet())
        let discovery = Discovery(peripheral: central.peripheral("C0:00:00:00:00:07"), advertisement: advertisement)
        let raw = try #require(RawAdvertisement(discovery))
        await central.shutDown()
        return raw
    }

    private static let service = BluetoothUUID("6e400001-b5a3-f393-e0a9-e50e24dcca9e")!

    @Test func `all that bluetoothd reports is rebuilt, and read again as the same`() async throws {
        var advertisement = Advertisement(
            localName: "Strap", rssi: -60, txPower: 4, serviceUUIDs: [.heartRate, Self.service],
            manufacturerData: [0x004C: [2, 0x15]], serviceData: [BluetoothUUID(0xFCD2): [0x40, 1]],
            appearance: Appearance(rawValue: 833), addressType: .public,
            flags: [.generalDiscoverable, .classicNotSupported])
        let raw = try await raw(advertisement)
        #expect(raw.address == 0xC000_0000_0007)
        #expect(raw.rssi == -60)
        #expect(raw.addressType == 0)
        #expect(Array(raw.data.prefix(7)) == [2, 1, 6, 3, 3, 0x0D, 0x18])
        var heard = HeardPeripherals()
        let received = heard.receive(raw)?.advertisement
        let again = try #require(received)
        // What was received includes the structures themselves.
        advertisement.structures = again.structures
        #expect(again == advertisement)
        #expect(again.rssi == -60)
    }

    @Test func `what fits into no structure is omitted, and the rest is not`() async throws {
        let services = Set((0..<40).map { BluetoothUUID(high: 0x6E40_0000_B5A3_F393, low: $0) })
        let advertisement = Advertisement(
            localName: "Long", serviceUUIDs: services.union([.battery]),
            manufacturerData: [1: [UInt8](repeating: 1, count: 300), 2: [3]],
            serviceData: [BluetoothUUID(0xFCD2): [UInt8](repeating: 2, count: 250)])
        let raw = try await raw(advertisement)
        #expect(raw.data.count <= 1650)
        // The strength is not known: the weakest, not the strongest.
        #expect(raw.rssi == -127)
        var heard = HeardPeripherals()
        let received = heard.receive(raw)?.advertisement
        let again = try #require(received)
        #expect(again.rssi == nil)
        #expect(again.localName == "Long")
        #expect(again.serviceUUIDs == advertisement.serviceUUIDs)
        #expect(again.manufacturerData == [2: [3]])
        #expect(again.serviceData == advertisement.serviceData)
    }

    @Test func `the oldest advertisements are dropped and counted`() {
        var queue = AdvertisementQueue()
        let count = AdvertisementQueue.capacity + 10
        for number in 0..<count {
            queue.append(RawAdvertisement(address: UInt64(number), rssi: 0, addressType: 0, data: []))
        }
        #expect(queue.count == AdvertisementQueue.capacity)
        #expect(queue.droppedCount == 10)
        let first = queue.take(2).map(\.address)
        #expect(first == [10, 11])
        #expect(queue.count == AdvertisementQueue.capacity - 2)
        let rest = queue.take(count)
        #expect(rest.count == AdvertisementQueue.capacity - 2)
        queue.append(RawAdvertisement(address: 1, rssi: 0, addressType: 0, data: []))
        queue.removeAll()
        let none = queue.take(1)
        #expect(queue.count == 0)
        #expect(none.isEmpty)
    }
}
