import BLE
import BLEAssignedNumbers
import BLEProfiles
import BLETestSupport
import Testing

/// The text that values of characteristics are shown as.
@Suite struct ValueFormatTests {
    @Test(
        arguments: [
            (0x2A19, [50], "50 %"),
            (0x2A6E, [0x59, 0x08], "21.37 °C"), (0x2A6E, [0xFF, 0xFF], "-0.01 °C"),
            (0x2A6E, [0x00, 0x80], "value is not known"),
            (0x2A6F, [0x94, 0x11], "45 %"), (0x2A6F, [0xFF, 0xFF], "value is not known"),
            (0x2A6D, [0x24, 0x76, 0x0F, 0x00], "101328.4 Pa"),
            (0x2A6C, [0xFF, 0xFF, 0xFF], "-0.01 m"), (0x2A6C, [0x00, 0x00, 0x80], "-83886.08 m"),
            (0x2A98, [0x1F, 0x3C], "76.955 kg"),
            (0x2A07, [0xFC], "-4 dBm"),
            (0x2A37, [0x00, 72], "Heart Rate: 72 bpm"),
            (0x2A8D, [190], "190 bpm"),
            (0x2AC3, [1, 2, 3, 4, 5, 6], "6618611909121"), (0x2AFA, [0, 0, 0, 0, 0, 0], "value is not known"),
            (0x2AF2, [0x01, 0x02, 0x03], "197121 kWh"), (0x2AF2, [0xFF, 0xFF, 0xFF], "value is not known"),
            (0x2BA8, [0xFD, 0xFF, 0xFF, 0xFF], "4294967.293 kWh"),
            (0x2BA8, [0xFE, 0xFF, 0xFF, 0xFF], "value is not valid"),
            (0x2BE0, [0x41, 0x00, 0x00], "1.0156 V"),
            (0x2B18, [0x80, 0x3C], "242 V"),
            (0x2BDF, [0x01, 0x80], "value is not valid"), (0x2BDF, [0xDE, 0xFD], "-273 °C"),
            (0x2B13, [0], "0 seconds"), (0x2B13, [64], "1 s"), (0x2B13, [74], "2.593742 s"),
            (0x2B13, [54], "0.3855433 s"),
            (0x2B13, [0xFE], "the total life of the device"), (0x2B13, [0xFF], "value is not known"),
            (0x2BD6, [0x0C, 0xC0], "0.0012 kg/m³"), (0x2BD6, [0x0C, 0x80], "120 µg/m³"),
            (0x2BE4, [0xFE], "value is 254 or greater"),
            (0x2C0A, [0x01, 0x00, 0x00, 0x00], "1e-07 m"),
            (0x2A73, [0x94, 0x11], "45°"),
            (0x2AE8, [0x00, 0x00, 0xC0, 0x3F], "1.5"), (0x2AE8, [0x00, 0x00, 0xC0, 0x7F], "not a number"),
            (0x2B1C, [0x01, 0x00], "1.525879e-05"),
        ] as [(UInt32, [UInt8], String)])
    func `a number is shown in its unit`(_ characteristic: UInt32, _ bytes: [UInt8], _ text: String) throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        #expect(FieldValue.text(try format.decode(bytes)) == text)
    }

    @Test(
        arguments: [
            (0x2A06, [1], "Mild Alert"), (0x2A06, [3], "3 (reserved)"),
            (0x2A38, [5], "Ear Lobe"), (0x2A1D, [6], "Mouth"),
            (0x2AE2, [1], "True"),
            (0x2BE3, [253], "Other than listed above"),
            (0x2BED, [0x00, 0x41, 0x03], "Power State: \(powerState)"),
            (0x2A49, [0x05, 0x80], "Body Movement Detection Support, Irregular Pulse Detection Support"),
            (0x2A47, [0x09], "Simple Alert, Call"), (0x2A47, [0x09, 0x02], "Simple Alert, Call, Instant Message"),
            (
                0x2C21, [0b11_10_01_00],
                "Button 0 Status: Button not actuated or not in use; Button 1 Status: Button pressed; "
                    + "Button 2 Status: Button released; Button 3 Status: Button held"
            ),
            (0x2ABF, [0xC3, 0x2A], "Object ID"),
            (0x2ABF, [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80], "80000000-0000-0000-0000-000000000001"),
            (
                0x2B46, [0x2F, 0x27, 0x24, 0x27],
                "Units: Celsius temperature (degree Celsius); Units: pressure (pascal)"
            ),
        ] as [(UInt32, [UInt8], String)])
    func `a number that stands for something is shown by name`(
        _ characteristic: UInt32, _ bytes: [UInt8], _ text: String
    ) throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        #expect(FieldValue.text(try format.decode(bytes)) == text)
    }

    private static let powerState =
        "Battery Present, Wired External Power Source Connected: No, Wireless External Power Source Connected: No, "
        + "Battery Charge State: Discharging: Active, Battery Charge Level: Low, "
        + "Charging Type: Constant Current"

    @Test(
        arguments: [
            (0x2A00, "Acme"), (0x2A29, "Acme"), (0x2AF8, "Acme"),
        ] as [(UInt32, String?)])
    func `text is shown without the zero bytes behind it`(_ characteristic: UInt32, _ text: String?) throws {
        let values = try ValueFormat(of: BluetoothUUID(characteristic))?.decode(Array("Acme\0\0\0\0".utf8))
        #expect(values.map(FieldValue.text) == text)
    }

    @Test func `text in a structure ends with a zero byte`() throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2BFF)))
        let values = try format.decode([0b0101] + Array("(01)0\0".utf8) + Array("2.16\0".utf8))
        #expect(values.dropFirst().map(\.name) == ["UDI Label", "UDI Issuer"])
        #expect(values.dropFirst().map(\.content) == [.text("(01)0"), .text("2.16")])
    }

    @Test func `a date and time is one line, with question marks for parts that are not known`() throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2A0A)))
        #expect(
            FieldValue.text(try format.decode([0xE9, 0x07, 3, 9, 8, 5, 1, 7]))
                == "Date Time: 2025-03-09 08:05:01; Day of Week: Sunday")
        #expect(
            FieldValue.text(try format.decode([0xE9, 0x07, 0, 9, 8, 5, 1, 0]))
                == "Date Time: 2025-??-09 08:05:01; Day of Week: Unknown")
    }

    @Test func `a structure has the formats of others in it`() throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2B11)))
        let values = try format.decode([0xD0, 0x07, 0x0A, 0x00, 0x6C, 0x07, 0x34, 0x08, 74])
        #expect(
            values.map(\.name) == [
                "Average Temperature", "Standard Deviation Temperature", "Minimum Temperature", "Maximum Temperature",
                "Sensing Duration",
            ])
        #expect(values.map(\.description) == ["20 °C", "0.1 °C", "19 °C", "21 °C", "2.593742 s"])
        #expect(values[0].unit == BluetoothUUID(0x272F))
    }

    @Test func `a vector has its components`() throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2C1E)))
        #expect(
            FieldValue.text(try format.decode([0xE8, 0x03, 0x18, 0xFC, 0xFE, 0x7F]))
                == "Vector X: 1 g; Vector Y: -1 g; Vector Z: out of range")
    }

    @Test(
        arguments: [
            (0x2A01, [0x41, 0x03], "Heart Rate Sensor: Heart Rate Belt"), (0x2A01, [0xFF, 0xFF], "65535 (reserved)"),
            (
                0x2A04, [0x18, 0x00, 0xFF, 0xFF, 4, 0, 0x2C, 0x01],
                "Minimum Connection Interval: 0.03 s; Maximum Connection Interval: no specific maximum; "
                    + "Peripheral Latency: 4; Connection Supervision Timeout: 3 s"
            ),
            (0x2B29, [0x05], "Robust Caching, Multiple Handle Value Notifications"),
            (0x2A4F, [0x60, 0x00, 0x30, 0x00], "Scan Interval: 0.06 s; Scan Window: 0.03 s"),
            (
                0x2A5F, [0x10, 97, 0, 60, 0, 0x15, 0xF0],
                "SpO2 Normal: 97 %; PR Normal: 60 bpm; Pulse Amplitude Index: 2.1 %"
            ),
            (
                0x2ACC, [0x02, 0x40, 0, 0, 0x08, 0, 0, 0],
                "Fitness Machine Features: Cadence, Power Measurement; Target Setting Features: Power Target Setting"
            ),
            (
                0x2AD3, [0x01, 13] + Array("Hill".utf8),
                "Training Status: Manual Mode (Quick Start); Training Status String: Hill"
            ),
            (0x2ADA, [0x08, 0xB4, 0x00], "Op Code: Target Power Changed; Parameter: 0xb400"),
            (0x2B7D, [100, 1, 7], "Volume Setting: 100; Mute: Muted; Change Counter: 7"),
        ] as [(UInt32, [UInt8], String)])
    func `what only a service specifies has a format, too`(
        _ characteristic: UInt32, _ bytes: [UInt8], _ text: String
    ) throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        #expect(FieldValue.text(try format.decode(bytes)) == text)
    }

    @Test func `what has no published format has none`() {
        #expect(ValueFormat(of: BluetoothUUID(0x2AB9)) == nil)
        #expect(ValueFormat(of: .heartRate) == nil)
        #expect(ValueFormat(of: BluetoothUUID("12345678-1234-1234-1234-123456789abc")!) == nil)
    }
}
