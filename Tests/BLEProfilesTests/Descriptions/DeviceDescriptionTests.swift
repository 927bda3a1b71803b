import BLEProfiles
import Testing

/// The lines in which the state of a device and its surroundings are shown.
@Suite struct DeviceDescriptionTests {
    private static let time = DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59)

    @Test func `the current time has the day of the week and the reasons for its adjustment`() {
        #expect("\(CurrentTimeValue(Self.time))" == "2026-02-28T23:59:00, Saturday")
        let exact = ExactTime256(DayDateTime(Self.time, dayOfWeek: .saturday), fractions256: 128)
        #expect("\(exact)" == "2026-02-28T23:59:00.5, Saturday")
        let value = CurrentTimeValue(exact, adjustReasons: [.timeZone, .daylightSavingTime])
        #expect("\(value)" == "2026-02-28T23:59:00.5, Saturday, adjusted (time zone, daylight saving time)")
        let reserved = CurrentTimeValue(Self.time, adjustReasons: .init(rawValue: 0x80))
        #expect("\(reserved)" == "2026-02-28T23:59:00, Saturday, adjusted (0x80)")
    }

    @Test(arguments: [(0, ""), (1, ".004"), (64, ".25"), (255, ".996")] as [(UInt8, String)])
    func `a fraction of a second has up to three digits`(_ fractions: UInt8, _ text: String) {
        let value = ExactTime256(DayDateTime(Self.time), fractions256: fractions)
        #expect("\(value)" == "2026-02-28T23:59:00\(text)")
    }

    @Test func `an unknown date and day are shown as such`() {
        let value = DayDateTime(DateTime(year: nil, month: nil, day: nil))
        #expect("\(value)" == "????-??-??T00:00:00")
        let days = DayOfWeek.allCases.map { "\(DayDateTime(Self.time, dayOfWeek: $0))".split(separator: " ").last }
        #expect(days == ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"])
    }

    @Test func `an environmental quantity has its unit`() throws {
        let texts = EnvironmentalQuantity.all.map { "\($0)" }
        #expect(texts.contains("Temperature in °C"))
        #expect(texts.contains("UV Index"))
        #expect(texts.contains("Magnetic Flux Density - 2D in µT"))
    }

    @Test func `a magnetic flux density has its axes`() {
        #expect("\(MagneticFluxDensity2D(xMicroteslas: 1.5, yMicroteslas: -20))" == "x 1.5, y -20 µT")
        #expect("\(MagneticFluxDensity2D(xMicroteslas: .nan, yMicroteslas: .nan))" == "x not known, y not known")
        #expect(
            "\(MagneticFluxDensity3D(xMicroteslas: -0.0, yMicroteslas: 2, zMicroteslas: 3.5))" == "x 0, y 2, z 3.5 µT")
    }

    @Test func `identifiers are in hexadecimal`() {
        #expect("\(SystemID(manufacturer: 0x98_7654_3210, organization: 0xFEDCBA))" == "fedcba-9876543210")
        #expect("\(SystemID(manufacturer: .max, organization: 0))" == "000000-ffffffffff")
        #expect("\(PnPID(source: 2, vendor: 0x1D6B, product: 0x0246, version: 0x0213))" == "usb:v1d6bp0246d0213")
        #expect("\(PnPID(source: 1, vendor: 0x6B, product: 1, version: 0))" == "bluetooth:v006bp0001d0000")
        #expect("\(PnPID(source: 9, vendor: 0, product: 0, version: 0))" == "9:v0000p0000d0000")
    }

    @Test func `device information has the values of the device`() {
        var value = DeviceInformation()
        #expect("\(value)" == "not known")
        value.manufacturerName = "Polar"
        #expect("\(value)" == "Polar")
        value.modelNumber = "H10"
        value.serialNumber = "123"
        value.hardwareRevision = "39"
        value.firmwareRevision = "3.1.1"
        value.softwareRevision = "2.0"
        value.systemID = SystemID(manufacturer: 1, organization: 2)
        value.regulatoryCertifications = [1, 2]
        value.pnpID = PnPID(source: 1, vendor: 0x6B, product: 1, version: 0x0100)
        value.udi = UniqueDeviceIdentifier(label: "(01)1234", deviceIdentifier: "1234")
        let text =
            "Polar, H10, serial number 123, hardware 39, firmware 3.1.1, software 2.0, system ID 000002-0000000001, "
            + "PnP ID bluetooth:v006bp0001d0100, UDI (01)1234"
        #expect("\(value)" == text)
        value = DeviceInformation()
        value.udi = UniqueDeviceIdentifier(deviceIdentifier: "1234")
        #expect("\(value)" == "UDI 1234")
    }
}
