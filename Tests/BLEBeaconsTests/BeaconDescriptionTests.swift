import BLE
import BLEBeacons
import Testing

/// The lines in which beacons are shown.
@Suite struct BeaconDescriptionTests {
    @Test func `an iBeacon has its identity and power`() throws {
        let uuid = try #require(BluetoothUUID("e2c56db5-dffb-48d2-b060-d0f5a71096e0"))
        let beacon = IBeacon(uuid: uuid, major: 1, minor: 0xF002, measuredPower: -59)
        #expect("\(beacon)" == "e2c56db5-dffb-48d2-b060-d0f5a71096e0, major 1, minor 61442, -59 dBm at 1 m")
        let short = IBeacon(uuid: BluetoothUUID(0x180F), major: 0, minor: 0, measuredPower: .max)
        #expect("\(short)" == "180f, major 0, minor 0, 9223372036854775807 dBm at 1 m")
    }

    @Test(
        arguments: [
            (
                .uid(
                    namespace: [0xED, 0xD1, 0xEB, 0xEA, 0xC0, 0x4E, 0x5D, 0xEF, 0xA0, 0x17],
                    instance: [1, 0x23, 0x45, 0x67, 0x89, 0xAB], txPower: -20),
                "UID edd1ebeac04e5defa017 0123456789ab, -20 dBm at 0 m"
            ),
            (.url("https://example.com", txPower: 4), "https://example.com, 4 dBm at 0 m"),
            (.ephemeralID([1, 2, 3, 4, 5, 6, 7, 8], txPower: 0), "EID 0102030405060708, 0 dBm at 0 m"),
            (.encryptedTelemetry(ciphertext: [1], salt: 2, integrityCheck: 3), "encrypted telemetry"),
            (.telemetry(.init(advertisementCount: 1, uptimeDeciseconds: 599)), "1 advertisement, on for 59 s"),
        ] as [(Eddystone, String)])
    func `a frame has its identity or state`(_ frame: Eddystone, _ text: String) {
        #expect("\(frame)" == text)
    }

    @Test(
        arguments: [
            (.init(advertisementCount: 0, uptimeDeciseconds: 0), "0 advertisements, on for 0 s"),
            (
                .init(
                    batteryMillivolts: 2977, temperatureCelsius: 24 + 85.0 / 256, advertisementCount: 1000,
                    uptimeDeciseconds: 37_239),
                "2977 mV, 24.33 °C, 1000 advertisements, on for 1 h 2 min 3 s"
            ),
            (
                .init(
                    batteryMillivolts: 3000, temperatureCelsius: -0.5, advertisementCount: 2, uptimeDeciseconds: .max),
                "3000 mV, -0.5 °C, 2 advertisements, on for 4971 d 38 min 49 s"
            ),
            (
                .init(temperatureCelsius: .nan, advertisementCount: 2, uptimeDeciseconds: 600),
                "not known, 2 advertisements, on for 1 min"
            ),
        ] as [(EddystoneTelemetry, String)])
    func `telemetry has the values that are available`(_ telemetry: EddystoneTelemetry, _ text: String) {
        #expect("\(telemetry)" == text)
    }

    @Test(
        arguments: [
            (.init(), "not known"),
            (
                .init(
                    temperatureCelsius: 24.3, humidityPercent: 53.49, pressurePascals: 100_044,
                    accelerationMilligravities: .init(x: 4, y: -4, z: 1036),
                    batteryMillivolts: 2977, txPower: 4, movementCount: 66, sequenceNumber: 205,
                    address: [1, 2, 3, 4, 5, 6]),
                "24.3 °C, humidity 53.49 %, 100044 Pa, x 4, y -4, z 1036 mg, 2977 mV, 4 dBm, 66 movements, "
                    + "measurement 205"
            ),
            (
                .init(
                    format: .rawV1, temperatureCelsius: -0.0, humidityPercent: 50,
                    accelerationMilligravities: .init(z: -1000), movementCount: 1),
                "0 °C, humidity 50 %, z -1000 mg, 1 movement"
            ),
            (.init(temperatureCelsius: 163.835, humidityPercent: 0.0025), "163.835 °C, humidity 0.0025 %"),
            (.init(temperatureCelsius: .infinity, humidityPercent: 1e300), "not known, humidity 1e+300 %"),
        ] as [(RuuviTag, String)])
    func `a RuuviTag has the values that are available`(_ tag: RuuviTag, _ text: String) {
        #expect("\(tag)" == text)
    }

    @Test(
        arguments: [
            (.init(batteryPercent: 85, isCharging: false), "85 %"),
            (
                .init(batteryPercent: 100, isCharging: true, version: "1.2.300", isInDeepSleep: true),
                "100 %, charging, version 1.2.300, in deep sleep"
            ),
            (.init(batteryPercent: 0, isCharging: false, version: "1.2", isInDeepSleep: false), "0 %, version 1.2"),
        ] as [(RobotStatus, String)])
    func `a robot has its battery and state`(_ status: RobotStatus, _ text: String) {
        #expect("\(status)" == text)
    }
}
