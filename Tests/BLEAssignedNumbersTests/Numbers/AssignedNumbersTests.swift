import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

@Suite struct AssignedNumbersTests {
    @Test(arguments: AssignedNumber.Kind.allCases)
    func `numbers of a kind ascend, have names and are found by them`(_ kind: AssignedNumber.Kind) throws {
        let all = AssignedNumbers.all(kind)
        let numbers = try all.map { try #require($0.number) }
        #expect(!numbers.isEmpty)
        #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
        #expect(all.allSatisfy { !$0.name.isEmpty && $0.name.first != " " && $0.name.last != " " })
        for entry in stride(from: 0, to: all.count, by: max(1, all.count / 100)).map({ all[$0] })
        where kind != .appearance {
            #expect(AssignedNumbers.named(entry.name, [kind]).contains(entry), "\(entry)")
        }
    }

    @Test(
        arguments: [
            (.service, 70), (.characteristic, 500), (.descriptor, 20), (.declaration, 4), (.unit, 120),
            (.memberService, 650), (.organizationService, 15), (.serviceClass, 70), (.company, 3900),
            (.appearance, 280),
            (.advertisingDataType, 48),
        ] as [(AssignedNumber.Kind, Int)])
    func `nothing that was published is left out`(_ kind: AssignedNumber.Kind, _ count: Int) {
        #expect(AssignedNumbers.all(kind).count >= count)
    }

    @Test func `no UUID stands for two things, and each is found by its UUID`() throws {
        let all = AssignedNumber.Kind.allCases.filter(\.isUUID).flatMap(AssignedNumbers.all)
        #expect(Set(all.map(\.uuid)).count == all.count)
        for entry in all {
            let uuid = try #require(entry.uuid)
            #expect(AssignedNumbers.assignment(of: uuid) == entry)
            #expect(uuid.name == entry.name)
        }
    }

    @Test func `a number is found in each kind that has it`() {
        #expect(
            AssignedNumbers.numbered(0x0003).map(\.description) == [
                "protocol 0003 RFCOMM", "company 0x0003 IBM Corp.",
                "advertising-data-type 0x03 Complete List of 16-bit Service or Service Class UUIDs",
            ])
        #expect(AssignedNumbers.numbered(0x0003, [.company]).map(\.name) == ["IBM Corp."])
        #expect(AssignedNumbers.numbered(0x0341, [.appearance]).map(\.name) == ["Heart Rate Sensor: Heart Rate Belt"])
        #expect(AssignedNumbers.numbered(0xFFFF).isEmpty)
    }

    @Test func `every company and every type of advertising data is found by its number`() throws {
        for company in AssignedNumbers.all(.company) {
            #expect(AssignedNumbers.company(try #require(company.number)) == company.name)
        }
        for type in AssignedNumbers.all(.advertisingDataType) {
            #expect(AssignedNumbers.advertisingDataType(UInt8(try #require(type.number))) == type.name)
        }
    }

    @Test(arguments: [AssignedNumber.Kind.service, .characteristic, .descriptor])
    func `a name of GATT means one attribute and no UUID`(_ kind: AssignedNumber.Kind) {
        for entry in AssignedNumbers.all(kind) {
            #expect(AssignedNumbers.named(entry.name, [kind]) == [entry])
            #expect(BluetoothUUID(entry.name) == nil, "\(entry.name) would be taken for a UUID")
        }
    }

    @Test(
        arguments: [
            (0x1800, .service, "GAP"), (0x180A, .service, "Device Information"), (0x180D, .service, "Heart Rate"),
            (0x185F, .service, "Generic Voice Assistant"), (0x2A00, .characteristic, "Device Name"),
            (0x2A37, .characteristic, "Heart Rate Measurement"), (0x2A50, .characteristic, "PnP ID"),
            (0x2B8C, .characteristic, "CO2 Concentration"), (0x2803, .declaration, "Characteristic"),
            (0x2902, .descriptor, "Client Characteristic Configuration"), (0x2700, .unit, "unitless"),
            (0x272F, .unit, "Celsius temperature (degree Celsius)"), (0xFEAA, .memberService, "Google LLC"),
            (0xFFF6, .organizationService, "Matter Profile ID"), (0x1101, .serviceClass, "SerialPort"),
            (0x0003, .protocol, "RFCOMM"), (0x2ACA, .objectType, "Unspecified"),
        ] as [(UInt32, AssignedNumber.Kind, String)])
    func `a UUID has its name and kind`(_ uuid: UInt32, _ kind: AssignedNumber.Kind, _ name: String) {
        let assignment = AssignedNumbers.assignment(of: BluetoothUUID(uuid))
        #expect(assignment?.kind == kind)
        #expect(assignment?.name == name)
    }

