import BLE
import BLEAssignedNumbers
import Testing

/// Comparing values with fields that a text gives.
struct GivenFieldTests {
    private static func accepts(_ text: String, _ value: [UInt8], of characteristic: UInt32) throws -> Bool {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        return GivenField.areMet(try format.given(text: text), by: try format.decode(value))
    }

    @Test(
        arguments: [
            ("heart-rate=72", true), ("heart-rate=71", false), ("heart-rate=72 bpm, rr-interval=0.833", true),
            ("RR-interval=0.833,0.875", true), ("RR-interval=0.875,0.833", false), ("RR-interval=0.88", true),
            ("RR-interval=0.833,0.833", false), ("RR-interval=0.834", false), ("energy-expended=5", false),
        ])
    func `given fields are found in their order, and numbers that the field cannot have at their last digit`(
        _ text: String, _ isMet: Bool
    ) throws {
        #expect(try Self.accepts(text, [0x10, 72, 0x55, 0x03, 0x80, 0x03], of: 0x2A37) == isMet)
    }

    @Test(arguments: [("systolic=120", true), ("systolic=120 mmHg", true), ("systolic=120 kPa", false)])
    func `fields that a value must have need not be given`(_ text: String, _ isMet: Bool) throws {
        #expect(try Self.accepts(text, [0, 120, 0, 80, 0, 90, 0], of: 0x2A35) == isMet)
    }

    @Test(
        arguments: [
            ("21.37 °C", true), ("21.370", true), ("21.38", false), ("21.4", false), ("21", false), ("unknown", false),
        ])
    func `a number that the field can have is compared exactly`(_ text: String, _ isMet: Bool) throws {
        #expect(try Self.accepts(text, [0x59, 0x08], of: 0x2A6E) == isMet)
    }

    @Test(arguments: ["21.375", "400", "x", "21 %", ""])
    func `what the value can never be is an error`(_ text: String) throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(0x2A6E)))
        let error = #expect(throws: BLEError.self) { try format.given(text: text) }
        #expect(error?.code == .invalidValue)
    }

    @Test func `special values, choices and times are compared as they are shown`() throws {
        #expect(try Self.accepts("value is not known", [0x00, 0x80], of: 0x2A6E))
        #expect(try Self.accepts("Chest", [1], of: 0x2A38))
        #expect(try !Self.accepts("Wrist", [1], of: 0x2A38))
        #expect(try Self.accepts("2026-03-01T12:00:00", [0xEA, 0x07, 3, 1, 12, 0, 0], of: 0x2A08))
        #expect(try !Self.accepts("2026-03-01T12:00:01", [0xEA, 0x07, 3, 1, 12, 0, 0], of: 0x2A08))
    }
}
