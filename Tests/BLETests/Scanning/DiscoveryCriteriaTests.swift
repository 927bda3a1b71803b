import BLE
import Testing

@Suite struct DiscoveryCriteriaTests {
    private static let heartRate = BluetoothUUID(0x180D)
    private static let battery = BluetoothUUID(0x180F)

    @Test func `any lets everything through`() {
        #expect(DiscoveryCriteria.any.matches(Advertisement()))
        #expect(DiscoveryCriteria.any.matches(Advertisement(rssi: -127, serviceUUIDs: [Self.battery])))
    }

    @Test func `one of the services is enough`() {
        let criteria = DiscoveryCriteria(services: [Self.heartRate, Self.battery])
        #expect(criteria.matches(Advertisement(serviceUUIDs: [Self.battery, BluetoothUUID(0x1800)])))
        #expect(!criteria.matches(Advertisement(serviceUUIDs: [BluetoothUUID(0x1800)])))
        #expect(!criteria.matches(Advertisement()))
    }

    @Test func `service data does not count as an advertised service`() {
        #expect(!DiscoveryCriteria.service(Self.battery).matches(Advertisement(serviceData: [Self.battery: [90]])))
    }

    @Test(arguments: [(-79, true), (-80, true), (-81, false), (nil, false)] as [(Int?, Bool)])
    func `the minimum strength is included, and unknown strength is too weak`(_ rssi: Int?, _ matches: Bool) {
        #expect(DiscoveryCriteria(minimumRSSI: -80).matches(Advertisement(rssi: rssi)) == matches)
    }

    @Test func `everything that is given must hold`() {
        let criteria = DiscoveryCriteria(services: [Self.battery], minimumRSSI: -80)
        #expect(criteria.matches(Advertisement(rssi: -60, serviceUUIDs: [Self.battery])))
        #expect(!criteria.matches(Advertisement(rssi: -90, serviceUUIDs: [Self.battery])))
        #expect(!criteria.matches(Advertisement(rssi: -60, serviceUUIDs: [Self.heartRate])))
    }

    @Test func `services that are combined must all be advertised`() {
        let criteria: DiscoveryCriteria = .service(Self.heartRate) && .service(Self.battery)
        #expect(criteria.matches(Advertisement(serviceUUIDs: [Self.heartRate, Self.battery])))
        #expect(!criteria.matches(Advertisement(serviceUUIDs: [Self.battery])))
    }

    @Test func `every kind of criterion narrows the combination`() {
        let advertisement = Advertisement(
            localName: "Strap 7", rssi: -50, serviceUUIDs: [Self.heartRate], manufacturerData: [0x004C: [0x02, 0x15]],
            serviceData: [Self.battery: [90]], deviceClass: 0x240404)
        let kinds: [(holds: DiscoveryCriteria, fails: DiscoveryCriteria)] = [
            (.service(Self.heartRate), .service(Self.battery)),
            (.serviceData(Self.battery), .serviceData(Self.heartRate)),
            (.serviceData(Self.battery, [90]), .serviceData(Self.battery, [91])),
            (.manufacturer(0x004C), .manufacturer(0x4C00)),
            (.manufacturer(0x004C, [0x02]), .manufacturer(0x004C, [0x4C, 0x00])),
            (.name("Strap 7"), .name("Strap")), (.name(containing: "rap"), .name(containing: "RAP")),
            (.rssi(atLeast: -80), .rssi(atLeast: -40)), (.rssi(-60...(-50)), .rssi(-127...(-51))),
            (.custom { $0.txPower == nil }, .custom { $0.txPower != nil }),
        ]
        let all = kinds.map(\.holds).reduce(.any) { $0 && $1 }
        #expect(all.matches(advertisement))
        for kind in kinds { #expect(!(all && kind.fails).matches(advertisement)) }
        var other = advertisement
        other.isConnectable = false
        #expect(!(all && .connectable).matches(other))
        other = advertisement
        other.deviceClass = nil
        #expect(all.matches(other))
        #expect(!(all && .transport(.classic)).matches(other))
    }

    @Test(arguments: [(nil, true), (true, true), (false, false)] as [(Bool?, Bool)])
    func `only a peripheral that is known not to be connectable is left out`(_ isConnectable: Bool?, _ matches: Bool) {
        #expect(DiscoveryCriteria.connectable.matches(Advertisement(isConnectable: isConnectable)) == matches)
    }

    @Test(arguments: [(-80, true), (-81, false), (20, true), (127, false), (nil, false)] as [(Int?, Bool)])
    func `the window's ends are included, and 127 is not a strength`(_ rssi: Int?, _ matches: Bool) {
        #expect(DiscoveryCriteria.rssi(-80...20).matches(Advertisement(rssi: rssi)) == matches)
        #expect(DiscoveryCriteria.rssi(atLeast: -80).matches(Advertisement(rssi: rssi)) == matches)
    }

    @Test func `a strength of 127 is unknown, from any source`() {
        #expect(Advertisement(rssi: 127).rssi == nil)
        var advertisement = Advertisement(rssi: -50)
        advertisement.rssi = 127
        #expect(advertisement.rssi == nil)
    }

    @Test func `a peripheral without a name does not match a name`() {
        #expect(!DiscoveryCriteria.name("").matches(Advertisement()))
        #expect(!DiscoveryCriteria.name(containing: "a").matches(Advertisement()))
    }

    @Test func `data that is there but empty is there`() {
        #expect(DiscoveryCriteria.serviceData(Self.battery).matches(Advertisement(serviceData: [Self.battery: []])))
        #expect(DiscoveryCriteria.manufacturer(1).matches(Advertisement(manufacturerData: [1: []])))
    }
}
