import BLE
import BLEAssignedNumbers
import BLEDefinitions
import Foundation
import Testing

@testable import BLECommand

/// Values in JSON.
@Suite struct ShownValueTests {
    private func fields(_ format: ValueFormat?, _ bytes: [UInt8]) throws -> [[String: Any]] {
        let value = ShownValue(bytes, format, guessing: false)
        let data = Data(JSON.object(value.json).text.utf8)
        let object = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
        return try #require(object["fields"] as? [[String: Any]])
    }

    private func field(_ uuid: UInt32, _ bytes: [UInt8]) throws -> [String: Any] {
        try #require(try fields(ValueFormat(of: BluetoothUUID(uuid)), bytes).first)
    }

    @Test func `a choice is its name or null, and its number`() throws {
        let known = try field(0x2A38, [1])
        #expect(known["value"] as? String == "Chest")
        #expect(known["raw"] as? Int == 1)
        let reserved = try field(0x2A38, [200])
        #expect(reserved["value"] is NSNull)
        #expect(reserved["raw"] as? Int == 200)
    }

    @Test func `flags have the bits without names as well`() throws {
        let flags = try field(0x2A37, [0xE8, 72, 1, 0])
        #expect(flags["value"] as? [String] == [])
        #expect(flags["raw"] as? Int == 0xE8)
    }

    @Test(
        arguments: [
            ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x1F, 0], .int(9_007_199_254_740_991)),
            ([0, 0, 0, 0, 0, 0, 0x20, 0], .int(9_007_199_254_740_992)),
            ([1, 0, 0, 0, 0, 0, 0x20, 0], .digits("9007199254740993")),
            ([0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF], .digits("18446744073709551615")),
        ] as [([UInt8], Raw)])
    func `an integer is a number, and has its digits where that need not be exact`(_ bytes: [UInt8], _ raw: Raw) throws
    {
        let format = ValueFormat(PresentationFormat(format: .uint64))
        let field = try #require(try fields(format, bytes).first)
        #expect(field["value"] is NSNumber)
        switch raw {
        case .int(let value): #expect(field["raw"] as? Int == value)
        case .digits(let digits): #expect(field["raw"] as? String == digits)
        }
    }

    enum Raw {
        case int(Int)
        case digits(String)
    }

    @Test func `every field has the same keys`() throws {
        let all =
            try fields(ValueFormat(of: BluetoothUUID(0x2A37)), [0x10, 72, 0, 4])
            + fields(ValueFormat(of: BluetoothUUID(0x2A6E)), [0, 0])
            + fields(ValueFormat(of: BluetoothUUID(0x2A00)), [65])
        #expect(all.count > 4)
        for field in all { #expect(Set(field.keys) == ["name", "value", "raw", "unit", "text"]) }
    }

    @Test func `names are the SIG's`() throws {
        let names = try fields(ValueFormat(of: BluetoothUUID(0x2A37)), [0x01, 72, 0]).compactMap {
            $0["name"] as? String
        }
        #expect(names.contains("Heart Rate Measurement Value (16 bit resolution)"))
    }
}
