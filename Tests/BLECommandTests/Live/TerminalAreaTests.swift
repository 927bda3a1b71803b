import Testing

@testable import BLECommand

@Suite struct TerminalAreaTests {
    private func unwrapped(_ text: String) -> String { "\u{1B}[?7l\(text)\u{1B}[?7h\n" }

    @Test func `a line takes one row, however wide its characters are on the terminal`() {
        var area = TerminalArea()
        _ = area.replace(with: [String(repeating: "👍🏽", count: 40), "👩‍👩‍👧‍👦👍🏽漢字漢字漢字"], columns: 12)
        #expect(area.erasure(columns: 12) == "\r\u{1B}[2A\u{1B}[J")
        #expect(area.erasure(columns: 100) == "\r\u{1B}[2A\u{1B}[J")
    }

    @Test func `lines take the place of those before`() {
        var area = TerminalArea()
        #expect(area.replace(with: ["one", "two"], columns: 80) == unwrapped("one\ntwo"))
        #expect(area.replace(with: ["three"], columns: 80) == "\r\u{1B}[2A\u{1B}[J" + unwrapped("three"))
        #expect(area.replace(with: [], columns: 80) == "\r\u{1B}[1A\u{1B}[J")
        #expect(area.replace(with: ["four"], columns: 80) == unwrapped("four"))
    }

    @Test(
        arguments: [
            (10, "\r\u{1B}[3A\u{1B}[J"), (9, "\r\u{1B}[4A\u{1B}[J"), (5, "\r\u{1B}[4A\u{1B}[J"),
            (4, "\r\u{1B}[5A\u{1B}[J"),
        ])
    func `lines that a narrower terminal has broken are taken away whole`(_ columns: Int, _ sequence: String) {
        var area = TerminalArea()
        _ = area.replace(with: ["0123456789", "", "漢字"], columns: 10)
        #expect(area.erasure(columns: columns) == sequence)
    }

    @Test func `words are written above the lines`() {
        var area = TerminalArea()
        #expect(area.erasure(columns: 80) == "")
        #expect(area.drawing == "")
        _ = area.replace(with: ["one", "two"], columns: 80)
        #expect(
            area.erasure(columns: 80) + "words\n" + area.drawing
                == "\r\u{1B}[2A\u{1B}[Jwords\n" + unwrapped("one\ntwo"))
    }

    @Test func `colors take no columns`() {
        var area = TerminalArea()
        _ = area.replace(with: ["\u{1B}[1m0123456789\u{1B}[0m", "\u{1B}[7m漢字\u{1B}[0m"], columns: 10)
        #expect(area.erasure(columns: 10) == "\r\u{1B}[2A\u{1B}[J")
        #expect(area.erasure(columns: 5) == "\r\u{1B}[3A\u{1B}[J")
    }
}
