import BLESimulation
import Testing

@testable import BLETransfers

@Suite struct MessageTests {
    static let vectors: [(TransferMessage, [UInt8])] = [
        (.data(offset: 0x0102_0304, [0xAA, 0xBB]), [0x04, 0x34, 0x12, 4, 3, 2, 1, 0xAA, 0xBB]),
        (.status, [0x05, 0x34, 0x12]),
        (
            .accept(version: 1, offset: 5, checksum: 0xCBF4_3926, limit: 0xFFFF_FFFF),
            [0x11, 0x34, 0x12, 1, 5, 0, 0, 0, 0x26, 0x39, 0xF4, 0xCB, 0xFF, 0xFF, 0xFF, 0xFF]
        ),
        (.grant(offset: 256, limit: 512), [0x12, 0x34, 0x12, 0, 1, 0, 0, 0, 2, 0, 0]),
        (.resend(offset: 256, limit: 512), [0x13, 0x34, 0x12, 0, 1, 0, 0, 0, 2, 0, 0]),
        (.done, [0x14, 0x34, 0x12]),
        (.stop(.busy), [0x1F, 0x34, 0x12, 6]),
        (.open(.fetch, length: 2, [1, 0x61]), [0x02, 0x34, 0x12, 2, 1, 0x61]),
        (.more([1]), [0x03, 0x34, 0x12, 1]),
    ]

    @Test(arguments: vectors) func `messages have the bytes of the documentation`(
        _ message: TransferMessage, _ bytes: [UInt8]
    ) throws {
        #expect(TransferPacket(0x1234, message).bytes == bytes)
        #expect(try TransferPacket(decoding: bytes) == TransferPacket(0x1234, message))
    }

    @Test func `an opening has the bytes of the documentation`() {
        let file = TransferFile(
            name: "a.bin", length: 0x0A0B_0C0D, checksum: 0x1122_3344, identifier: 0x0102_0304_0506_0708)
        let packets = TransferOpening.begin(file, isNew: true).packets(0x1234, length: 20)
        #expect(
            packets.map(\.bytes) == [
                [1, 0x34, 0x12, 23, 1, 1, 8, 7, 6, 5, 4, 3, 2, 1, 0x0D, 0x0C, 0x0B, 0x0A, 0x44, 0x33],
                [3, 0x34, 0x12, 0x22, 0x11, 0x61, 0x2E, 0x62, 0x69, 0x6E],
            ])
    }

    @Test func `the transfer of the documentation has its bytes`() {
        var file = TransferFile(name: "a", bytes: Array("abc".utf8))
        file.identifier = 0
        let packets =
            TransferOpening.begin(file, isNew: false).packets(1, length: 244) + [
                TransferPacket(1, .accept(version: 1, offset: 0, checksum: 0, limit: 3)),
                TransferPacket(1, .data(offset: 0, Array("abc".utf8)[...])), TransferPacket(1, .done),
            ]
        #expect(
            packets.map { $0.bytes.map { String(Int($0) + 0x100, radix: 16).dropFirst() }.joined() } == [
                "010100130100000000000000000003000000c241243561", "11010001000000000000000003000000",
                "04010000000000616263", "140100",
            ])
    }

    @Test(arguments: [1, 16, 17, 200], [0, 20, 23, 244, 4096])
    func `openings are assembled from their packets`(_ count: Int, _ length: Int) throws {
        let name = String(repeating: "x", count: count)
        let openings: [TransferOpening] = [
            .fetch(name: name),
            .begin(TransferFile(name: name, length: 1, checksum: 2, identifier: 3), isNew: false),
        ]
        for opening in openings {
            var assembler = OpeningAssembler()
            var results: [TransferOpening?] = []
            for packet in opening.packets(9, length: length) {
                results.append(try assembler.take(TransferPacket(decoding: packet.bytes)))
            }
            #expect(results.last == opening && results.dropLast().allSatisfy { $0 == nil })
        }
    }

    @Test func `invalid openings are refused`() {
        let bodies: [([UInt8], TransferRefusal)] = [
            ([], .invalidMessage), ([2, 0x61], .version), ([1], .invalidMessage), ([1, 0x07], .nameRefused),
            ([1, 0xFF], .nameRefused), ([1] + [UInt8](repeating: 0x61, count: 201), .nameRefused),
        ]
        for (body, refusal) in bodies {
            #expect(throws: refusal) { try TransferOpening(.fetch, decoding: body) }
        }
        #expect(throws: TransferRefusal.invalidMessage) {
            try TransferOpening(.begin, decoding: [1] + [UInt8](repeating: 0, count: 17))
        }
    }

    @Test func `parts that are too long, or of another transfer, are not taken`() throws {
        var assembler = OpeningAssembler()
        #expect(try assembler.take(TransferPacket(1, .more([1]))) == nil)
        #expect(try assembler.take(TransferPacket(1, .open(.fetch, length: 3, [1]))) == nil)
        #expect(try assembler.take(TransferPacket(2, .more([0x61]))) == nil)
        #expect(throws: TransferRefusal.invalidMessage) {
            try assembler.take(TransferPacket(1, .more([0x61, 0x61, 0x61])))
        }
    }

    @Test func `no bytes trap`() {
        for seed in 0..<20_000 {
            var random = SeededGenerator(seed: UInt64(seed))
            var bytes = (0..<Int.random(in: 0...40, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if !bytes.isEmpty { bytes[0] %= 0x20 }
            var assembler = OpeningAssembler()
            if let packet = try? TransferPacket(decoding: bytes) { _ = try? assembler.take(packet) }
        }
    }

    @Test func `names that leave a directory are not plain`() {
        for name in ["", ".", "..", "../a", "a/b", "/a", "a\\b", ".hidden", "a\n", "a\u{0}", "a\u{7F}", "a\u{202E}b"] {
            #expect(!TransferFile.isPlain(name: name), "\(name)")
        }
        #expect(TransferFile.isPlain(name: "a..b") && TransferFile.isPlain(name: "Grüße.txt"))
        #expect(!TransferFile.isPlain(name: String(repeating: "ü", count: 101)))
    }
}
