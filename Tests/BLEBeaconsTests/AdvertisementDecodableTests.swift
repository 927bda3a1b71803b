import BLE
import BLEBeacons
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct AdvertisementDecodableTests {
    @Test(
        arguments: [
            ("", nil), ("64", nil), ("6401", RobotStatus(batteryPercent: 100, isCharging: true)),
            ("6402", RobotStatus(batteryPercent: 100, isCharging: false)),
            ("3200ff", RobotStatus(batteryPercent: 50, isCharging: false)),
            ("02003201 01", RobotStatus(batteryPercent: 50, isCharging: true, version: "2.0", isInDeepSleep: true)),
            ("32010102012c", RobotStatus(batteryPercent: 50, isCharging: true, version: "1.2.300")),
            ("32010102012cff", RobotStatus(batteryPercent: 50, isCharging: true)),
        ] as [(String, RobotStatus?)])
    func `a robot's status is read`(_ hex: String, _ status: RobotStatus?) throws {
        let data = try #require(Hex.bytes(hex))
        #expect(try RobotStatus.decode(Advertisement(serviceData: [RobotStatus.service: data])) == status)
    }

    @Test func `a peripheral that advertises nothing of the kind has no status`() throws {
        #expect(try RobotStatus.decode(Advertisement(localName: "Robot")) == nil)
    }

    @Test func `discoveries are decoded as they come, also where another peripheral's data is malformed`() async throws
    {
        let world = try await SimulatedWorld()
        let tag = RuuviTag(temperatureCelsius: 21.5)
        var advertisement = try tag.advertisement()
        advertisement.rssi = -50
        for advertised in [Advertisement(rssi: -40, manufacturerData: [0x0499: [5, 1]]), advertisement] {
            _ = await world.radio.add(PeripheralDefinition(advertisement: advertised, services: []))
        }
        var tags: [RuuviTag] = []
        for try await found in world.central.discoveries() {
            if let tag = try? RuuviTag.decode(found.advertisement) {
                tags.append(tag)
                break
            }
        }
        #expect(tags == [tag])
    }

    @Test(arguments: [
        AdvertisementFormatError.Reason.invalidLength(3), .unsupportedVersion(9), .invalidValue(field: "power"),
        .invalidText(field: "text"),
    ])
    func `every error names its format, and says what helps`(_ reason: AdvertisementFormatError.Reason) {
        let description = AdvertisementFormatError("Format", reason).description
        #expect(description.hasPrefix("Format: "))
        #expect(description.split(separator: " — ").count == 2)
    }
}
