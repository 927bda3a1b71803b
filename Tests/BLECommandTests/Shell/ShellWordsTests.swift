import Testing

@testable import BLECommand

@Suite struct ShellWordsTests {
    @Test(
        arguments: [
            ("", []), ("  \t ", []), ("read 2a19", ["read", "2a19"]), ("  read\t2a19  ", ["read", "2a19"]),
            (#"use "Simulated Strap""#, ["use", "Simulated Strap"]), ("use 'a\"b\\c'", ["use", #"a"b\c"#]),
            (##"use a\ b\#c"##, ["use", "a b#c"]),
            ("read 2a19#2", ["read", "2a19#2"]), ("read 2a19 # the level", ["read", "2a19"]), ("# all", []),
            ("''", [""]), (#"a''"b"c"#, ["abc"]), ("write ff01 $x|y>z;&", ["write", "ff01", "$x|y>z;&"]),
            ("use Grüße\u{301}", ["use", "Grüße\u{301}"]),
        ])
    func `a line is divided at spaces outside of quotes`(_ line: String, _ words: [String]) throws {
        #expect(try ShellWords.split(line) == words)
    }

    @Test(
        arguments: [
            ("use 'a", ShellWords.Mistake.openQuote("'")), (#"use "a"#, .openQuote("\"")),
            (#"use "a\""#, .openQuote("\"")), ("use a\\", .trailingBackslash),
        ])
    func `an open end is an error`(_ line: String, _ mistake: ShellWords.Mistake) {
        #expect(throws: mistake) { try ShellWords.split(line) }
    }

    @Test(arguments: [
        "a", "a b", #"a"b"#, #"a\b"#, "it's", "", "#1", "a#1", "a\u{A0}b", "a\u{2003}b", "Grüße", #"\" "#,
    ])
    func `a quoted word is the same word`(_ word: String) throws {
        #expect(try ShellWords.split("use " + ShellWords.quoted(word) + " x") == ["use", word, "x"])
    }

    @Test(
        arguments: [
            ("", nil, 0), ("use ", nil, 0), ("use Sim", "Sim", 3), (#"use "Simulated S"#, "Simulated S", 12),
            (#"use a\ b"#, "a b", 4), (#"use ""#, "", 1), (#"use "a" "#, nil, 0),
        ])
    func `the word before the cursor has its length in the text`(_ text: String, _ word: String?, _ length: Int) {
        let line = ShellWords(partial: text)
        #expect(line.last == word)
        #expect(line.lastLength == length)
    }
}
