import BLE
import BLEBTHome
import BLEBeacons
import BLEDefinitions
import FoundationEssentials
import Testing

@testable import BLECommand

struct SensorReadingTests {
    private let id = Peripheral.ID(rawValue: "54:48:E6:8F:80:A5")

    private func fields(_ advertisement: Advertisement, key: [UInt8]? = nil) -> [SensorReading] {
        let entry = ListedDevice(key: "device", match: .address(id), bthomeKey: key)
        return DeviceReport(of: advertisement, from: id, entry).fields
    }

    @Test func `a name becomes an id of letters, digits and underscores`() {
        #expect(SensorReading.id("PM2.5 (mass)") == "pm2_5_mass")
        #expect(SensorReading.id("  Temperature 2 ") == "temperature_2")
        #expect(SensorReading.id("日本") == "")
    }

    @Test func `a tag has its values in the units of the field`() throws {
        var advertisement = Advertisement()
        try RuuviTag(temperatureCelsius: 24.3, pressurePascals: 100_044, batteryMillivolts: 2977).encode(
            into: &advertisement)
        let fields = fields(advertisement)
        #expect(fields.map(\.id) == ["temperature", "pressure", "voltage"])
        #expect(fields.map(\.value) == [.number(24.3), .number(1000.44), .number(2.977)])
        #expect(fields.map(\.unit) == ["°C", "hPa", "V"])
    }

    @Test func `several values of one kind have numbers, and events have no field`() throws {
        let kind = try #require(BTHomeKind(id: 2))
        let button = try BTHomeObject(try #require(BTHomeKind(id: 0x3A)), .button(.press))
        var advertisement = Advertisement()
        try BTHome([try BTHomeObject(kind, value: 4), try BTHomeObject(kind, value: 5), button]).encode(
            into: &advertisement)
        #expect(fields(advertisement).map(\.id) == ["temperature", "temperature_2"])
    }

    #if BTHomeEncryption
        /// The example of bthome.io/encryption.
        @Test func `an encrypted report needs the key, and a plain one is refused with a key`() throws {
            let key = try #require(Hex.bytes("231d39c1d7cc1ab1aee224cd096db932"))
            let service = BluetoothUUID(0xFCD2)
            let sealed = Advertisement(serviceData: [
                service: try #require(Hex.bytes("41a47266c95f730011223378237214"))
            ])
            #expect(fields(sealed, key: key).map(\.value) == [.number(25.06), .number(50.55)])
            #expect(fields(sealed) == [])
            let plain = Advertisement(serviceData: [service: [0x40, 0x02, 0xCA, 0x09]])
            #expect(fields(plain).map(\.value) == [.number(25.06)])
            #expect(fields(plain, key: key) == [])
        }

        @Test func `the same data from the same peripheral is decrypted once`() throws {
            let key = try #require(Hex.bytes("231d39c1d7cc1ab1aee224cd096db932"))
            let service = BluetoothUUID(0xFCD2)
            var advertisement = Advertisement(
                rssi: -60, serviceData: [service: try #require(Hex.bytes("41a47266c95f730011223378237214"))])
            let first = DeviceReport(
                of: advertisement, from: id, ListedDevice(key: "device", match: .address(id), bthomeKey: key))
            #expect(first.isTrusted && first.isReceived)
            // With another key, only what is not decrypted again is the same.
            let other = ListedDevice(
                key: "device", match: .address(id), bthomeKey: [UInt8](repeating: 1, count: 16))
            advertisement.rssi = nil
            let second = DeviceReport(of: advertisement, from: id, other, after: first)
            #expect(second.fields == first.fields && second.data == first.data && second.counter == first.counter)
            #expect(second.isTrusted && !second.isReceived)
            #expect(!DeviceReport(of: advertisement, from: "54:48:E6:8F:80:A6", other, after: first).isTrusted)
            advertisement.serviceData[service]?[2] ^= 1
            #expect(!DeviceReport(of: advertisement, from: id, other, after: first).isTrusted)
        }
    #endif

    @Test(arguments: ["", "40", "4002", "ff", "41a47266"])
    func `malformed data have no fields`(text: String) throws {
        let data = try #require(Hex.bytes(text))
        #expect(
            fields(Advertisement(manufacturerData: [0x0499: data], serviceData: [BluetoothUUID(0xFCD2): data])) == [])
    }

    @Test func `a value of a characteristic has the fields of its format`() {
        let level = CharacteristicKey(characteristic: BluetoothUUID(0x2A19))
        #expect(
            SensorReading.fields(of: [90], level) == [
                SensorReading(name: "Battery Level", value: .number(90), unit: "%")
            ])
        #expect(SensorReading.fields(of: [], level) == [])
        let heartRate = CharacteristicKey(characteristic: BluetoothUUID(0x2A37))
        let packets: [[UInt8]] = [[0x00, 72], [0x10, 72, 0x00, 0x04, 0x00, 0x08], [0x01, 72, 0]]
        for packet in packets {
            let rate = SensorReading.fields(of: packet, heartRate).first
            #expect(rate?.id == "heart_rate_measurement_heart_rate")
            #expect(rate?.value == .number(72))
        }
        #expect(SensorReading.fields(of: packets[1], heartRate).map(\.id).dropFirst().count == 2)
        let own = CharacteristicKey(characteristic: BluetoothUUID(0xFF01))
        #expect(SensorReading.fields(of: [1, 2], own).map(\.value) == [.text("0102")])
    }

    @Test func `a device with a format is not decoded in another way`() throws {
        let text = #"{"company": "0499", "fields": {"a": {"at": 0, "type": "u8"}}}"#
        let format = try DataLayout(Entry(text: Data(text.utf8)))
        let tag = Advertisement(
            manufacturerData: [0x0499: try #require(Hex.bytes("0512fc5394c37c0004fffc040cac364200cdcbb8334c884f"))])
        let entry = { ListedDevice(key: "x", match: .company(0x0499), format: $0) }
        #expect(DeviceReport(of: tag, from: id, entry(nil)).fields.contains { $0.name == "temperature" })
        #expect(DeviceReport(of: tag, from: id, entry(format)).fields.map(\.value) == [.number(5)])
    }
}
