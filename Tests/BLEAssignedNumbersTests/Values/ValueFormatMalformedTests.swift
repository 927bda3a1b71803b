import BLE
import BLETestSupport
import Testing

@testable import BLEAssignedNumbers

/// Bytes that are not a value of a format.
@Suite struct ValueFormatMalformedTests {
    @Test(
        arguments: [
            (0x2A19, []), (0x2A19, [50, 0]),
            (0x2A6E, [0x59]), (0x2A6E, [0x59, 0x08, 0x00]),
            // Below absolute zero; above 100 %; beyond the byte's range.
            (0x2A6E, [0x4C, 0x95]), (0x2A6F, [0x11, 0x27]), (0x2B04, [201]), (0x2AE2, [2]), (0x2AE7, [101]),
            (0x2A37, []), (0x2A37, [0x00]), (0x2A37, [0x01, 72]), (0x2A37, [0x08, 72, 1]),
            (0x2A37, [0x10, 72, 1, 2, 3]),
            (0x2A2B, [0xE9, 0x07, 3, 9, 8, 5, 1, 7, 0]), (0x2A2B, [0xE9, 0x07, 3, 9, 8, 5, 1, 7, 0, 1, 0]),
            (0x2A29, [0xFF]), (0x2AF8, Array("Acme".utf8)), (0x2BFF, [0x01] + Array("(01)".utf8)),
            (0x2A47, []), (0x2A47, [UInt8](repeating: 0, count: 9)),
            (0x2ABF, [0x01, 0x02, 0x03]), (0x2ABF, []), (0x2B46, [0x01, 0x02, 0x03]),
            (0x2C21, []), (0x2C21, [0, 0]),
            (0x2B4D, [1]), (0x2B4D, [0, 0]),
            (0x2AA7, []), (0x2AA7, [0]), (0x2AA7, [5, 0, 0, 0, 0]), (0x2AA7, [7, 0, 0, 0, 0, 0]),
            (0x2AA7, [6, 0, 0, 0, 0, 0, 6]),
        ] as [(UInt32, [UInt8])])
    func `a missing, truncated, prohibited or additional field is an error`(
        _ characteristic: UInt32, _ bytes: [UInt8]
    ) async throws {
        let format = try #require(ValueFormat(of: BluetoothUUID(characteristic)))
        await expectError(.invalidValue) { try format.decode(bytes) }
    }

    @Test(
        arguments: [
            "", "u2", "u9 A", "s0 A", "m3 A", "q A", "u2 A;", "u2 A;y", "u2 A;?x", "u2 A;?0.64=1", "u2 A;?0=1",
            "u2 A;#", "u2 A;[1",
            "u2 A;[2,1", "u2 A;!zz:a", "u2 A;!1", "b1 A;&64:a", "b9 A", "@ffff A", "@2aa7 A", "u2 A|", "u2 A;e",
            "u2 A;*x",
            "%17 A", "T2 A", "t-1 A",
        ])
    func `text outside the notation is not a format`(_ notation: String) {
        #expect(ValueFormat(notation: notation) == nil)
    }

    @Test func `every format is in the notation and decodes whatever comes`() throws {
        var generator = SeededGenerator(seed: 2026)
        var decoded: Set<UInt16> = []
        let entries = NumberTable.formats.entries { _ in true }
        for (number, notation) in entries {
            let format = try #require(ValueFormat(of: BluetoothUUID(UInt32(number))), "\(notation)")
            #expect(format.fields.allSatisfy { !$0.name.isEmpty })
            for count in 0...40 {
                for round in 0..<8 {
                    // Small numbers are the valid flags and choices, and text.
                    let limit: UInt8 = [255, 31, 8, 1][round % 4]
                    let bytes = (0..<count).map { _ in UInt8.random(in: 0...limit, using: &generator) }
                    guard let values = try? format.decode(bytes) else { continue }
                    decoded.insert(number)
                    #expect(values.allSatisfy(Self.isShown), "\(number) \(bytes)")
                }
            }
        }
        #expect(entries.count == 301)
        // A string of 64 bytes.
        #expect(Set(entries.map(\.number)).subtracting(decoded) == [0x2BDE])
    }

    private static func isShown(_ value: FieldValue) -> Bool {
        if case .text(let text) = value.content { value.description == text } else { !value.description.isEmpty }
    }
}
