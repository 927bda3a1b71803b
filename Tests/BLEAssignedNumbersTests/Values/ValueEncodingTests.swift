import BLE
import BLEAssignedNumbers
import BLETestSupport
import Testing

/// Values that are encoded from text.
@Suite struct ValueEncodingTests {
    private func bytes(_ characteristic: UInt32, _ text: String) throws -> [UInt8] {
        try #require(ValueFormat(of: BluetoothUUID(characteristic))).encode(text: text)
    }

    @Test(
        arguments: [
            (0x2A19, "50", [50]), (0x2A19, "50%", [50]), (0x2A19, " 50 % ", [50]), (0x2A19, "5e1", [50]),
            (0x2A19, "battery-level=50", [50]), (0x2A19, "Battery Level = 50 %", [50]),
            (0x2A6E, "21.37 °C", [0x59, 0x08]), (0x2A6E, "-0.01", [0xFF, 0xFF]), (0x2A6E, "−0.01", [0xFF, 0xFF]),
            (0x2A6E, "-273.15", [0x4D, 0x95]), (0x2A6E, "327.67", [0xFF, 0x7F]), (0x2A6E, "21.370", [0x59, 0x08]),
            (0x2A6E, "value is not known", [0x00, 0x80]), (0x2A6E, "Unknown", [0x00, 0x80]),
            (0x2A6D, "101328.4 Pa", [0x24, 0x76, 0x0F, 0x00]), (0x2A6C, "-83886.08m", [0x00, 0x00, 0x80]),
            (0x2A98, "76.955 kg", [0x1F, 0x3C]), (0x2A07, "-4 dBm", [0xFC]),
            (0x2AC3, "6618611909121", [1, 2, 3, 4, 5, 6]), (0x2BA8, "4294967.293", [0xFD, 0xFF, 0xFF, 0xFF]),
            (0x2BA8, "invalid", [0xFE, 0xFF, 0xFF, 0xFF]), (0x2BE0, "1.015625 V", [0x41, 0, 0]),
            (0x2B13, "1 s", [64]), (0x2B13, "2.593742 s", [74]), (0x2B13, "0 seconds", [0]),
            (0x2BD6, "0.0012", [0x0C, 0xC0]), (0x2BD6, "120 µg/m³", [0x0C, 0x80]), (0x2BD6, "120 μg/m3", [0x0C, 0x80]),
            (0x2A73, "45°", [0x94, 0x11]), (0x2AE8, "1.5", [0x00, 0x00, 0xC0, 0x3F]),
            (0x2AE8, "not a number", [0x00, 0x00, 0xC0, 0x7F]), (0x2AE8, "-infinity", [0x00, 0x00, 0x80, 0xFF]),
            (0x2C0A, "1e-07 m", [1, 0, 0, 0]), (0x2BCF, "-infinity", [0x02, 0x08]), (0x2BCF, "0", [0, 0]),
            (0x2C1D, "vector-x=1 g, vector-y=-1, vector-z=out of range", [100, 0x9C, 0x7E]),
        ] as [(UInt32, String, [UInt8])])
    func `a number is encoded exactly, with or without its unit`(
        _ characteristic: UInt32, _ text: String, _ expected: [UInt8]
    ) throws {
        #expect(try bytes(characteristic, text) == expected)
    }

    @Test func `tenths and hundredths are exact integers`() throws {
        for tenths in -1000...10_000 {
            let sign = tenths < 0 ? "-" : ""
            let bits = UInt16(bitPattern: Int16(tenths))
            let expected = [UInt8(bits & 0xFF), UInt8(bits >> 8)]
            let text = "\(sign)\(tenths.magnitude / 10).\(tenths.magnitude % 10)"
            #expect(try bytes(0x2C2E, text) == expected)
            let content = FieldValue("Temperature", .number(Double(tenths) * 0.1))
            #expect(try ValueFormat(of: BluetoothUUID(0x2C2E))?.encode([content]) == expected)
        }
    }

    @Test(
        arguments: [
            (0x2A06, "Mild Alert", [1]), (0x2A06, "mild-alert", [1]), (0x2A06, "2", [2]), (0x2A06, "3 (reserved)", [3]),
            (0x2A06, "0x02", [2]), (0x2A38, "ear lobe", [5]), (0x2AE2, "true", [1]), (0x2AE2, "on", [1]),
            (0x2AE2, "OFF", [0]), (0x2A01, "heart-rate-sensor-heart-rate-belt", [0x41, 0x03]),
            (0x2A01, "833", [0x41, 3]),
            (
                0x2A49, "body-movement-detection-support + Irregular Pulse Detection Support", [0x05, 0x00]
            ),
            (0x2A49, "none", [0, 0]), (0x2A49, "0x8005", [0x05, 0x80]),
            (0x2A47, "Simple Alert, Call", [0x09]), (0x2A47, "call+instant message", [0x08, 0x02]),
            (0x2ABF, "2ac3", [0xC3, 0x2A]), (0x2ABF, "Object ID", [0xC3, 0x2A]),
            (
                0x2ABF, "80000000-0000-0000-0000-000000000001",
                [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x80]
            ),
            (0x2B46, "272f, 2724", [0x2F, 0x27, 0x24, 0x27]), (0x2A23, "0x0102030405060708", [1, 2, 3, 4, 5, 6, 7, 8]),
            (0x2A29, "Acmé, Inc. = 5; x", Array("Acmé, Inc. = 5; x".utf8)), (0x2A29, "", []),
            (0x2AF8, "Acme", Array("Acme\0\0\0\0".utf8)),
            (0x2BFF, "udi-label=(01)0, udi-issuer=2.16", [0b0101] + Array("(01)0\0".utf8) + Array("2.16\0".utf8)),
            (0x2C21, "button-0-status=0; button-1-status=button pressed; button-2-status=2; button-3-status=3", [0xE4]),
        ] as [(UInt32, String, [UInt8])])
    func `names, text, UUIDs and bytes are encoded`(
        _ characteristic: UInt32, _ text: String, _ expected: [UInt8]
    ) throws {
        #expect(try bytes(characteristic, text) == expected)
    }

