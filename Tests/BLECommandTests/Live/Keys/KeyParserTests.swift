import BLESimulation
import Testing

@testable import BLECommand

@Suite struct KeyParserTests {
    private func keys(_ bytes: [UInt8]) -> [Key] {
        var parser = KeyParser()
        return parser.keys(bytes) + [parser.timeOut()].compactMap(\.self)
    }

    private func keys(_ text: String) -> [Key] { keys(Array(text.utf8)) }

    @Test(arguments: [
        ("\u{1B}[A", Key.up), ("\u{1B}OB", .down), ("\u{1B}[1;5C", .right), ("\u{1B}[D", .left),
        ("\u{1B}[H", .home), ("\u{1B}[4~", .end), ("\u{1B}[5~", .pageUp), ("\u{1B}[6;2~", .pageDown),
        ("\r", .enter), ("\n", .enter), ("\u{7F}", .backspace), ("\u{8}", .backspace), ("\u{15}", .eraseLine),
        ("\u{17}", .eraseWord), ("\u{C}", .redraw), ("\u{1A}", .suspend), ("\u{4}", .endOfInput), ("\u{1B}", .escape),
        ("q", .character("q")), ("é", .character("é")), ("漢", .character("漢")), ("😀", .character("😀")),
    ])
    func `bytes are keys`(_ text: String, _ key: Key) {
        #expect(keys(text) == [key])
        // However the bytes are divided.
        var parser = KeyParser()
        let single = text.utf8.flatMap { parser.keys([$0]) } + [parser.timeOut()].compactMap(\.self)
        #expect(single == [key])
    }

    @Test func `Escape is a key once nothing has followed for a short time`() {
        var parser = KeyParser()
        #expect(parser.deadline == nil)
        #expect(parser.keys([0x1B]).isEmpty)
        #expect(parser.deadline == .milliseconds(50))
        #expect(parser.timeOut() == .escape)
        #expect(parser.deadline == nil)
        #expect(parser.keys(Array("[A".utf8)) == [.character("["), .character("A")])
        #expect(parser.keys([0x1B, 0x1B]) == [.escape])
        #expect(parser.timeOut() == .escape)
        #expect(parser.timeOut() == nil)
    }

    @Test(arguments: [
        "\u{1B}[15~", "\u{1B}[3~", "\u{1B}[?1;2c", "\u{1B}[24;80R", "\u{1B}[<0;1;1M", "\u{1B}x", "\u{1B}OP", "\u{1B}[Z",
        "\u{1B}[[A", "\u{1B}[[E", "\u{1B}O2P", "\u{1B}O1;5S",
        "\u{1B}]11;rgb:0000/0000/0000\u{1B}\\", "\u{1B}]0;q\u{7}", "\u{1B}P1$r q\u{1B}\\", "\u{1B}_q\u{1B}\\",
        "\u{1B}[201~", "\u{0}", "\u{3}", "\u{9}", "\u{85}", "\u{9B}", "\u{202E}", "\u{2028}",
    ])
    func `unknown keys, replies and characters that command a terminal are nothing`(_ text: String) {
        #expect(keys(text + "k") == [.character("k")])
    }

    @Test(
        arguments: [
            [0x80], [0xFF], [0xC0, 0xAF], [0xC3], [0xE2, 0x82], [0xED, 0xA0, 0x80], [0xF4, 0x90, 0x80, 0x80],
            [0xF5, 0x80],
        ] as [[UInt8]])
    func `what is not UTF-8 is nothing, and the next key counts`(_ bytes: [UInt8]) {
        #expect(keys(bytes + Array("k".utf8)) == [.character("k")])
        #expect(keys(bytes + Array("\u{1B}[A".utf8)) == [.up])
    }

    @Test func `pasted text is one paste, whatever is in it`() {
        #expect(
            keys("\u{1B}[200~q\u{1B}[Aq\r\u{1B}[20\u{1B}[201~q") == [
                .paste("q\u{1B}[Aq\r\u{1B}[20"), .character("q"),
            ])
        #expect(keys("\u{1B}[200~\u{1B}[201~") == [.paste("")])
    }

    @Test(arguments: [("\u{1B}[200~hea", "rt\u{1B}[201~", Key.paste("heart")), ("\u{1B}]11;r", "qb\u{7}", nil)])
    func `text that stalls does not become keys`(_ beginning: String, _ rest: String, _ key: Key?) {
        var parser = KeyParser()
        #expect(parser.keys(Array(beginning.utf8)).isEmpty)
        #expect(parser.deadline == .seconds(3))
        #expect(parser.keys(Array("\(rest)q".utf8)) == [key, .character("q")].compactMap(\.self))
    }

    @Test(arguments: [("\u{1B}[200~hea", Key.paste("hea")), ("\u{1B}]11;r", nil)])
    func `text without an end does not take keys for ever`(_ beginning: String, _ key: Key?) {
        var parser = KeyParser()
        #expect(parser.keys(Array(beginning.utf8)).isEmpty)
        #expect(parser.timeOut() == key)
        #expect(parser.deadline == nil)
        #expect(parser.keys([UInt8(ascii: "q")]) == [.character("q")])
    }

    @Test func `a paste, a sequence and a string without an end take no memory`() {
        let many = [UInt8](repeating: UInt8(ascii: "1"), count: 100_000)
        let end = Array("\u{1B}[201~".utf8)
        #expect(keys(Array("\u{1B}[200~".utf8) + many + end) == [.paste(String(repeating: "1", count: 1024))])
        #expect(keys(Array("\u{1B}[".utf8) + many + Array("Ak".utf8)) == [.character("k")])
        #expect(keys(Array("\u{1B}]".utf8) + many.prefix(60_000)).isEmpty)
        // A string without an end does not take all keys.
        #expect(keys(Array("\u{1B}]".utf8) + many + Array("q".utf8)).last == .character("q"))
        let more = [UInt8](repeating: UInt8(ascii: "1"), count: (1 << 20) + 10)
        let keys = keys(Array("\u{1B}[200~".utf8) + more + Array("q".utf8))
        #expect(keys.first == .paste(String(repeating: "1", count: 1024)))
        #expect(keys.last == .character("q"))
    }

    @Test func `any bytes are survived`() {
        var generator = SeededGenerator(seed: 1)
        let pieces: [[UInt8]] = ["\u{1B}[", "\u{1B}[200~", "\u{1B}[201~", "\u{1B}O", "\u{1B}]", ";", "~", "é"]
            .map { Array($0.utf8) }
        for _ in 0..<2000 {
            var parser = KeyParser()
            for _ in 0..<20 {
                let piece = pieces.randomElement(using: &generator) ?? []
                _ = parser.keys(Bool.random(using: &generator) ? piece : [.random(in: 0...255, using: &generator)])
                if Int.random(in: 0..<10, using: &generator) == 0 { _ = parser.timeOut() }
            }
            // The ends of a string and of pasted text.
            _ = parser.keys(Array("\u{7}\u{1B}[201~".utf8))
            _ = parser.timeOut()
            #expect(parser.keys([UInt8(ascii: "q")]) == [.character("q")])
        }
    }
}
