import BLE
import BLEAssignedNumbers
import BLEProfiles
import Testing

/// Structures whose fields depend on others.
@Suite struct ValueFormatPresenceTests {
    /// Name and text of each field except the flags.
    private func fields(_ characteristic: UInt32, _ bytes: [UInt8]) throws -> [String] {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        return try format.decode(bytes).filter { $0.name != "Flags" }.map { "\($0.name) = \($0)" }
    }

    private static let rate8 = "Heart Rate Measurement Value (8 bit resolution) = 72 bpm"
    private static let rate16 = "Heart Rate Measurement Value (16 bit resolution) = 328 bpm"

    @Test(
        arguments: [
            ([0x00, 72], [rate8]),
            ([0x01, 0x48, 0x01], [rate16]),
            ([0x06, 72], [rate8]),
            ([0x08, 72, 0x02, 0x00], [rate8, "Energy Expended = 2 kJ"]),
            ([0x10, 72, 0x00, 0x04, 0x80, 0x03], [rate8, "RR-interval = 1 s", "RR-interval = 0.875 s"]),
            ([0x10, 72], [rate8]),
            (
                [0x1F, 0x48, 0x01, 0x02, 0x00, 0x00, 0x04],
                [rate16, "Energy Expended = 2 kJ", "RR-interval = 1 s"]
            ),
            // Fields that a later version announces with a reserved bit.
            ([0x20, 72, 0xAA], [rate8]),
        ] as [([UInt8], [String])])
    func `a heart rate measurement has what its flags announce`(_ bytes: [UInt8], _ expected: [String]) throws {
        #expect(try fields(0x2A37, bytes) == expected)
    }

    @Test func `flags have names, but for those that only announce fields`() throws {
        let values = try #require(ValueFormat(of: BluetoothUUID(0x2A37))).decode([0x16, 72, 0x00, 0x04])
        #expect(
            values[0].content
                == .flags(0x16, names: ["Sensor Contact detected", "Sensor Contact Supported"]))
    }

    @Test(
        arguments: [
            (0x02, ["Glucose Concentration = 92 mg/dL", "Type = Capillary Whole blood", "Sample Location = Finger"]),
            (
                0x06,
                ["Glucose Concentration = 0.92 mmol/L", "Type = Capillary Whole blood", "Sample Location = Finger"]
            ),
            (0x00, []),
        ] as [(UInt8, [String])])
    func `a glucose measurement's unit depends on a flag`(_ flags: UInt8, _ expected: [String]) throws {
        // 92 × 10^-5, in kg/l or in mol/l
        let measured: [UInt8] = flags & 2 == 0 ? [] : [92, 0xB0, 0x11]
        let values = try fields(0x2A18, [flags, 7, 0, 0xE9, 0x07, 1, 31, 0, 0, 0] + measured)
        #expect(values == ["Sequence Number = 7", "Base Time = 2025-01-31 00:00:00"] + expected)
    }

    @Test(
        arguments: [
            ([0x00, 0x1F, 0x3C], ["Weight = 76.955 kg"]),
            ([0x01, 0x10, 0x27], ["Weight = 100 lb"]),
            ([0x08, 0x1F, 0x3C, 0xFA, 0x00, 0xD0, 0x07], ["Weight = 76.955 kg", "BMI = 25 kg/m²", "Height = 2 m"]),
            ([0x09, 0x10, 0x27, 0xFA, 0x00, 0xD0, 0x02], ["Weight = 100 lb", "BMI = 25 kg/m²", "Height = 72 in"]),
            ([0x04, 0x1F, 0x3C, 0xFF], ["Weight = 76.955 kg", "User ID = unknown user"]),
        ] as [([UInt8], [String])])
    func `a weight measurement is metric or imperial`(_ bytes: [UInt8], _ expected: [String]) throws {
        #expect(try fields(0x2A9D, bytes) == expected)
    }

    @Test(
        arguments: [
            ([0x00, 0x00, 0x00], []),
            ([0x02, 0x00, 0x00, 80], ["Battery Level = 80 %"]),
            (
                [0x07, 0x00, 0x00, 0x06, 0x01, 80, 0x05],
                [
                    "Identifier = 262", "Battery Level = 80 %",
                    "Additional Status = Service Required: True, Battery Fault",
                ]
            ),
        ] as [([UInt8], [String])])
    func `a battery level status has what its flags announce`(_ bytes: [UInt8], _ expected: [String]) throws {
        #expect(try fields(0x2BED, bytes).filter { !$0.hasPrefix("Power State") } == expected)
    }

    @Test func `a thermometer's float is exact in either unit`() throws {
        #expect(
            try fields(0x2A1C, [0x00, 0x6E, 0x01, 0x00, 0xFF]) == ["Temperature Measurement Value (Celsius) = 36.6 °C"])
        #expect(
            try fields(0x2A1C, [0x07, 0xD9, 0x03, 0x00, 0xFF, 0xE9, 0x07, 3, 9, 8, 5, 1, 2]) == [
                "Temperature Measurement Value (Fahrenheit) = 98.5 °F", "Time Stamp = 2025-03-09 08:05:01",
                "Temperature Type = Body (general)",
            ])
        for (bytes, name) in [
            ([0xFF, 0xFF, 0x7F, 0], "not a number"), ([0, 0, 0x80, 0], "not at this resolution"),
            ([0xFE, 0xFF, 0x7F, 0], "infinity"), ([2, 0, 0x80, 0], "-infinity"),
        ] as [([UInt8], String)] {
            #expect(try fields(0x2A1C, [0x00] + bytes) == ["Temperature Measurement Value (Celsius) = \(name)"])
        }
    }

    @Test func `a field depends on what another is`() throws {
        #expect(try fields(0x2B4D, [0]) == ["Field Selector = No field is selected"])
        #expect(try fields(0x2B4D, [2, 65]).last == "Threshold as Metabolic Equivalent = 6.5 MET")
        #expect(try fields(0x2B4D, [4, 150]).last == "Threshold as Heart Rate = 150 bpm")
    }

    @Test(arguments: [(0x00, "1000 s"), (0x04, "100 s"), (0x08, "1 s"), (0x0C, "0.1 s")] as [(UInt8, String)])
    func `a clock's resolution depends on flags`(_ flags: UInt8, _ time: String) throws {
        #expect(
            try fields(0x2BF2, [flags, 0xE8, 0x03, 0, 0, 0, 0, 2, 4])
                == ["Time Value = \(time)", "Time Sync Source Type = GPS", "TZ/DST Offset = 4"])
    }

    @Test func `a checksum is there if bytes are`() throws {
        #expect(try fields(0x2AAB, [24, 0]) == ["CGM Session Run Time = 24 h"])
        #expect(try fields(0x2AAB, [24, 0, 0x34, 0x12]) == ["CGM Session Run Time = 24 h", "E2E-CRC = 4660"])
    }

    @Test func `records follow each other, each of its own size`() throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2AA7)))
        let values = try format.decode([6, 0x00, 100, 0x00, 5, 0] + [8, 0x02, 110, 0x00, 10, 0, 95, 0x00])
        #expect(values.map(\.name) == ["Record", "Record"])
        #expect(
            values.map(\.description) == [
                "(Size: 6; CGM Glucose Concentration: 100 mg/dL; Time Offset: 5 min)",
                "(Size: 8; CGM Glucose Concentration: 110 mg/dL; Time Offset: 10 min; CGM Quality: 95 %)",
            ])
    }
}
