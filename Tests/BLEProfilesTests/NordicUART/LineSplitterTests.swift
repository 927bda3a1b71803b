import BLETestSupport
import Testing

@testable import BLEProfiles

@Suite struct LineSplitterTests {
    /// The lines from bytes in parts of that length.
    private func lines(_ bytes: [UInt8], limit: Int = 10, length: Int = 1) -> [Result<String, TextLineError>] {
        var splitter = LineSplitter(limit: limit)
        return stride(from: 0, to: bytes.count, by: length).flatMap { start in
            defer { #expect(splitter.heldCount <= limit + 1) }
            return splitter.append(Array(bytes[start..<min(start + length, bytes.count)]))
        }
    }

    @Test(
        arguments: [
            ("", []), ("a", []), ("a\n", ["a"]), ("a\r\n", ["a"]), ("\n", [""]), ("\r\n\n", ["", ""]), ("a\nb", ["a"]),
            ("a\rb\n", ["a\rb"]), ("a\r\r\n", ["a\r"]), ("one\ntwo\r\nthree\n", ["one", "two", "three"]),
            ("größe\n温度\n", ["größe", "温度"]), ("🙂🙂\n", ["🙂🙂"]), ("a\u{2028}b\n", ["a\u{2028}b"]),
        ] as [(String, [String])])
    func `lines end with LF or CR LF, wherever parts are cut`(_ text: String, _ expected: [String]) {
        for length in 1...8 {
            #expect(lines(Array(text.utf8), length: length) == expected.map { .success($0) }, "parts of \(length)")
        }
    }

    @Test func `bytes that are no UTF-8 are replaced`() {
        #expect(lines([0x61, 0xFF, 0x62, 0x0A, 0xC3, 0x0A]) == [.success("a\u{FFFD}b"), .success("\u{FFFD}")])
    }

    @Test(
        arguments: [
            ("1234567890\n", [.success("1234567890")]), ("1234567890\r\n", [.success("1234567890")]),
            ("12345678901\n", [.failure(.tooLong(limit: 10))]), ("1234567890\rx\n", [.failure(.tooLong(limit: 10))]),
            ("1234567890\r\r\n", [.failure(.tooLong(limit: 10))]),
            ("1234567890123456789012345678901234567890\nok\n", [.failure(.tooLong(limit: 10)), .success("ok")]),
            ("12345678901", [.failure(.tooLong(limit: 10))]),
        ] as [(String, [Result<String, TextLineError>])])
    func `a line that is too long is reported once, and later lines are read`(
        _ text: String, _ expected: [Result<String, TextLineError>]
    ) {
        for length in [1, 2, 7, 64] { #expect(lines(Array(text.utf8), length: length) == expected) }
    }

    @Test func `a limit may be any number`() {
        var splitter = LineSplitter(limit: .max)
        #expect(splitter.append(Array("\r\n".utf8)) == [.success("")])
        splitter = LineSplitter(limit: .min)
        #expect(splitter.append(Array("a\n\r\n".utf8)) == [.failure(.tooLong(limit: 0)), .success("")])
    }

    @Test func `an unfinished line is forgotten`() {
        var splitter = LineSplitter(limit: 4)
        #expect(splitter.append(Array("12".utf8)) == [])
        splitter.reset()
        #expect(splitter.append(Array("3\n".utf8)) == [.success("3")])
        #expect(splitter.append(Array("12345".utf8)) == [.failure(.tooLong(limit: 4))])
        splitter.reset()
        #expect(splitter.append(Array("6\n".utf8)) == [.success("6")])
    }

    @Test func `however random bytes are cut, the lines are the same`() {
        var generator = SeededGenerator(seed: 9)
        for _ in 0..<200 {
            let alphabet = Array("a\r\n🙂".utf8) + [0xFF]
            let bytes = (0..<200).map { _ in alphabet.randomElement(using: &generator)! }
            let whole = lines(bytes, limit: 6, length: 200)
            for length in [1, 3, 19] { #expect(lines(bytes, limit: 6, length: length) == whole) }
        }
    }
}