    @Test(
        arguments: [
            (0x2A08, "2025-03-09T08:05:01", [0xE9, 0x07, 3, 9, 8, 5, 1]),
            (0x2A08, "2024-02-29 08:05", [0xE8, 0x07, 2, 29, 8, 5, 0]), (0x2A08, "not known", [0, 0, 0, 0, 0, 0, 0]),
            (0x2A08, "2025-??-09 08:05:01", [0xE9, 0x07, 0, 9, 8, 5, 1]),
            (0x2AC1, "2025-03-09T08:05:01", [0xE9, 0x07, 3, 9, 8, 5, 1]),
            (
                0x2A2B,
                "date-time=2025-03-09T08:05:01; day-of-week=sunday; fractions256=0; adjust-reason=manual time update",
                [0xE9, 0x07, 3, 9, 8, 5, 1, 7, 0, 1]
            ),
            (0x2A0A, "day of week = 7, date time = ????-03-09 23:59:59", [0, 0, 3, 9, 23, 59, 59, 7]),
        ] as [(UInt32, String, [UInt8])])
    func `dates are ISO 8601`(_ characteristic: UInt32, _ text: String, _ expected: [UInt8]) throws {
        #expect(try bytes(characteristic, text) == expected)
    }

    @Test(
        arguments: [
            (0x2A37, "heart-rate=72", [0x00, 72]), (0x2A37, "heart-rate=328 bpm", [0x01, 0x48, 0x01]),
            (
                0x2A37, "rr-interval=1, 0.875 s; heart rate=72; flags=sensor contact supported+sensor contact detected",
                [0x16, 72, 0x00, 0x04, 0x80, 0x03]
            ),
            (0x2A37, "energy-expended=2 kJ, heart-rate=72", [0x08, 72, 2, 0]),
            (0x2A9D, "weight=76.955 kg", [0x00, 0x1F, 0x3C]), (0x2A9D, "weight=100 lb", [0x01, 0x10, 0x27]),
            (0x2A9D, "weight=100, height=72 in, bmi=25", [0x09, 0x10, 0x27, 0xFA, 0x00, 0xD0, 0x02]),
            (0x2A9D, "weight=76.955kg, user-id=unknown user", [0x04, 0x1F, 0x3C, 0xFF]),
            (0x2B4D, "threshold-as-heart-rate=150", [4, 150]), (0x2B4D, "field-selector=0", [0]),
            (0x2AAB, "cgm-session-run-time=24 h", [24, 0]),
            (0x2AAB, "cgm-session-run-time=24 h, e2e-crc=4660", [24, 0, 0x34, 0x12]),
            (
                0x2BED,
                "power-state=battery present, battery charge state: charging; battery-level=80",
                [0x02, 0x21, 0x00, 80]
            ),
            (
                0x2AA7, "cgm-glucose-concentration=100 mg/dL, time-offset=5, cgm-quality=95",
                [8, 0x02, 100, 0, 5, 0, 95, 0]
            ),
        ] as [(UInt32, String, [UInt8])])
    func `fields announce themselves`(_ characteristic: UInt32, _ text: String, _ expected: [UInt8]) throws {
        #expect(try bytes(characteristic, text) == expected)
    }

    @Test(
        arguments: [
            (.boolean, 0, "on", [1]), (.uint16, -1, "21.5 °C", [215, 0]), (.sint24, 0, "-2", [0xFE, 0xFF, 0xFF]),
            (.uint64, 0, "18446744073709551615", [UInt8](repeating: 0xFF, count: 8)),
            (.float32, 0, "1.5", [0, 0, 0xC0, 0x3F]), (.medfloat16, 0, "36.0 °C", [0x68, 0xF1]),
            (.utf8, 0, " 50 % ", Array(" 50 % ".utf8)), (.utf16, 0, "é", [0xE9, 0]), (.opaque, 0, "0a0b", [10, 11]),
            (.init(rawValue: 0x18), 0, "partition=2, code=19380", [2, 0, 0xB4, 0x4B]),
        ] as [(PresentationFormat.Format, Int8, String, [UInt8])])
    func `a format that a descriptor describes is encoded`(
        _ format: PresentationFormat.Format, _ exponent: Int8, _ text: String, _ expected: [UInt8]
    ) throws {
        let presentation = PresentationFormat(format: format, exponent: exponent, unit: BluetoothUUID(0x272F))
        #expect(try ValueFormat(presentation).encode(text: text) == expected)
    }
}
