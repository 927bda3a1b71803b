import BLE
import BLEDefinitions
import FoundationEssentials
import Testing

struct DataLayoutTests {
    private func format(_ text: String) throws -> DataLayout {
        let formats = try DataLayout.layouts(Entry(text: Data(#"{"f": {\#(text)}}"#.utf8)))
        return try #require(formats["f"])
    }

    /// The values in data, by their names.
    private func values(_ text: String, _ data: String) throws -> [String: SensorReading.Value] {
        let fields = try format(text).readings(in: try #require(Hex.bytes(data)))
        return Dictionary(uniqueKeysWithValues: fields.map { ($0.name, $0.value) })
    }

    @Test(
        arguments: [
            ("u8", "ff", 255, 255), ("i8", "ff", -1, -1), ("i8", "80", -128, -128), ("u16", "0102", 0x0201, 0x0102),
            ("i16", "fffe", -257, -2), ("u24", "010203", 0x03_0201, 0x01_0203), ("i24", "ffffff", -1, -1),
            ("u32", "ffffffff", 4_294_967_295, 4_294_967_295), ("i32", "80000000", 128, -2_147_483_648),
            ("f32", "0000aa41", 21.25, 6.1076e-41),
        ] as [(String, String, Double, Double)])
    func `a number has its type and its order of bytes`(
        type: String, data: String, little: Double, big: Double
    ) throws {
        let fields = #""fields": {"a": {"at": 1, "type": "\#(type)"}}"#
        #expect(try values(fields, "00" + data) == ["a": .number(little)])
        guard case .number(let number) = try values(#""order": "big", "# + fields, "00" + data)["a"] else {
            Issue.record("no number")
            return
        }
        #expect(abs(number - big) <= abs(big) * 1e-4)
    }

    @Test(
        arguments: [
            (#""factor": 0.1"#, "d500", 21.3), (#""factor": 0.35"#, "0300", 1.05),
            (#""factor": 0.005"#, "3930", 61.725),
            (#""factor": 1e-9"#, "0700", 7e-9), (#""factor": 1000000000"#, "0700", 7e9), (#""factor": 2"#, "0700", 14),
            (#""factor": -0.1, "add": 3"#, "0100", 2.9), (#""factor": 0.01, "add": -273.15"#, "a374", 25.44),
            (#""add": -40"#, "0100", -39), (#""factor": 0.123456789012345, "add": 1e-9"#, "0100", 0.123456790012345),
            // Too many digits for an exact result.
            (#""factor": 123456789.12345678, "add": 1e-300"#, "0100", 123_456_789.12345678),
        ] as [(String, String, Double)])
    func `a scaled number is the one nearest to its digits`(scale: String, data: String, value: Double) throws {
        #expect(
            try values(#""fields": {"a": {"at": 0, "type": "u16", \#(scale)}}"#, data) == ["a": .number(value)])
    }

    @Test func `a number of 32 bits has its shortest digits`() throws {
        // 21.3 as the nearest Float.
        #expect(try values(#""fields": {"a": {"at": 0, "type": "f32"}}"#, "6666aa41") == ["a": .number(21.3)])
        #expect(try values(#""fields": {"a": {"at": 0, "type": "f32"}}"#, "0000c07f") == [:])
        #expect(try values(#""fields": {"a": {"at": 0, "type": "f32"}}"#, "0000807f") == [:])
    }

    @Test func `a bit is a flag`() throws {
        let bits = #""fields": {"low": {"at": 1, "type": "bit", "bit": 0}, "high": {"at": 1, "type": "bit", "bit": 7}}"#
        #expect(try values(bits, "0080") == ["low": .flag(false), "high": .flag(true)])
        #expect(try values(bits, "0001") == ["low": .flag(true), "high": .flag(false)])
    }

    @Test func `what is not known has no value`() throws {
        let fields = #""fields": {"a": {"at": 0, "type": "i16", "unknown": [-32768, 32767]}}"#
        #expect(try values(fields, "0080") == [:])
        #expect(try values(fields, "ff7f") == [:])
        #expect(try values(fields, "ffff") == ["a": .number(-1)])
    }

    @Test func `data that is too short has the fields that it is long enough for`() throws {
        let fields = #""fields": {"a": {"at": 0, "type": "u8"}, "b": {"at": 1, "type": "u16"}}"#
        #expect(try values(fields, "01") == ["a": .number(1)])
        #expect(try values(fields, "0102") == ["a": .number(1)])
        #expect(try values(fields, "010200") == ["a": .number(1), "b": .number(2)])
        #expect(try values(fields, "") == [:])
    }

    @Test func `data with another beginning or length has no fields`() throws {
        let fields = #""begins": "0305", "length": 3, "fields": {"a": {"at": 2, "type": "u8"}}"#
        #expect(try values(fields, "030507") == ["a": .number(7)])
        for data in ["030607", "0305", "03050700", ""] { #expect(try values(fields, data) == [:]) }
    }

    @Test func `an advertisement has the values of its company or service, and no others`() throws {
        let fields = #""fields": {"a": {"at": 0, "type": "u8", "unit": "%"}}"#
        let company = try format(#""company": "0499", "# + fields)
        let advertisement = Advertisement(
            manufacturerData: [0x0499: [7], 0x0059: [8]], serviceData: [BluetoothUUID(0xFCD2): [9]])
        #expect(company.readings(in: advertisement) == [SensorReading(name: "a", value: .number(7), unit: "%")])
        #expect(try format(#""service": "fcd2", "# + fields).readings(in: advertisement).map(\.value) == [.number(9)])
        #expect(company.readings(in: Advertisement()) == [])
        #expect(try format(fields).readings(in: advertisement) == [])
    }

    @Test func `bytes of any number and with all or no bits are read`() throws {
        let integers: [UInt8: Double] = [
            0: -1e9, 0x7F: 8_355_711 * 1e9 - 1e9, 0x80: -8_355_712 * 1e9 - 1e9, 0xFF: -2e9,
        ]
        // The shortest decimal numbers of the bits 7F7F7F7F and 80808080.
        let floats: [UInt8: Double] = [0: 0, 0x7F: 3.3961514e38, 0x80: -1.180104e-38]
        let format = try format(
            #""fields": {"a": {"at": 0, "type": "i24", "factor": 1e9, "add": -1e9}, "b": {"at": 3, "type": "f32"}, "c": {"at": 511, "type": "u8"}}"#
        )
        for count in 0..<600 {
            for byte: UInt8 in [0, 0x7F, 0x80, 0xFF] {
                let values = Dictionary(
                    uniqueKeysWithValues: format.readings(in: [UInt8](repeating: byte, count: count)).map {
                        ($0.name, $0.value)
                    })
                var expected: [String: SensorReading.Value] = [:]
                if count >= 3 { expected["a"] = .number(integers[byte] ?? .nan) }
                // All bits of FF are no number.
                if count >= 7, byte != 0xFF { expected["b"] = .number(floats[byte] ?? .nan) }
                if count >= 512 { expected["c"] = .number(Double(byte)) }
                #expect(values == expected, "\(count) bytes \(byte)")
            }
        }
    }
}
