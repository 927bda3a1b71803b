import BLE
import BLEBeacons
import Testing

struct AdvertisementFormatsTests {
    private struct Door: AdvertisementDecodable, Equatable {
        let isOpen: Bool

        static func decode(_ advertisement: Advertisement) throws(AdvertisementFormatError) -> Door? {
            guard let data = advertisement.manufacturerData[0xFFFF] else { return nil }
            guard data.count == 1 else { throw AdvertisementFormatError("door", .invalidLength(data.count)) }
            return Door(isOpen: data[0] == 1)
        }
    }

    private let formats = AdvertisementFormats([.beacons, AdvertisementFormats(Door.self, RuuviTag.self)])

    private func beacon() throws -> Advertisement {
        try IBeacon(
            uuid: BluetoothUUID("e2c56db5-dffb-48d2-b060-d0f5a71096e0")!, major: 1, minor: 2, measuredPower: -59
        )
        .advertisement()
    }

    @Test func `an advertisement is decoded by the first format that it has, ours or one's own`() throws {
        #expect((formats.first(in: try beacon())?.value as? IBeacon)?.minor == 2)
        let door = Advertisement(manufacturerData: [0xFFFF: [1]])
        #expect(door.known(formats)?.value as? Door == Door(isOpen: true))
        #expect(formats.first(in: Advertisement(localName: "Strap")) == nil)
    }

    @Test func `several formats of one advertisement are all decoded, in the order of the list`() throws {
        var both = try beacon()
        both.manufacturerData[0xFFFF] = [0]
        let values = formats.all(in: both)
        #expect(values.count == 2 && values[0].value is IBeacon && values[1].value is Door)
    }

    @Test func `malformed data is no value, and its error is told`() throws {
        var both = try beacon()
        both.manufacturerData[0xFFFF] = [0, 1, 2]
        #expect(formats.all(in: both).count == 1)
        #expect(formats.errors(in: both) == [AdvertisementFormatError("door", .invalidLength(3))])
    }

    @Test func `a format that occurs again is tried once`() {
        #expect(formats.formats.count == 7)
        #expect(formats.formats.last?.description == AdvertisementFormat.Description("Door"))
    }

    @Test func `readings have the same names and units in all formats`() throws {
        let tag = try RuuviTag(temperatureCelsius: 24.3, pressurePascals: 100_044, batteryMillivolts: 2977)
            .advertisement()
        #expect(
            tag.known(.beacons)?.readings.map(\.description) == [
                "temperature 24.3 °C", "pressure 1000.44 hPa", "voltage 2.977 V",
            ])
        #expect(tag.known(.beacons)?.format.source == .company(0x0499))
        #expect(try beacon().known(.beacons)?.readings == [])
        let robot = Advertisement(serviceData: [RobotStatus.service: [80, 1]])
        #expect(robot.known(.beacons)?.readings.map(\.description) == ["battery 80 %", "charging yes"])
    }
}
