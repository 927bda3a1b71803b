import BLE
import BLEFeatures
import BLETestSupport
import Testing

@Suite struct ChecksumFrameTests {
    /// The commands of a small robot: how long the body is that follows each id.
    static let lengths: [UInt8: Int] = [0x50: 1, 0x13: 4, 0x20: 3, 0x10: 5, 0x16: 6]

    /// One frame for each kind of command, and two with several.
    static let frames: [(String, [ChecksumFrame.Command])] = [
        ("2a2a2a2a 01 505151", [.init(id: 0x50, body: [0x51])]),
        ("2a2a2a2a 01 1314ff800093", [.init(id: 0x13, body: [0x14, 0xFF, 0x80, 0x00])]),
        ("2a2a2a2a 01 1315010203 1b", [.init(id: 0x13, body: [0x15, 1, 2, 3])]),
        ("2a2a2a2a 01 20210180a2", [.init(id: 0x20, body: [0x21, 0x01, 0x80])]),
        ("2a2a2a2a 01 202200ff21", [.init(id: 0x20, body: [0x22, 0x00, 0xFF])]),
        ("2a2a2a2a 01 100102ff00ff01", [.init(id: 0x10, body: [1, 2, 0xFF, 0, 0xFF])]),
        ("2a2a2a2a 01 161800090a141e5d", [.init(id: 0x16, body: [0x18, 0, 9, 10, 20, 30])]),
        ("2a2a2a2a 02 505151 20210180a2", [.init(id: 0x50, body: [0x51]), .init(id: 0x20, body: [0x21, 0x01, 0x80])]),
        ("2a2a2a2a 00", []),
    ]

    private static func decode(_ bytes: [UInt8]) throws(ChecksumFrameError) -> ChecksumFrame {
        try ChecksumFrame(decoding: bytes.span) { lengths[$0] }
    }

    @Test(arguments: frames)
    func `commands and their frame say the same`(_ hex: String, _ commands: [ChecksumFrame.Command]) throws {
        let bytes = try #require(Hex.bytes(hex))
        #expect(try ChecksumFrame(commands).encode() == bytes)
        #expect(try Self.decode(bytes) == ChecksumFrame(commands))
    }

    static let malformed: [(String, ChecksumFrameError)] = [
        ("", .truncated(count: 0)), ("2a2a2a2a", .truncated(count: 4)),
        ("2a2a2a2b01505151", .missingPreamble), ("002a2a2a01505151", .missingPreamble),
        ("2a2a2a2a01", .truncated(count: 5)), ("2a2a2a2a0150", .truncated(count: 6)),
        ("2a2a2a2a015051", .truncated(count: 7)), ("2a2a2a2a02505151", .truncated(count: 8)),
        ("2a2a2a2a01505152", .checksumMismatch(id: 0x50, expected: 0x51, actual: 0x52)),
        ("2a2a2a2a01515151", .unknownCommand(id: 0x51)), ("2a2a2a2a0150515100", .trailingBytes(count: 1)),
        ("2a2a2a2a00505151", .trailingBytes(count: 3)),
    ]

    @Test(arguments: malformed)
    func `an invalid frame is an error with the reason`(_ hex: String, _ expected: ChecksumFrameError) throws {
        let bytes = try #require(Hex.bytes(hex))
        #expect(throws: expected) { try Self.decode(bytes) }
        #expect(expected.description.contains(" — "))
    }

    @Test(arguments: [-1, .min, .max, 3])
    func `a length that cannot be is an error`(_ length: Int) throws {
        let bytes = try #require(Hex.bytes("2a2a2a2a01505151"))
        #expect(throws: ChecksumFrameError.self) { try ChecksumFrame(decoding: bytes.span) { _ in length } }
    }

    @Test func `a body may be empty`() throws {
        let frame = ChecksumFrame([.init(id: 7, body: [])])
        let bytes = try frame.encode()
        #expect(bytes == [0x2A, 0x2A, 0x2A, 0x2A, 1, 7, 0])
        #expect(try ChecksumFrame(decoding: bytes.span) { _ in 0 } == frame)
    }

    @Test func `256 commands are too many`() throws {
        let command = ChecksumFrame.Command(id: 0x50, body: [0x51])
        let most = try ChecksumFrame(Array(repeating: command, count: 255)).encode()
        #expect(try Self.decode(most).commands.count == 255)
        #expect(throws: ChecksumFrameError.tooManyCommands(count: 256)) {
            try ChecksumFrame(Array(repeating: command, count: 256)).encode()
        }
    }

    @Test func `a frame that is changed or cut gives other commands or an error, and encodes to itself`() throws {
        var random = SeededGenerator(seed: 7)
        for (hex, _) in Self.frames {
            let bytes = try #require(Hex.bytes(hex))
            for _ in 0..<500 {
                var changed = bytes
                changed[Int.random(in: 0..<bytes.count, using: &random)] = .random(in: 0 ... .max, using: &random)
                changed.removeLast(Int.random(in: 0...1, using: &random))
                if let frame = try? Self.decode(changed) { #expect((try? frame.encode()) == changed) }
            }
        }
    }
}
