import BLETestSupport
import Testing

@testable import BLE

@Suite struct GATTDatabaseTests {
    private static let battery = BluetoothUUID(0x180F)
    private static let level = BluetoothUUID(0x2A19)
    private static let status = BluetoothUUID(0x2BED)
    private static let vendor = BluetoothUUID(0xFF00)

    /// Two battery services, the second with two levels, and a service of its own with a level.
    private let database = GATTDatabase(services: [
        GATTService(
            uuid: battery, handle: 1,
            characteristics: [GATTCharacteristic(uuid: level, handle: 2, properties: .read)]),
        GATTService(
            uuid: battery, handle: 10,
            characteristics: [
                GATTCharacteristic(uuid: level, handle: 11, properties: .notify),
                GATTCharacteristic(uuid: level, handle: 14, properties: [.read, .notify]),
                GATTCharacteristic(uuid: status, handle: 17, properties: .read),
            ]),
        GATTService(
            uuid: vendor, handle: 20, isPrimary: false,
            characteristics: [GATTCharacteristic(uuid: level, handle: 21, properties: .write)]),
    ])

    @Test(
        arguments: [
            (CharacteristicKey(characteristic: level), 2),
            (CharacteristicKey(service: battery, characteristic: level), 2),
            (CharacteristicKey(service: vendor, characteristic: level), 21),
            (CharacteristicKey(service: battery, characteristic: status), 17),
            (CharacteristicKey(characteristic: status), 17),
            (CharacteristicKey(service: battery, characteristic: level, handle: 14), 14),
            (CharacteristicKey(characteristic: level, handle: 21), 21),
            (CharacteristicKey(characteristic: level, handle: 11), 11),
        ] as [(CharacteristicKey, UInt16)])
    func `a key finds the first that fits, in order of handles`(_ key: CharacteristicKey, _ handle: UInt16) throws {
        let found = try database.find(key)
        #expect(found.characteristic.handle == handle)
        #expect(found.service.characteristics.contains(found.characteristic))
    }

    @Test func `a service that is missing is named`() async {
        let missing = BluetoothUUID(0x180D)
        let error = await expectError(.serviceNotFound) {
            try database.find(CharacteristicKey(service: missing, characteristic: Self.level))
        }
        #expect(error?.missingUUIDs == [missing])
        #expect(error?.service == missing)
        #expect(error?.characteristic == Self.level)
        #expect(error?.isRetryable == false)
    }

    @Test(arguments: [
        CharacteristicKey(service: vendor, characteristic: status),
        CharacteristicKey(characteristic: BluetoothUUID(0x2A37)),
        CharacteristicKey(service: vendor, characteristic: level, handle: 2),
        CharacteristicKey(characteristic: level, handle: 17),
        CharacteristicKey(characteristic: level, handle: 1),
    ])
    func `a characteristic that is missing is named`(_ key: CharacteristicKey) async {
        let error = await expectError(.characteristicNotFound) { try database.find(key) }
        #expect(error?.missingUUIDs == [key.characteristic])
        #expect(error?.service == key.service)
        #expect(error?.characteristic == key.characteristic)
        #expect(error?.isRetryable == false)
    }

    @Test func `without a service only the characteristic is missing`() async {
        let empty = GATTDatabase(services: [])
        await expectError(.characteristicNotFound) { try empty.find(CharacteristicKey(characteristic: Self.level)) }
        await expectError(.serviceNotFound) {
            try empty.find(CharacteristicKey(service: Self.battery, characteristic: Self.level))
        }
    }

    @Test func `services and characteristics are found by type, nil when absent`() {
        #expect(database[Self.battery]?.handle == 1)
        #expect(database[Self.vendor]?.isPrimary == false)
        #expect(database[Self.level] == nil)
        #expect(database[Self.battery]?[Self.level]?.handle == 2)
        #expect(database[Self.battery]?[Self.status] == nil)
    }

    @Test func `a database is a collection of its services`() {
        #expect(database.map(\.handle) == [1, 10, 20])
        #expect(database.count == 3)
        #expect(database[1]?.characteristics.map(\.handle) == [11, 14, 17])
        #expect(database.last?.uuid == Self.vendor)
        #expect(database.filter(\.isPrimary).count == 2)
    }

    @Test func `each property has one bit and one name`() {
        let names = CharacteristicProperties.names
        #expect(names.map(\.property.rawValue) == (0..<10).map { 1 << $0 })
        #expect(Set(names.map(\.name)).count == names.count)
    }
}
