import BLE
import Testing

@Suite struct AttributeSequenceTests {
    private static let type = BluetoothUUID(0xFF01)

    private let service = GATTService(
        uuid: BluetoothUUID(0xFF00), handle: 10,
        characteristics: [
            GATTCharacteristic(uuid: type, handle: 11, properties: .read),
            GATTCharacteristic(
                uuid: BluetoothUUID(0xFF02), handle: 13, properties: .notify,
                descriptors: [GATTDescriptor(uuid: BluetoothUUID(0x2902), handle: 15)]),
            GATTCharacteristic(uuid: type, handle: 16, properties: .write),
        ], includedHandles: [1, 20, 99])

    private var database: GATTDatabase {
        GATTDatabase(services: [
            GATTService(uuid: BluetoothUUID(0xFF10), handle: 1, isPrimary: false, characteristics: []), service,
            GATTService(uuid: BluetoothUUID(0xFF10), handle: 20, characteristics: []),
        ])
    }

    @Test(arguments: [Int.min, -1, 3, 4, Int.max]) func `an index beyond the ends is nil`(_ index: Int) {
        #expect(service[index] == nil)
        #expect(database[index] == nil)
        #expect(service[1]?[index] == nil)
    }

    @Test func `each level is a sequence in order of handles`() {
        #expect(database.flatMap { $0 }.flatMap { $0 }.map(\.handle) == [15])
        #expect(service.map(\.handle) == [11, 13, 16])
        #expect((0..<3).map { service[$0]?.handle } == [11, 13, 16])
        #expect((service.first?.handle, service.last?.handle) == (11, 16))
        #expect((service.count, service.isEmpty, database.first?.isEmpty) == (3, false, true))
    }

    @Test func `attributes are found by type and by handle`() {
        #expect(service[Self.type]?.handle == 11)
        #expect(service[all: Self.type].map(\.handle) == [11, 16])
        #expect(service[all: BluetoothUUID(0xBEEF)] == [])
        #expect(service[handle: 16]?.properties == .write)
        #expect(service[handle: 12] == nil)
        #expect(service[1]?[BluetoothUUID(0x2902)]?.handle == 15)
    }

    @Test func `a characteristic's own key finds no other`() throws {
        for characteristic in service {
            #expect(characteristic.key.handle == characteristic.handle)
            #expect(characteristic.key.characteristic == characteristic.uuid)
        }
    }

    @Test func `included services are those of the database`() {
        #expect(database.includedServices(of: service).map(\.handle) == [1, 20])
        #expect(database.includedServices(of: database.services[0]) == [])
    }
}
