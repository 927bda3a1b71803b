import BLE
import BLEBTHome
import Testing

@Suite struct BTHomeParametersTests {
    @Test func `a BTHome report is advertised as service data`() throws {
        let report = try #require(
            try BTHome.decode(Advertisement(serviceData: [BluetoothUUID(0xFCD2): [0x40, 0x01, 0x64]])))
        let parameters = try AdvertisingParameters.bthome(report)
        #expect(!parameters.isConnectable)
        #expect(parameters.serviceData == [BluetoothUUID(0xFCD2): [0x40, 0x01, 0x64]])
        #expect(parameters.budget().fields.map(\.count) == [7])
        try parameters.validate()
    }
}