    @Test func `companies, units and types of advertising data have names`() {
        #expect(AssignedNumbers.company(0x0000) == "Ericsson AB")
        #expect(AssignedNumbers.company(0x004C) == "Apple, Inc.")
        #expect(AssignedNumbers.company(0x0059) == "Nordic Semiconductor ASA")
        #expect(AssignedNumbers.company(0xFFFF) == nil)
        #expect(AssignedNumbers.unit(BluetoothUUID(0x2724)) == "pressure (pascal)")
        #expect(AssignedNumbers.unit(.heartRate) == nil)
        #expect(AssignedNumbers.advertisingDataType(0x09) == "Complete Local Name")
        #expect(AssignedNumbers.advertisingDataType(0xFF) == "Manufacturer Specific Data")
        #expect(AssignedNumbers.advertisingDataType(0x00) == nil)
    }

    @Test(arguments: [
        "heart-rate", "Heart-Rate", "heart rate", "HEART_RATE", "heartrate", " Heart Rate ", "180d", "180D", "0x180D",
        "0000180d-0000-1000-8000-00805f9b34fb",
    ])
    func `a service is found by any spelling of its name or UUID`(_ text: String) {
        #expect(AssignedNumbers.service(text) == .heartRate)
    }

    @Test(arguments: ["", "-", "heart", "rate", "heart-rates", "heart-rate-measurement", "zz", "180"])
    func `a text that is neither a name nor a UUID is not a service`(_ text: String) {
        #expect(AssignedNumbers.service(text) == nil)
    }

    @Test func `names of one kind are no names of another`() {
        #expect(AssignedNumbers.characteristic("battery") == nil)
        #expect(AssignedNumbers.characteristic("battery-level") == BluetoothUUID(0x2A19))
        #expect(AssignedNumbers.service("battery-level") == nil)
        #expect(AssignedNumbers.named("temperature").map(\.kind) == [.characteristic])
    }

    @Test func `what contains all words is found, of all kinds or of some`() {
        let all = AssignedNumbers.containing(["rate", "HEART"])
        #expect(all.contains { $0.uuid == .heartRate })
        #expect(all.contains { $0.kind == .appearance && $0.name == "Heart Rate Sensor: Heart Rate Belt" })
        #expect(all.allSatisfy { $0.name.lowercased().contains("heart") && $0.name.lowercased().contains("rate") })
        #expect(AssignedNumbers.containing(["heart", "rate"], [.service]).map(\.uuid) == [.heartRate])
        #expect(AssignedNumbers.containing(["heartrate"], [.service]).map(\.uuid) == [.heartRate])
        #expect(AssignedNumbers.containing(["nestlé"], [.company]).count >= 2)
        #expect(AssignedNumbers.containing(["computer", "laptop"]).map(\.name) == ["Computer: Laptop"])
        #expect(AssignedNumbers.containing([]).isEmpty)
        #expect(AssignedNumbers.containing(["heart", "-"]).isEmpty)
    }

    @Test func `a UUID that nobody assigned has no name, and stands for itself`() throws {
        let uuid = try #require(BluetoothUUID("00000001-9f34-11ee-8c90-0242ac120002"))
        for unknown in [uuid, BluetoothUUID(0x1899), BluetoothUUID(0x0001_180D)] {
            #expect(unknown.name == nil)
            #expect(AssignedNumbers.assignment(of: unknown) == nil)
        }
        #expect(AssignedNumbers.service(uuid.description) == uuid)
        #expect(AssignedNumbers.characteristic(uuid.description) == uuid)
    }

    @Test(
        arguments: [
            ("heart rate", .service, "service 180d Heart Rate"),
            ("apple, inc.", .company, "company 0x004c Apple, Inc."),
            ("heart rate belt", .appearance, "appearance 0x0341 Heart Rate Sensor: Heart Rate Belt"),
            ("flags", .advertisingDataType, "advertising-data-type 0x01 Flags"),
        ] as [(String, AssignedNumber.Kind, String)])
    func `an entry describes itself`(_ name: String, _ kind: AssignedNumber.Kind, _ description: String) {
        #expect(AssignedNumbers.named(name, [kind]).map(\.description) == [description])
    }
}
