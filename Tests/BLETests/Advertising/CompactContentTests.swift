import BLE
import BLEProfiles
import BLESimulation
import Testing

/// The lists and tables of an advertisement behave as a set and a dictionary do.
@Suite struct CompactContentTests {
    private static let uuids = (0..<6).map { BluetoothUUID(UInt32($0)) }

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
