import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct UniqueDeviceIdentifierTests {
    @Test(
        arguments: [
            ([0], UniqueDeviceIdentifier()), ([1, 0x41, 0], UniqueDeviceIdentifier(label: "A")),
            ([2, 0x41, 0], UniqueDeviceIdentifier(deviceIdentifier: "A")),
            ([4, 0x41, 0], UniqueDeviceIdentifier(issuer: "A")),
            ([8, 0], UniqueDeviceIdentifier(authority: "")),
            (
                [0x0F] + Array("(01)00844588003288(17)141120\0".utf8) + Array("00844588003288\0".utf8)
                    + Array("2.51\0".utf8) + Array("2.16.840.1.113883.3.24\0".utf8),
                UniqueDeviceIdentifier(
                    label: "(01)00844588003288(17)141120", deviceIdentifier: "00844588003288", issuer: "2.51",
                    authority: "2.16.840.1.113883.3.24")
            ),
            ([9, 0xC3, 0xA4, 0, 0x42, 0], UniqueDeviceIdentifier(label: "ä", authority: "B")),
        ] as [([UInt8], UniqueDeviceIdentifier)])
    func `the bytes spell the identifier`(_ bytes: [UInt8], _ identifier: UniqueDeviceIdentifier) async throws {
        try await checkSpelling(bytes, identifier)
    }

    @Test func `what comes after is passed over, what is no UTF-8 replaced`() throws {
        #expect(try UniqueDeviceIdentifier(bytes: [0xF1, 0xFF, 0, 7, 7]) == UniqueDeviceIdentifier(label: "\u{FFFD}"))
    }

    @Test func `a text with a NUL cannot be written`() async {
        await expectError(.invalidValue) { try UniqueDeviceIdentifier(issuer: "2\0.51").encoded() }
    }

    @Test func `a device has an identifier, or not`() async throws {
        let world = try await SimulatedWorld()
        let udi = UniqueDeviceIdentifier(deviceIdentifier: "00844588003288", authority: "2.16.840.1.113883.3.24")
        let service = ServiceDefinition(
            .deviceInformation, characteristics: [try CharacteristicDefinition(.udi, .read, value: udi)])
        let (device, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service]))
        #expect(try await DeviceInformation(of: device).udi == udi)
        let (strap, _) = try await world.add(.heartRateStrap())
        #expect(try await DeviceInformation(of: strap).udi == nil)
    }
}
