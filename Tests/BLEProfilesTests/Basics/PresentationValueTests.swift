import BLE
import BLEAssignedNumbers
import BLETestSupport
import Testing

/// Values that a Characteristic Presentation Format descriptor describes.
@Suite struct PresentationValueTests {
    private static let ones = [UInt8](repeating: 0xFF, count: 16)

    @Test(
        arguments: [
            (0x01, 0, [0x01], "true °C"), (0x01, 0, [0xFE], "false °C"),
            (0x02, 0, [0xFE], "2 °C"), (0x03, 0, [0xFE], "14 °C"), (0x04, 1, [0xFE], "2540 °C"),
            (0x05, -1, [0x01, 0xF1], "25.7 °C"),
            (0x06, -2, [0x59, 0x08], "21.37 °C"), (0x07, 0, [1, 0, 1], "65537 °C"),
            (0x08, -3, [1, 0, 0, 1], "16777.217 °C"),
            (0x09, 0, [1, 0, 0, 0, 0, 1], "1099511627777 °C"),
            (0x0A, 0, Array(ones.prefix(8)), "18446744073709551615 °C"),
            (0x0B, 0, [1] + [UInt8](repeating: 0, count: 15), "1 °C"),
            (0x0B, 0, ones, "0xffffffffffffffffffffffffffffffff"),
            (0x0C, 0, [0xFF], "-1 °C"), (0x0D, 0, [0xFF, 0x0F], "-1 °C"), (0x0D, 0, [0xFF, 0xF7], "2047 °C"),
            (0x0E, -2, [0xFF, 0xFF], "-0.01 °C"), (0x0F, 0, [0, 0, 0x80], "-8388608 °C"),
            (0x10, 0, [0, 0, 0, 0x80], "-2147483648 °C"),
            (0x11, 0, Array(ones.prefix(6)), "-1 °C"),
            (0x12, 0, [0, 0, 0, 0, 0, 0, 0, 0x80], "-9223372036854775808 °C"),
            (0x13, 0, ones, "-1 °C"), (0x13, -128, ones, "-1e-128 °C"), (0x13, 127, ones, "-1e+127 °C"),
            (0x14, 3, [0, 0, 0x20, 0x41], "10 °C"), (0x15, 0, [0, 0, 0, 0, 0, 0, 0x24, 0x40], "10 °C"),
            (0x15, 0, [0, 0, 0, 0, 0, 0, 0xF0, 0xFF], "-infinity"),
            (0x16, 3, [0x6E, 0xF1], "36.6 °C"), (0x16, 0, [0x00, 0x08], "not at this resolution"),
            (0x17, 0, [0x6E, 0x01, 0x00, 0xFF], "36.6 °C"), (0x18, 0, [2, 0, 8, 0], "(Partition: 2; Code: 8)"),
            (0x19, 0, Array("Grüße".utf8), "Grüße"), (0x1A, 0, [0x47, 0x00, 0x3D, 0xD8, 0x00, 0xDE], "G😀"),
            (0x19, 0, [], ""),
            (0x1B, 0, [1, 2], "0x0102"), (0x1C, 0, [1, 2], "0x0102"), (0x1D, 0, [], "no bytes"), (0xFF, 0, [1], "0x01"),
        ] as [(UInt8, Int8, [UInt8], String)])
    func `every format has its value`(_ format: UInt8, _ exponent: Int8, _ bytes: [UInt8], _ text: String) throws {
        let presentation = PresentationFormat(
            format: .init(rawValue: format), exponent: exponent, unit: BluetoothUUID(0x272F))
        let values = try ValueFormat(presentation).decode(bytes)
        let plain = [0x01, 0x18].contains(format) ? text.replacing(" °C", with: "") : text
        #expect(FieldValue.text(values) == plain)
    }

    @Test func `what has no unit is shown without one`() throws {
        let values = try ValueFormat(PresentationFormat(format: .uint16, exponent: -1)).decode([15, 0])
        #expect(values.map(\.description) == ["1.5"])
        #expect(values.map(\.unit) == [nil])
    }

    @Test(
        arguments: [
            (0x01, []), (0x04, [1, 2]), (0x06, [1]), (0x0B, [1]), (0x14, [1, 2, 3]), (0x15, [1]), (0x16, [1]),
            (0x17, [1, 2]),
            (0x18, [1, 2, 3]), (0x19, [0xC3]), (0x1A, [0x41]), (0x1A, [0x00, 0xD8]),
        ] as [(UInt8, [UInt8])])
    func `bytes that are missing, too many or no text are no value`(_ format: UInt8, _ bytes: [UInt8]) async {
        let format = ValueFormat(PresentationFormat(format: .init(rawValue: format)))
        await expectError(.invalidValue) { try format.decode(bytes) }
    }
}
