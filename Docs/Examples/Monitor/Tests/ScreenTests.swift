import Testing

@testable import Monitor

@Suite struct ScreenTests {
    @Test func `only the lines that have changed are written again`() {
        var screen = Screen(isTerminal: true)
        #expect(screen.begin().hasSuffix("\u{1B}[?7l"))
        #expect(screen.update(to: ["one", "two"]) == "\u{1B}[1;1Hone\u{1B}[K\u{1B}[2;1Htwo\u{1B}[K")
        #expect(screen.update(to: ["one", "2"]) == "\u{1B}[2;1H2\u{1B}[K")
        #expect(screen.update(to: ["one", "2"]) == "")
        #expect(screen.update(to: ["one"]) == "\u{1B}[2;1H\u{1B}[J")
        #expect(screen.end() == "\u{1B}[2;1H\u{1B}[?7h\u{1B}[?25h")
    }

    @Test func `a file gets no control sequences`() {
        var screen = Screen(isTerminal: false)
        #expect(screen.begin() + screen.update(to: ["one", "two"]) == "one\ntwo\n")
        #expect(screen.update(to: ["one", "2"]) + screen.update(to: ["one"]) + screen.end() == "2\n")
    }
}
