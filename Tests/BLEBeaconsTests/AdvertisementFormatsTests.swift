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
        #expect((formats.first(in: try beacon()) as? IBeacon)?.minor == 2)
        let door = Advertisement(manufacturerData: [0xFFFF: [1]])
        #expect(formats.first(in: door) as? Door == Door(isOpen: true))
        #expect(formats.first(in: Advertisement(localName: "Strap")) == nil)
    }

    @Test func `several formats of one advertisement are all decoded, in the order of the list`() throws {
        var both = try beacon()
        both.manufacturerData[0xFFFF] = [0]
        let values = formats.all(in: both)
        #expect(values.count == 2 && values[0] is IBeacon && values[1] is Door)
    }

    @Test func `malformed data is no value, and its error is told`() throws {
        var both = try beacon()
        both.manufacturerData[0xFFFF] = [0, 1, 2]
        #expect(formats.all(in: both).count == 1)
        #expect(formats.errors(in: both) == [AdvertisementFormatError("door", .invalidLength(3))])
    }

    @Test func `a type that occurs again is tried once`() {
        #expect(formats.types.count == 5)
        #expect(formats.types.last == Door.self)
    }
}
