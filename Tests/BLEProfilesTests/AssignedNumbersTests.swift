import BLE
import BLEProfiles
import Testing

@Suite struct AssignedNumbersTests {
    /// What could have a name: the blocks of services, declarations, descriptors and characteristics.
    private static let assigned = (UInt32(0x1800)...0x2CFF).map(BluetoothUUID.init(_:))

    @Test func `every service that has a name is found by it`() {
        let named = Self.assigned.filter { AssignedNumbers.serviceName($0) != nil }
        #expect(named.count >= 30)
        #expect(named.allSatisfy { $0.short.map { 0x1800..<0x1900 ~= $0 } ?? false })
        for uuid in named { #expect(AssignedNumbers.service(AssignedNumbers.serviceName(uuid) ?? "") == uuid) }
        #expect(Set(named.compactMap(AssignedNumbers.serviceName)).count == named.count)
    }

    @Test func `every characteristic that has a name is found by it`() {
        let named = Self.assigned.filter { AssignedNumbers.characteristicName($0) != nil }
        #expect(named.count >= 50)
        #expect(named.allSatisfy { $0.short.map { 0x2A00... ~= $0 } ?? false })
        for uuid in named {
            #expect(AssignedNumbers.characteristic(AssignedNumbers.characteristicName(uuid) ?? "") == uuid)
        }
        #expect(Set(named.compactMap(AssignedNumbers.characteristicName)).count == named.count)
    }

    @Test func `no two descriptors have the same name`() {
        let names = Self.assigned.compactMap(AssignedNumbers.descriptorName)
        #expect(names.count >= 5)
        #expect(Set(names).count == names.count)
    }

    @Test func `names are lowercase words joined by dashes`() {
        let names = Self.assigned.flatMap {
            [
                AssignedNumbers.serviceName($0), AssignedNumbers.characteristicName($0),
                AssignedNumbers.descriptorName($0),
            ]
        }
        for name in names.compactMap({ $0 }) {
            #expect(name.utf8.allSatisfy { "abcdefghijklmnopqrstuvwxyz0123456789-".utf8.contains($0) }, "\(name)")
            #expect(BluetoothUUID(name) == nil, "\(name) would be taken for a UUID")
        }
    }

    @Test(
        arguments: [
            (0x1800, "generic-access"), (0x180A, "device-information"), (0x180D, "heart-rate"), (0x180F, "battery"),
            (0x1809, "health-thermometer"), (0x1810, "blood-pressure"), (0x1805, "current-time"),
            (0x181D, "weight-scale"),
            (0x1822, "pulse-oximeter"),
        ] as [(UInt32, String)])
    func `a well-known service has its name`(_ uuid: UInt32, _ name: String) {
        #expect(AssignedNumbers.serviceName(BluetoothUUID(uuid)) == name)
    }

    @Test(
        arguments: [
            (0x2A00, "device-name"), (0x2A19, "battery-level"), (0x2A37, "heart-rate-measurement"),
            (0x2A38, "body-sensor-location"), (0x2A39, "heart-rate-control-point"),
            (0x2A29, "manufacturer-name-string"),
            (0x2A50, "pnp-id"), (0x2A23, "system-id"),
        ] as [(UInt32, String)])
    func `a well-known characteristic has its name`(_ uuid: UInt32, _ name: String) {
        #expect(AssignedNumbers.characteristicName(BluetoothUUID(uuid)) == name)
    }

    @Test(arguments: [
        "heart-rate", "Heart-Rate", "heart rate", "HEART_RATE", "180d", "180D", "0x180D",
        "0000180d-0000-1000-8000-00805f9b34fb",
    ])
    func `a service is found by any spelling of its name or UUID`(_ text: String) {
        #expect(AssignedNumbers.service(text) == .heartRate)
    }

    @Test(arguments: ["", "heart", "heart-rate ", "heartrate", "heart-rate-measurement", "zz", "180"])
    func `what is neither a name nor a UUID is no service`(_ text: String) {
        #expect(AssignedNumbers.service(text) == nil)
    }

    @Test func `names of one kind are no names of another`() {
        #expect(AssignedNumbers.characteristic("battery") == nil)
        #expect(AssignedNumbers.characteristic("battery-level") == BluetoothUUID(0x2A19))
        #expect(AssignedNumbers.service("battery-level") == nil)
        #expect(AssignedNumbers.serviceName(BluetoothUUID(0x2A19)) == nil)
    }

    @Test func `a UUID that nobody assigned has no name, and stands for itself`() throws {
        let uuid = try #require(BluetoothUUID("00000001-9f34-11ee-8c90-0242ac120002"))
        #expect(AssignedNumbers.serviceName(uuid) == nil)
        #expect(AssignedNumbers.characteristicName(uuid) == nil)
        #expect(AssignedNumbers.descriptorName(uuid) == nil)
        #expect(AssignedNumbers.service(uuid.description) == uuid)
        #expect(AssignedNumbers.characteristic(uuid.description) == uuid)
    }
}
