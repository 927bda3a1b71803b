import BLEAssignedNumbers
import Testing

@Suite struct ValueGuessTests {
    @Test(
        arguments: [
            ("", .undefined), ("42", .int(42)), ("-2147483648", .int(.min)), ("+7", .int(7)),
            ("2147483648", .float(2_147_483_648)), ("21.5", .float(21.5)), ("1e3", .float(1000)),
            ("inf", .string("inf")), ("nan", .string("nan")), ("0x1p3", .string("0x1p3")), ("1e999", .string("1e999")),
            ("Grüße", .string("Grüße")), (" ", .string(" ")), ("a\u{0}", .raw([0x61, 0])),
            ("\u{1B}[2J", .raw([0x1B, 0x5B, 0x32, 0x4A])),
        ] as [(String, ValueGuess)])
    func `text may be a number`(_ text: String, _ guess: ValueGuess) {
        #expect(ValueGuess(Array(text.utf8)) == guess)
    }

    @Test func `invalid text is shown as bytes`() {
        #expect(ValueGuess([0xFF, 0xFE]) == .raw([0xFF, 0xFE]))
        #expect(ValueGuess([0x00]) == .raw([0x00]))
    }
}
