import BLE
import BLETestSupport
import Testing

@Suite struct PresentationFormatTests {
    @Test(
        arguments: [
            // Temperature in 0.01 °C, inside.
            (
                [0x0E, 0xFE, 0x2F, 0x27, 0x01, 0x0D, 0x01],
                PresentationFormat(
                    format: .sint16, exponent: -2, unit: BluetoothUUID(0x272F), description: 0x010D)
            ),
            ([0x19, 0, 0x00, 0x27, 1, 0, 0], PresentationFormat(format: .utf8)),
            (
                [0xFF, 0x7F, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF],
                PresentationFormat(
                    format: .init(rawValue: 0xFF), exponent: 127, unit: BluetoothUUID(0xFFFF),
                    namespace: .init(rawValue: 0xFF), description: 0xFFFF)
            ),
        ] as [([UInt8], PresentationFormat)])
    func `seven bytes spell a format, and back`(_ bytes: [UInt8], _ format: PresentationFormat) throws {
        #expect(try PresentationFormat(bytes: bytes) == format)
        #expect(try PresentationFormat(bytes: bytes + [1, 2]) == format)
        #expect(format.bytes == bytes)
    }

    @Test(arguments: 0..<7) func `fewer bytes are no format`(_ count: Int) async {
        await expectError(.invalidValue) { try PresentationFormat(bytes: [UInt8](repeating: 1, count: count)) }
    }

    @Test func `a unit without a short form is encoded as unitless`() {
        let unit = BluetoothUUID(high: 1, low: 2)
        #expect(PresentationFormat(format: .uint8, unit: unit).bytes == [4, 0, 0x00, 0x27, 1, 0, 0])
    }
}
