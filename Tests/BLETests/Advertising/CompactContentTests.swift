import BLE
import BLEProfiles
import BLESimulation
import Testing

/// The lists and tables of an advertisement behave as a set and a dictionary do.
@Suite struct CompactContentTests {
    /// Three with a 16-bit form, one with a 32-bit form, and three without either, of which one nearly has one.
    private static let uuids =
        [0, 1, 0x180F, 0x8000_0001].map { BluetoothUUID(UInt32($0)) } + [
            BluetoothUUID(high: 1, low: 2), BluetoothUUID(high: 2, low: 1),
            BluetoothUUID(high: 0x180F << 32 | 0x1001, low: 0x8000_0080_5F9B_34FB),
        ]

    @Test(arguments: 0..<200) func `a list of UUIDs is a set`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func random() -> [BluetoothUUID] {
            (0..<Int.random(in: 0...5, using: &generator)).map { _ in Self.uuids.randomElement(using: &generator)! }
        }
        let (one, other) = (random(), random())
        var list = UUIDList(one)
        #expect(list.set == Set(one) && list.count == Set(one).count && list.isEmpty == one.isEmpty)
        #expect(list == UUIDList(Set(one)) && list.hashValue == UUIDList(Set(one)).hashValue)
        #expect((list == UUIDList(other)) == (Set(one) == Set(other)))
        for uuid in Self.uuids { #expect(list.contains(uuid) == one.contains(uuid)) }
        #expect(list.isDisjoint(with: Set(other)) == Set(one).isDisjoint(with: other))
        var same = list
        list.formUnion(other)
        same.formUnion(UUIDList(other))
        #expect(list.set == Set(one).union(other) && same == list)
    }

    @Test func `a UUID in its long form is the same element`() {
        let long = BluetoothUUID(high: 0x180F << 32 | 0x1000, low: 0x8000_0080_5F9B_34FB)
        #expect(UUIDList([long, .battery]).count == 1 && UUIDList([long]) == [.battery])
    }

    @Test func `a packet of hundreds of structures is decoded`() throws {
        let uuids = (0..<400).map { BluetoothUUID(UInt32(0xFF00 - $0)) }
        let packet = AdvertisingData(
            structures: uuids.map { uuid in
                let number = uuid.short32!
                return AdvertisingStructure(type: 0x16, bytes: [UInt8(number & 0xFF), UInt8(number >> 8), 7])
            })
        let advertisement = try Advertisement(packet)
        #expect(advertisement.serviceData.count == 400 && advertisement.serviceData[uuids[399]] == [7])
    }

    @Test func `service data is changed one by one`() {
        var advertisement = Advertisement(serviceData: [.battery: [1]])
        let copy = advertisement
        advertisement.dataOfServices.set(.heartRate, [2])
        advertisement.dataOfServices.set(.battery, [3])
        #expect(advertisement.serviceData == [.battery: [3], .heartRate: [2]])
        #expect(copy.serviceData == [.battery: [1]])
    }

    @Test func `a known peripheral is shown with its properties`() {
        let known = KnownPeripheral(
            id: "F0:F1:F2:F3:F4:F5", advertisement: Advertisement(serviceUUIDs: [.heartRate]), isConnected: true)
        #expect(Mirror(reflecting: known).children.map(\.label) == ["id", "advertisement", "isConnected", "services"])
        #expect(Mirror(reflecting: known.id).children.map { "\($0.value)" } == ["F0:F1:F2:F3:F4:F5"])
    }

    @Test(arguments: 0..<200) func `a table of data is a dictionary`(_ seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func random() -> [(key: UInt16, bytes: [UInt8])] {
            (0..<Int.random(in: 0...4, using: &generator)).map { _ in
                (UInt16.random(in: 0...3, using: &generator), [UInt8.random(in: 0...3, using: &generator)])
            }
        }
        var (dictionary, table) = ([UInt16: [UInt8]](), DataTable<UInt16>())
        for (key, bytes) in random() {
            dictionary[key] = bytes
            table.set(key, bytes)
        }
        #expect(table.dictionary == dictionary)
        #expect(table.count == dictionary.count && table.isEmpty == dictionary.isEmpty)
        #expect(table == DataTable(dictionary) && table.hashValue == DataTable(dictionary).hashValue)
        for key in 0...4 as ClosedRange<UInt16> { #expect(table[key] == dictionary[key]) }
        let other = Dictionary(random()) { $1 }
        #expect((table == DataTable(other)) == (dictionary == other))
        table.merge(DataTable(other))
        dictionary.merge(other) { $1 }
        #expect(table == DataTable(dictionary))
    }

    @Test func `what is removed from an advertisement leaves nothing behind`() {
        var advertisement = Advertisement(
            serviceUUIDs: [.heartRate], manufacturerData: [1: [2]], serviceData: [.battery: [3]], deviceClass: 4,
            solicitedServiceUUIDs: [.battery], advertisingInterval: .milliseconds(100))
        (advertisement.serviceUUIDs, advertisement.solicitedServiceUUIDs) = ([], [])
        (advertisement.manufacturerData[1], advertisement.serviceData[.battery]) = (nil, nil)
        (advertisement.deviceClass, advertisement.advertisingInterval) = (nil, nil)
        #expect(advertisement == Advertisement() && advertisement.hashValue == Advertisement().hashValue)
    }
}
