import BLE
import Testing

@Suite struct DiscoveryCriteriaTests {
    private static let heartRate = BluetoothUUID(0x180D)
    private static let battery = BluetoothUUID(0x180F)

    @Test func `any lets everything through`() {
        #expect(DiscoveryCriteria.any.match(Advertisement()))
        #expect(DiscoveryCriteria.any.match(Advertisement(rssi: -127, serviceUUIDs: [Self.battery])))
    }

    @Test func `one of the services is enough`() {
        let criteria = DiscoveryCriteria(services: [Self.heartRate, Self.battery])
        #expect(criteria.match(Advertisement(serviceUUIDs: [Self.battery, BluetoothUUID(0x1800)])))
        #expect(!criteria.match(Advertisement(serviceUUIDs: [BluetoothUUID(0x1800)])))
        #expect(!criteria.match(Advertisement()))
    }

    @Test func `service data does not count as an advertised service`() {
        #expect(!DiscoveryCriteria.service(Self.battery).match(Advertisement(serviceData: [Self.battery: [90]])))
    }

    @Test(arguments: [(-79, true), (-80, true), (-81, false), (nil, false)] as [(Int?, Bool)])
    func `the minimum strength is included, and unknown strength is too weak`(_ rssi: Int?, _ matches: Bool) {
        #expect(DiscoveryCriteria(minimumRSSI: -80).match(Advertisement(rssi: rssi)) == matches)
    }

    @Test func `everything that is given must hold`() {
        let criteria = DiscoveryCriteria(services: [Self.battery], minimumRSSI: -80)
        #expect(criteria.match(Advertisement(rssi: -60, serviceUUIDs: [Self.battery])))
        #expect(!criteria.match(Advertisement(rssi: -90, serviceUUIDs: [Self.battery])))
        #expect(!criteria.match(Advertisement(rssi: -60, serviceUUIDs: [Self.heartRate])))
    }
}
