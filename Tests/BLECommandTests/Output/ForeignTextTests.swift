import BLE
import Testing

@testable import BLECommand

@Suite struct ForeignTextTests {
    @Test(
        arguments: [
            ("Küche 漢字 👍🏽 e\u{301}", "Küche 漢字 👍🏽 e\u{301}"), ("", ""),
            ("A\u{1B}[8mB", "A\u{FFFD}[8mB"), ("A\u{1B}8mB", "A\u{FFFD}8mB"), ("\u{9B}31m", "\u{FFFD}31m"),
            ("a\nble: paired\tb\r", "a\u{FFFD}ble: paired\u{FFFD}b\u{FFFD}"), ("a\r\nb", "a\u{FFFD}\u{FFFD}b"),
            ("a\u{2028}b\u{2029}c\u{85}d\u{7F}\u{0}", "a\u{FFFD}b\u{FFFD}c\u{FFFD}d\u{FFFD}\u{FFFD}"),
            ("\u{202A}\u{202E}x\u{2066}\u{2069}", "\u{FFFD}\u{FFFD}x\u{FFFD}\u{FFFD}"),
        ])
    func `nothing that commands a terminal is left`(_ text: String, _ clean: String) {
        #expect(ForeignText(text).description == clean)
    }
}
