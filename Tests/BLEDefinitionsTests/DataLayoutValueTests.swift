import BLE
import BLEAssignedNumbers
import BLEDefinitions
import Testing

/// Values of characteristics with a vendor's layout.
struct DataLayoutValueTests {
    private static func layout(_ text: String) throws -> DataLayout {
        let json = #"{"characteristics": {"ff01": \#(text)}}"#
        return try #require(try VendorDefinition(json: json.utf8).values[BluetoothUUID(0xFF01)])
    }

    private static let tank = """
        {"begins": "a5", "length": 8, "order": "big", "fields": {
          "level": {"at": 1, "type": "u16", "factor": 0.1, "unit": "cm", "unknown": [65535]},
          "offset": {"at": 3, "type": "i8"}, "ratio": {"at": 4, "type": "f32"}}}
        """

    @Test(
        arguments: [
            (
                "level=4.2 cm, offset=-3; ratio=1.5", [0xA5, 0, 42, 0xFD, 0x3F, 0xC0, 0, 0],
                "level: 4.2 cm; offset: -3; ratio: 1.5"
            ),
            (
                "ratio=0,offset=127,level=unknown", [0xA5, 0xFF, 0xFF, 0x7F, 0, 0, 0, 0],
                "level: value is not known; offset: 127; ratio: 0"
            ),
        ] as [(String, [UInt8], String)])
    func `a value is encoded and decoded by its layout`(_ text: String, _ bytes: [UInt8], _ shown: String) throws {
        let layout = try Self.layout(Self.tank)
        #expect(try layout.encode(text: text) == bytes)
        #expect(FieldValue.text(try layout.decode(bytes)) == shown)
    }

    @Test func `a single field needs no name, and bits are words`() throws {
        let level = try Self.layout(#"{"fields": {"level": {"at": 1, "type": "u24", "add": 5}}}"#)
        #expect(try level.encode(text: "6") == [0, 1, 0, 0])
        #expect(try level.encode(text: " level = 6 ") == [0, 1, 0, 0])
        let bits = try Self.layout(
            #"{"fields": {"low": {"at": 0, "type": "bit", "bit": 0}, "full": {"at": 0, "type": "bit", "bit": 7}}}"#)
        #expect(try bits.encode(text: "low=no,full=on") == [0x80])
        #expect(FieldValue.text(try bits.decode([0x80])) == "full: yes; low: no")
        // What is too short has the fields that are there.
        let two = try Self.layout(#"{"fields": {"a": {"at": 0, "type": "u8"}, "b": {"at": 1, "type": "u8"}}}"#)
        #expect(FieldValue.text(try two.decode([1])) == "1")
    }

    @Test func `a value that is too short for every field is an error`() throws {
        let level = try Self.layout(#"{"fields": {"level": {"at": 1, "type": "u8"}}}"#)
        let error = #expect(throws: BLEError.self) { try level.decode([1]) }
        #expect(error?.message == "the value 0x01 is too short for the vendor's layout")
    }

    private static func accepts(_ text: String, _ layout: DataLayout, _ value: [UInt8]) throws -> Bool {
        GivenField.areMet(try layout.given(text: text), by: try layout.decode(value))
    }

    @Test func `expected fields have their whole names`() throws {
        let layout = try Self.layout(
            """
            {"fields": {"Inside - Level": {"at": 0, "type": "u8"}, "Outside - Level": {"at": 1, "type": "u8"}}}
            """)
        #expect(try Self.accepts("inside-level=20, outside-level=5", layout, [20, 5]))
        #expect(try !Self.accepts("inside-level=5, outside-level=5", layout, [20, 5]))
        #expect(try !Self.accepts("inside-level=5, outside-level=20", layout, [20, 5]))
        #expect(try Self.accepts("outside-level=5", layout, [20, 5]))
        #expect(layout.text(of: try layout.decode([20, 5])) == "Inside - Level: 20; Outside - Level: 5")
        #expect(
            GivenField.text(try layout.given(text: "outside-level=5,inside-level=1"))
                == "Outside - Level: 5; Inside - Level: 1")
    }

    @Test(
        arguments: [
            ("level=4.2", true), ("level=4 cm", false), ("level=4.3", false), ("offset=-3", true),
            ("ratio=unknown", true), ("ratio=1", false), ("level=unknown", false), ("offset=-3;level=4.2 cm", true),
        ])
    func `some fields suffice, and a float that is no number is unknown`(_ text: String, _ isMet: Bool) throws {
        let layout = try Self.layout(Self.tank)
        let notANumber: [UInt8] = [0xA5, 0, 42, 0xFD, 0x7F, 0xC0, 0, 0]
        #expect(try Self.accepts(text, layout, notANumber) == isMet)
        #expect(try layout.encode(text: "level=4.2,offset=-3,ratio=unknown") == notANumber)
    }

    @Test(arguments: [
        "level=4.25", "level=9999", "offset=unknown", "depth=1", "5", "", "level=1,level=1", "level=0x1p2",
    ])
    func `what no value of the layout can be is not expected`(_ text: String) throws {
        let layout = try Self.layout(Self.tank)
        #expect(throws: BLEError.self) { try layout.given(text: text) }
    }

    @Test(
        arguments: [
            ("level=4.25, offset=0, ratio=0", "level is 4.25 cm, which is between 4.2 cm and 4.3 cm"),
            ("level=9999, offset=0, ratio=0", "level is 9999 cm, which is not from 0 cm to 6553.5 cm"),
            ("level=6553.5, offset=0, ratio=0", "level is 6553.5 cm, which means that it is not known"),
            ("level=x, offset=0, ratio=0", "level is a number in cm"),
            ("level=nan, offset=0, ratio=0", "level is a number in cm"),
            ("level=1, offset=128, ratio=0", "offset is 128, which is not from -128 to 127"),
            ("level=1, offset=unknown, ratio=0", "offset is always known"),
            ("level=1, offset=0, ratio=1e39", "ratio is too large"), ("level=1, ratio=1", "not given: offset"),
            ("level=1, level=1, offset=1, ratio=1", "level is given twice"),
            ("depth=1", "there is no field “depth”, but level, offset, ratio"),
            ("5", "the value has several fields, given as name=value: level, offset, ratio"),
        ])
    func `what a layout does not allow is an error that names the field`(_ text: String, _ message: String) throws {
        let layout = try Self.layout(Self.tank)
        let error = #expect(throws: BLEError.self) { try layout.encode(text: text) }
        #expect(error?.code == .invalidValue)
        #expect(error?.message == message)
    }

    @Test(arguments: [[], [0xA4, 0, 0, 0, 0, 0, 0, 0], [0xA5, 0]] as [[UInt8]])
    func `a value without the layout is an error`(_ value: [UInt8]) throws {
        let layout = try Self.layout(Self.tank)
        #expect(throws: BLEError.self) { try layout.decode(value) }
    }
}
