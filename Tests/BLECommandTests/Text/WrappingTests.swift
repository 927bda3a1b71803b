import BLEAssignedNumbers
import Testing

@testable import BLECommand

@Suite struct WrappingTests {
    @Test func `lines are broken at spaces, and continued with an indent`() {
        let text = "ble: the peripheral was not heard within 20 s\n     Is it on?"
        #expect(
            text.wrapped(columns: 25, indent: 5)
                == "ble: the peripheral was\n     not heard within 20\n     s\n     Is it on?")
        #expect(text.wrapped(columns: 80, indent: 5) == text)
    }

    @Test func `a word that is longer than a line stays whole, and columns count`() {
        #expect("a 0123456789012345678901234 b".wrapped(columns: 20) == "a\n0123456789012345678901234\nb")
        #expect("漢字漢字 漢字漢字 漢字漢字".wrapped(columns: 20) == "漢字漢字 漢字漢字\n漢字漢字")
        #expect("a b c".wrapped(columns: 3) == "a b c")
    }

    @Test(
        arguments: [
            ("notifi", "notify"), ("scna", "scan"), ("hart-rate", "heart-rate"), ("heart", "heart-rate"),
            ("xyzzy", nil),
            ("", nil), ("he", nil),
        ])
    func `what is meant is spelled almost so, or has it as its part`(_ word: String, _ meant: String?) {
        #expect(Suggestion.nearest(to: word, in: ["notify", "scan", "heart-rate", "information-of-heart"]) == meant)
    }
}
