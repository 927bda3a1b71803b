import BLE
import BLEAssignedNumbers
import BLETestSupport
import Testing

/// Text and fields that no value has.
@Suite struct ValueEncodingMalformedTests {
    /// The message of the error that the text causes.
    private func mistake(_ characteristic: UInt32, _ text: String) throws -> String {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        let error = try #require(throws: BLEError.self) { try format.encode(text: text) }
        #expect(error.code == .invalidValue)
        return error.message
    }

    @Test(
        arguments: [
            (0x2A19, "300%", "Battery Level is 300 %, which is not from 0 % to 255 %"),
            (0x2A6F, "100.01", "Humidity is 100.01 %, which is not from 0 % to 100 %"),
            (0x2A6E, "-300", "Temperature is -300 °C, which is not from -273.15 °C to 327.67 °C"),
            (0x2B18, "1023.984375", "Voltage Value is 1023.984375 V, which is not from 0 V to 1023.96875 V"),
            (
                0x2A6E, "21.375",
                "Temperature is 21.375 °C, which cannot be encoded exactly: the nearest values are 21.37 °C and 21.38 °C"
            ),
            (
                0x2A6E, "-21.375",
                "Temperature is -21.375 °C, which cannot be encoded exactly: the nearest values are -21.38 °C and -21.37 °C"
            ),
            (
                0x2BCF, "204.85 kg/m³",
                "Ammonia Concentration is 204.85 kg/m³, which cannot be encoded exactly: the nearest values are "
                    + "204.7 kg/m³ and 205 kg/m³"
            ),
            (0x2A6E, "21.5 K", "Temperature cannot be in “K”: its unit is °C"),
            (0x2A99, "5 kg", "Database Change Increment cannot be in “kg”: it has no unit"),
            (0x2A6E, "warm", "Temperature is a number in °C, not “warm”"),
            (0x2A6E, "", "Temperature is a number in °C, not “”"),
            (0x2A06, "loud", "Alert Level has no value “loud”, but No Alert, Mild Alert, High Alert"),
            (0x2A49, "call", "Blood Pressure Feature has no flag “call”"),
            (
                0x2AA5, "authorization code required for it",
                "Bond Management Feature has several flags “authorization code required for it”: give the number of all "
                    + "bits"
            ),
            (0x2A9D, "weight=100", "Weight needs a unit: kg or lb"),
            (0x2A37, "energy-expended=2", "Heart Rate is missing"),
            (
                0x2A37, "pulse=72",
                "there is no field “pulse”, but Flags, Heart Rate, Energy Expended, RR-interval"
            ),
            (
                0x2A37, "72",
                "the value has several fields, given as name=value: Flags, Heart Rate, Energy Expended, RR-interval"
            ),
            (0x2AF8, "more than 8", "Fixed String has 11 bytes in UTF-8, more than 8"),
            (
                0x2A08, "2025-02-29T08:05:01",
                "the value is “2025-02-29T08:05:01”, which is not a date and time from the year 1582 on"
            ),
            (0x2A08, "2025-03-09", "the value is a date and time such as 2026-03-01T12:00:00, not “2025-03-09”"),
            (0x2A23, "0102", "EUI-64 has 2 bytes, not 8"),
            (0x2ABF, "nothing", "Object Type is a UUID, not “nothing”"),
        ] as [(UInt32, String, String)])
    func `an error has the field's name, its range and its unit`(
        _ characteristic: UInt32, _ text: String, _ message: String
    ) throws {
        #expect(try mistake(characteristic, text) == message)
    }

    /// The formats of a number of each kind, of structures and names.
    private static let kinds: [UInt32] = [
        0x2A19, 0x2A6E, 0x2A37, 0x2BCF, 0x2AE8, 0x2B13, 0x2AA7, 0x2A06, 0x2A49, 0x2A08,
    ]

