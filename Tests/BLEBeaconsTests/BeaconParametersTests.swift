import BLE
import BLEBeacons
import Testing

@Suite struct BeaconParametersTests {
    @Test func `an iBeacon is advertised without being connectable`() throws {
        let beacon = IBeacon(
            uuid: BluetoothUUID("e2c56db5-dffb-48d2-b060-d0f5a71096e0")!, major: 1, minor: 0xF002, measuredPower: -59)
        var parameters = try AdvertisingParameters.iBeacon(beacon)
        #expect(!parameters.isConnectable)
        #expect(
            parameters.manufacturerData == [0x004C: Hex.bytes("0215 e2c56db5dffb48d2b060d0f5a71096e0 0001 f002 c5")!])
        #expect(parameters.budget().advertisement.used == 27)
        parameters.isConnectable = true
        #expect(parameters.budget().advertisement.used == 30)
        try parameters.validate()
    }

    @Test func `an iBeacon with a power out of range is an error`() {
        #expect(throws: AdvertisementFormatError("iBeacon", .invalidValue(field: "measured power"))) {
            try AdvertisingParameters.iBeacon(
                IBeacon(uuid: BluetoothUUID(1), major: 1, minor: 1, measuredPower: 128))
        }
    }

    @Test func `the longest Eddystone frame fills a packet with flags`() throws {
        var parameters = try AdvertisingParameters.eddystone(
            .uid(namespace: [UInt8](0..<10), instance: [UInt8](0..<6), txPower: -20))
        #expect(!parameters.isConnectable)
        #expect(parameters.serviceUUIDs == [BluetoothUUID(0xFEAA)])
        #expect(parameters.budget().fields.map(\.count) == [4, 24])
        parameters.isConnectable = true
        #expect(parameters.budget().advertisement.available == 0)
        try parameters.validate()
    }
}
