import Testing

@testable import BLECommand

/// Text in the columns of a terminal.
@Suite struct ColumnsTests {
    @Test(
        arguments: [
            ("", 0), ("Strap", 5), ("Küche", 5), ("Ku\u{308}che", 5), ("漢字", 4), ("ｶﾅ", 2), ("한글", 4),
            ("\u{1112}\u{1161}\u{11AB}", 2), ("👍", 2), ("👍🏽", 2), ("👨‍👩‍👧", 2), ("🇨🇭", 2), ("❤", 1), ("❤️", 2),
            ("▁▅█", 3), ("a\u{200D}b", 2), ("２１", 4), ("°C", 2), ("\u{FFFD}", 1),
        ])
    func `a text has as many columns as a terminal gives it`(_ text: String, _ columns: Int) {
        #expect(text.columns == columns)
    }

    @Test(arguments: [(0, ""), (1, ""), (2, "漢"), (3, "漢a"), (4, "漢a"), (5, "漢a字"), (9, "漢a字")])
    func `a beginning has no half character`(_ columns: Int, _ beginning: String) {
        #expect("漢a字".prefix(columns: columns) == beginning)
    }

    @Test(arguments: [("", 3, 1), ("abc", 3, 1), ("abcd", 3, 2), ("漢字漢字", 3, 4), ("漢字漢字", 4, 2), ("abcd", 0, 4)])
    func `a text has as many rows as a terminal breaks it into`(_ text: String, _ columns: Int, _ rows: Int) {
        #expect(text.rows(columns: columns) == rows)
    }

    @Test func `what is padded ends in the same column`() {
        #expect(
            ["漢字", "abc", "e\u{301}", "too long"].map { $0.padded(to: 5) + "|" }
                == ["漢字 |", "abc  |", "e\u{301}    |", "too long|"])
        #expect("漢".paddedLeft(to: 3) == " 漢")
    }
}