    @Test(
        arguments: [
            "340282366920938463463374607431768211456", "1e400", "-1e400", "1e-400", "1e99999999999999999999", "nan",
            "NaN", "inf", "0x", "--5", "5.5.5", "5e", "e5", ".", "+", "٥", "\u{0}", "5\u{0}", "1e39",
        ])
    func `a number beyond all bounds is an error in every format`(_ text: String) async throws {
        for characteristic in Self.kinds {
            let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
            await expectError(.invalidValue) { try format.encode(text: text) }
        }
    }

    @Test(arguments: [
        ("9", 1_000_000), ("9", 16_000), (",", 16_000), ("=", 16_000), ("a=1,", 4_000), ("flags=,", 2_000),
    ])
    func `a long text is an error in every format`(_ part: String, _ count: Int) async throws {
        for characteristic in Self.kinds {
            let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
            await expectError(.invalidValue) { try format.encode(text: String(repeating: part, count: count)) }
        }
    }

    @Test func `a number without an end of its decimals is not zero`() async throws {
        for characteristic: UInt32 in [0x2A19, 0x2A6E, 0x2AE8, 0x2BCF, 0x2B13] {
            let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
            await expectError(.invalidValue) {
                try format.encode(text: "0." + String(repeating: "0", count: 16_000) + "1")
            }
        }
    }

    @Test func `a Double that is not a number is an error`() async throws {
        for characteristic: UInt32 in [0x2A19, 0x2A6E, 0x2AE8, 0x2BCF, 0x2B13] {
            let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
            let name = format.fields[0].name
            for value in [Double.nan, .infinity, -.infinity, 1e300, -1e300] {
                await expectError(.invalidValue) { try format.encode([FieldValue(name, .number(value))]) }
            }
            await expectError(.invalidValue) { try format.encode([FieldValue(name, .special("moon"))]) }
            await expectError(.invalidValue) { try format.encode([FieldValue(name, .fields([]))]) }
            await expectError(.invalidValue) { try format.encode([FieldValue(name, .text("5"))]) }
            await expectError(.invalidValue) { try format.encode([]) }
            let five = FieldValue(name, .integer(5))
            await expectError(.invalidValue) { try format.encode([five, five]) }
        }
    }

    @Test func `a size that a record does not have is an error`() async throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2AA7)))
        let fields = [
            FieldValue("Size", .integer(9)), FieldValue("CGM Glucose Concentration", .number(100)),
            FieldValue("Time Offset", .integer(5)),
        ]
        await expectError(.invalidValue) { try format.encode([FieldValue("Record", .fields(fields))]) }
        await expectError(.invalidValue) { try format.encode(fields) }
        let record = FieldValue("Record", .fields(Array(fields.dropFirst())))
        #expect(try format.encode([record, record]) == [6, 0, 100, 0, 5, 0, 6, 0, 100, 0, 5, 0])
    }

    @Test func `bytes behind a field that has all of them are an error`() async throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2A64)))
        let forces = FieldValue("Instantaneous Force Magnitude Array", .integer(5))
        let torques = FieldValue("Instantaneous Torque Magnitude Array", .integer(1))
        #expect(try format.encode([forces, forces]) == [0b0100, 5, 0, 5, 0])
        #expect(try format.encode([torques]) == [0b1000, 32, 0])
        await expectError(.invalidValue) { try format.encode([forces, torques]) }
    }

    @Test func `flags that announce a field that is not given are an error, and the other way round`() async throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2A37)))
        let rate = FieldValue("Heart Rate", .integer(72))
        #expect(try format.encode([rate]) == [0, 72])
        await expectError(.invalidValue) { try format.encode([FieldValue("Flags", .flags(8, names: [])), rate]) }
        await expectError(.invalidValue) {
            try format.encode([
                FieldValue("Flags", .flags(0, names: [])), rate, FieldValue("Energy Expended", .integer(2)),
            ])
        }
        await expectError(.invalidValue) { try format.encode([FieldValue("Flags", .flags(256, names: [])), rate]) }
    }

    @Test(arguments: ["99999999999999999999999999999999999999e1", "340282366920938463463374607431768211455e3", "1e300"])
    func `a number with more digits than a medical float is refused`(number: String) throws {
        #expect(try mistake(0x2A5E, "spo2=\(number), pr=60").contains(number.prefix(1)))
    }
}
