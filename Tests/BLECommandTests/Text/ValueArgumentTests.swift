import Testing

@testable import BLECommand

@Suite struct ValueArgumentTests {
    @Test(
        arguments: [
            ("", .bytes([])), ("50", .bytes([0x50])), ("0x04", .bytes([4])), ("01 02:03", .bytes([1, 2, 3])),
            ("0a-0B", .bytes([10, 11])), ("beef", .bytes([0xBE, 0xEF])), ("-", .standardInput), ("50%", .text("50%")),
            ("50 %", .text("50 %")), ("21.5", .text("21.5")), ("on", .text("on")), ("-50", .text("-50")),
            ("+50", .text("+50")), ("level=50", .text("level=50")),
            ("2026-03-01T12:00:00", .text("2026-03-01T12:00:00")),
            ("20260301120000", .bytes([0x20, 0x26, 3, 1, 0x12, 0, 0])), ("2026-03-01", .bytes([0x20, 0x26, 3, 1])),
        ] as [(String, ValueArgument)])
    func `hexadecimal digits are bytes, anything else is text`(_ argument: String, _ value: ValueArgument) throws {
        #expect(try ValueArgument(argument: argument) == value)
    }

    @Test(
        arguments: [
            ("5", "--uint8 5"), ("123", "two hexadecimal digits for each byte"), ("0x1", "two hexadecimal digits"),
            ("bad", "--text"), ("1 2", "two hexadecimal digits"),
            ("2026-03-01 12:00:00", "write 2026-03-01T12:00:00 or 20260301120000."),
            ("2026-03-01 12:00", "write 2026-03-01T12:00 or 202603011200."),
        ])
    func `what could be bytes and a number is refused`(_ argument: String, _ message: String) {
        let error = #expect(throws: (any Error).self) { try ValueArgument(argument: argument) }
        #expect(error.map { "\($0)" }?.contains(message) == true)
    }
}
