import BLE
import BLEAssignedNumbers
import Testing

@testable import BLECommand

/// The text of fields for people.
@Suite struct PeopleTextTests {
    private func shown(_ uuid: UInt32, _ bytes: [UInt8]) -> String {
        ShownValue(bytes, ValueFormat(of: BluetoothUUID(uuid)), guessing: false).plainText
    }

    @Test(
        arguments: [
            (
                0x2A37, [0x1F, 72, 0, 10, 0, 0x55, 0x03],
                "Heart Rate: 72 bpm; Energy Expended: 10 kJ; RR-interval: 0.833 s"
            ),
            (0x2A37, [0x08, 72, 9, 0], "Heart Rate: 72 bpm; Energy Expended: 9 kJ"),
            (0x2A6E, [0x59, 0x08], "21.37 °C"), (0x2A19, [80], "80 %"),
        ] as [(UInt32, [UInt8], String)])
    func `names without bits, energies in kilojoules, fractions with four digits`(
        _ uuid: UInt32, _ bytes: [UInt8], _ text: String
    ) {
        let shown = shown(uuid, bytes)
        #expect(shown == text || shown.hasSuffix(text))
    }

    @Test(arguments: [(1, "0.001 s"), (512, "0.5 s"), (853, "0.833 s"), (1025, "1.001 s"), (5, "0.0049 s")])
    func `parts of 1024 are rounded`(_ parts: UInt16, _ text: String) throws {
        let fields = try #require(ValueFormat(of: BluetoothUUID(0x2A37)))
            .decode([0x10, 72, UInt8(parts & 0xFF), UInt8(parts >> 8)])
        #expect(fields.last?.description == text)
    }

    @Test func `decimal fractions stay as they are`() throws {
        let format = PresentationFormat(format: .sint32, exponent: -7, unit: BluetoothUUID(0x2763))
        let fields = try ValueFormat(format).decode([0x87, 0xD6, 0x12, 0x1C])
        #expect(fields.map(\.description) == ["47.0996615°"])
    }

    @Test func `text of a peripheral does not command the terminal`() throws {
        #expect(shown(0x2A00, Array("A\u{1B}[8m\nB".utf8)) == "A\u{FFFD}[8m\u{FFFD}B")
    }
}
