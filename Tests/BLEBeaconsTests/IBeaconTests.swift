import BLE
import BLEBeacons
import Testing

@Suite struct IBeaconTests {
    private static let data = Hex.bytes("0215 e2c56db5dffb48d2b060d0f5a71096e0 0001 f002 c5")!
    private static let beacon = IBeacon(
        uuid: BluetoothUUID("e2c56db5-dffb-48d2-b060-d0f5a71096e0")!, major: 1, minor: 0xF002, measuredPower: -59)

    @Test func `a beacon is read and sent`() throws {
        let advertisement = Advertisement(manufacturerData: [0x004C: Self.data])
        #expect(try IBeacon.decode(advertisement) == Self.beacon)
        #expect(try Self.beacon.advertisement() == advertisement)
        // With flags, it leaves one byte of a packet free.
        var whole = advertisement
        whole.flags = .generalDiscoverable
        #expect(try whole.data().encode().count == 30)
    }

    @Test(arguments: [[:], [0x004C: []], [0x004C: [0x10, 0x05, 0x0B]], [0x0059: data]] as [[UInt16: [UInt8]]])
    func `other data is not a beacon`(_ data: [UInt16: [UInt8]]) throws {
        #expect(try IBeacon.decode(Advertisement(manufacturerData: data)) == nil)
    }

    @Test(arguments: [[0x02], Array(data.dropLast()), data + [0], [0x02, 0x16] + data.dropFirst(2)] as [[UInt8]])
    func `a beacon of another length is an error`(_ data: [UInt8]) {
        #expect(throws: AdvertisementFormatError("iBeacon", .invalidLength(data.count))) {
            try IBeacon.decode(Advertisement(manufacturerData: [0x004C: data]))
        }
    }

    @Test(arguments: [-129, 128, .max, .min])
    func `a power of more than 8 bits cannot be sent`(_ power: Int) {
        var beacon = Self.beacon
        beacon.measuredPower = power
        #expect(throws: AdvertisementFormatError("iBeacon", .invalidValue(field: "measured power"))) {
            try beacon.advertisement()
        }
    }
}
