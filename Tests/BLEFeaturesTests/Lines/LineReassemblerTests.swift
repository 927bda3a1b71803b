import BLEFeatures
import BLETestSupport
import Testing

@Suite struct LineReassemblerTests {
    private var reassembler = LineReassembler()

    /// The responses that `packets` complete, and the errors.
    private mutating func take(_ packets: [[UInt8]]) -> (responses: [[String]], errors: [LineReassemblerError]) {
        var responses: [[String]] = []
        var errors: [LineReassemblerError] = []
        for packet in packets {
            do throws(LineReassemblerError) {
                try reassembler.append(packet.span) { responses.append($0) }
            } catch {
                errors.append(error)
            }
        }
        return (responses, errors)
    }

    private mutating func take(_ text: String) -> [[String]] {
        take([Array(text.utf8)]).responses
    }

    static let responses: [(String, String, [String])] = [
        ("ATZ", "ATZ\r\r\rELM327 v1.5\r\r>", ["ELM327 v1.5"]),
        ("0100", "0100\r\n41 00 BE 3E B8 11 \r\n\r\n>", ["41 00 BE 3E B8 11"]),
        ("0100", "41 00 BE 3E B8 11 \r\n>", ["41 00 BE 3E B8 11"]),
        ("010C", "SEARCHING...\r41 0C 1A F8\r\r>", ["SEARCHING...", "41 0C 1A F8"]),
        ("03", "03\n43 01 33\n43 02 44\n>", ["43 01 33", "43 02 44"]),
        ("ATE0", "ATE0\rOK\r\r>", ["OK"]),
        ("AT SP 0\r", " AT SP 0 \rOK\r>", ["OK"]),
        ("OK", "OK\rOK\r>", ["OK"]),
        ("0100", "\u{0}01\u{0}00\r\u{0}NO DATA\r>", ["NO DATA"]),
        ("0100", "0100\r>", []),
        ("0100", ">", []),
    ]

    @Test(arguments: responses)
    mutating func `a response is its lines without echo, empty lines and NULs`(
        _ command: String, _ text: String, _ lines: [String]
    ) {
        reassembler.begin(command)
        #expect(take(text) == [lines])
        #expect(reassembler.bufferedCount == 0)
    }

    @Test(arguments: responses)
    mutating func `it does not matter where the packets are cut`(
        _ command: String, _ text: String, _ lines: [String]
    ) {
        var random = SeededGenerator(seed: 8)
        for longest in 1...6 {
            reassembler.begin(command)
            #expect(take(random.pieces(of: Array(text.utf8), upTo: longest)).responses == [lines])
        }
    }

    @Test mutating func `the echo is dropped from the first response only, and only where it comes first`() {
        reassembler.begin("ATI")
        #expect(take("ATI\rA\r>ATI\rB\r>") == [["A"], ["ATI", "B"]])
        reassembler.begin("ATI")
        #expect(take("A\rATI\r>") == [["A", "ATI"]])
    }

    @Test mutating func `without a transaction there is no echo`() {
        #expect(take("ATI\r>") == [["ATI"]])
    }

    @Test mutating func `what comes before a transaction is forgotten when it begins`() {
        #expect(take("STOPPED\r").isEmpty)
        reassembler.begin("ATI")
        #expect(take("ATI\rA\r>") == [["A"]])
    }

    @Test mutating func `bytes that are no text do no harm`() {
        #expect(
            take([[0xFF, 0xFE, 0x0D, 0x34, 0x31, 0xC3, 0x0D, 0x3E]]).responses == [["\u{FFFD}\u{FFFD}", "41\u{FFFD}"]])
    }

    @Test mutating func `a response that is too long is one error, and the next one is taken`() {
        reassembler = LineReassembler(limit: 8)
        reassembler.begin("X")
        let taken = take([Array("12345678".utf8), Array("9".utf8), Array("rest of it\r".utf8), Array(">OK\r>".utf8)])
        #expect(taken.errors == [.responseTooLong(limit: 8)])
        #expect(taken.responses == [["OK"]])
    }

    @Test mutating func `the rest of a response that was too long is not an answer to the next command`() {
        reassembler = LineReassembler(limit: 8)
        reassembler.begin("A")
        #expect(take([Array("123456789".utf8)]).errors.isEmpty)
        reassembler.begin("ATI")
        let rest = take([Array("67\r>ATI\rA\r>".utf8)])
        #expect(rest.responses == [["A"]])
        #expect(rest.errors == [.responseTooLong(limit: 8)])
    }

    @Test mutating func `what surrounds a response that is too long in one packet is taken`() {
        reassembler = LineReassembler(limit: 4)
        let taken = take([Array("A\r>123456\r>B\r>".utf8)])
        #expect(taken.responses == [["A"], ["B"]])
        #expect(taken.errors == [.responseTooLong(limit: 4)])
    }

    @Test mutating func `a response as long as the limit is taken`() {
        #expect(take([[UInt8](repeating: 0x41, count: 4096)] + [[0x3E]]).responses[0][0].utf8.count == 4096)
        #expect(take([[UInt8](repeating: 0x41, count: 4097) + [0x3E]]).errors == [.responseTooLong(limit: 4096)])
    }

    @Test mutating func `a reset forgets everything`() {
        reassembler = LineReassembler(limit: 4)
        _ = take([Array("12345".utf8)])
        reassembler.reset()
        #expect(take("A\r>") == [["A"]])
    }

    @Test mutating func `any bytes give lines without line ends, prompts or NULs, and little is held`() {
        var random = SeededGenerator(seed: 9)
        let usual = Array("\r\n> \u{0}A".utf8)
        reassembler = LineReassembler(limit: 64)
        for _ in 0..<5000 {
            let packet = random.bytes(0...30).map { $0 < 128 ? usual[Int($0) % usual.count] : $0 }
            if random.next() % 8 == 0 { reassembler.begin("A") }
            for line in take([packet]).responses.joined() {
                #expect(!line.isEmpty && !line.utf8.contains { $0 == 0 || $0 == 0x0A || $0 == 0x0D || $0 == 0x3E })
            }
            #expect(reassembler.bufferedCount <= 64)
        }
    }
}
