import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

// A robot's numbers, declared like the SIG's.

extension BluetoothUUID {
    fileprivate static let monitoring = BluetoothUUID(0x7779)
    fileprivate static let configuration = BluetoothUUID(0x6770)
    fileprivate static let fileExchange = BluetoothUUID(0x8270)
    fileprivate static let firmwareUpdate = BluetoothUUID(0x7085)
    fileprivate static let commands = BluetoothUUID(0xDFB0)
}

extension Characteristic where Value == UInt8 {
    fileprivate static var charging: Self { Characteristic(BluetoothUUID(0x6783), service: .monitoring) }
}

extension Characteristic where Value == String {
    fileprivate static var robotName: Self { Characteristic(BluetoothUUID(0x8278), service: .configuration) }
}

extension Catalog {
    fileprivate static let robot: Catalog = [
        .service(.monitoring, "Monitoring"),
        .characteristic(.charging, "Charging"),
        .characteristic(BluetoothUUID(0x8369), "Screensaver"),
        .characteristic(BluetoothUUID(0x8382), "Soft Reboot"),
        .characteristic(BluetoothUUID(0x7282), "Hard Reboot"),
        .service(.configuration, "Config"),
        .characteristic(.robotName, "Name"),
        .service(.fileExchange, "File Exchange"),
        .service(.firmwareUpdate, "Firmware Update"),
        .service(.commands, "Commands"),
        .characteristic(BluetoothUUID(0xDFB1), "Write Command"),
    ]
}

@Suite struct CatalogTests {
    @Test(
        arguments: [
            (0x7779, "Monitoring"), (0x6783, "Charging"), (0x8369, "Screensaver"), (0x8382, "Soft Reboot"),
            (0x7282, "Hard Reboot"), (0x6770, "Config"), (0x8278, "Name"), (0x8270, "File Exchange"),
            (0x7085, "Firmware Update"), (0xDFB0, "Commands"), (0xDFB1, "Write Command"),
            (0x180F, "Battery"), (0x2A19, "Battery Level"),
        ] as [(UInt32, String)])
    func `a vendor's UUIDs have names beside the SIG's`(_ uuid: UInt32, _ name: String) {
        #expect(BluetoothUUID(uuid).name(in: .robot) == name)
    }

    @Test func `a name means a vendor's UUID as it means the SIG's`() {
        #expect(Catalog.robot.service("file-exchange") == .fileExchange)
        #expect(Catalog.robot.service("heart-rate") == .heartRate)
        #expect(Catalog.robot.service("dfb0") == .commands)
        #expect(Catalog.robot.characteristic("soft reboot") == BluetoothUUID(0x8382))
        #expect(Catalog.robot.characteristic("File Exchange") == nil)
        #expect(Catalog.robot.service("reboot") == nil)
        #expect(AssignedNumbers.service("file-exchange") == nil)
    }

    @Test func `parts of names are looked for in both`() {
        let found = Catalog.robot.containing(["firmware"], [.service, .characteristic])
        #expect(found.map(\.name) == ["Firmware Update", "Firmware Revision String"])
        #expect(Catalog.robot.containing(["reboot"], [.service]).isEmpty)
        #expect(Catalog.robot.containing([]).isEmpty)
    }

    @Test func `one's own number or name comes before the SIG's`() throws {
        let long = try #require(BluetoothUUID("00000001-9f34-11ee-8c90-0242ac120002"))
        let catalog: Catalog = [
            .service(.heartRate, "Pulse"), .service(long, "Battery"), .descriptor(long, "Later"),
            .company(0xFFFF, "Test"), .company(0x004C, "Pear"),
        ]
        #expect(catalog.assignment(of: .heartRate)?.name == "Pulse")
        #expect(catalog.service("battery") == long)
        #expect(catalog.named("battery", [.service]).compactMap(\.uuid) == [long, .battery])
        #expect(long.name(in: catalog) == "Battery")
        #expect(catalog.assignment(of: long)?.number == nil)
        #expect(catalog.assignment(of: long)?.numberText == long.description)
        #expect(catalog.company(0xFFFF) == "Test")
        #expect(catalog.company(0x004C) == "Pear")
        #expect(catalog.company(0x0059) == "Nordic Semiconductor ASA")
        #expect(BluetoothUUID(0x004C).name(in: catalog) == nil)
    }

    @Test func `an empty catalog is the SIG's`() {
        #expect(Catalog().assignment(of: .battery) == AssignedNumbers.assignment(of: .battery))
        #expect(Catalog().named("heart rate") == AssignedNumbers.named("heart rate"))
        #expect(BluetoothUUID.monitoring.name(in: Catalog()) == nil)
    }
}

/// The numbers of vendors.
@Suite struct VendorCatalogTests {
    @Test(
        arguments: [
            ("6e400001-b5a3-f393-e0a9-e50e24dcca9e", "Nordic UART"), ("fe59", "Nordic Secure DFU"),
            ("da2e7828-fbce-4e01-ae9e-261174997c48", "SMP Characteristic"), ("2a19", "Battery Level"),
        ])
    func `vendors' services have names beside the SIG's`(_ text: String, _ name: String) throws {
        #expect(try #require(BluetoothUUID(text)).name(in: .vendors) == name)
    }

    @Test func `each number and each name occurs once`() {
        let entries = Catalog.vendors.entries
        #expect(Set(entries.compactMap(\.uuid)).count == entries.count)
        #expect(Set(entries.map(\.name)).count == entries.count)
    }

    @Test func `they are found by name`() {
        #expect(Catalog.vendors.characteristic("nordic uart tx") == .nordicUARTTransmit)
        #expect(Catalog.vendors.service("smp")?.description == "8d53dc1d-1db7-4cd3-868b-8a527460aa84")
    }
}

extension BluetoothUUID {
    fileprivate static let nordicUARTTransmit = BluetoothUUID("6e400003-b5a3-f393-e0a9-e50e24dcca9e")!
}
