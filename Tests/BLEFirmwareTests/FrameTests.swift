import BLE
import BLEFirmware
import BLESimulation
import BLETesting
import Testing

@Suite(.hangLimit) struct FrameTests {
    static let all = [Vectors.requests, Vectors.chunks, Vectors.responses, Vectors.errors].flatMap { $0.map(\.value) }

    @Test(arguments: all) func `frames of the Python package smp are decoded and encoded`(_ hex: String) throws {
        let bytes = Hex.bytes(hex)!
        let frame = try SMPFrame(decoding: bytes)
        #expect(frame.bytes == bytes)
        #expect(frame.header.length == bytes.count - SMPHeader.size)
        let again = SMPFrame(
            frame.header.operation, frame.header.command, sequence: frame.header.sequence, frame.fields,
            version: frame.header.version)
        #expect(again.bytes == bytes)
    }

    @Test func `frames are assembled from packets of any size`() throws {
        let frames = Self.all.map { Hex.bytes($0)! }
        let stream = frames.flatMap { $0 }
        for size in [1, 2, 7, 8, 9, 20, 100, 244, stream.count] {
            var reassembler = SMPReassembler(maximumLength: 1024)
            var found: [[UInt8]] = []
            for start in stride(from: 0, to: stream.count, by: size) {
                for result in reassembler.append(Array(stream[start..<min(start + size, stream.count)])) {
                    found.append(try result.get().bytes)
                }
            }
            #expect(found == frames)
            #expect(!reassembler.isIncomplete)
        }
    }

    @Test func `an invalid header discards its packet, and the next one begins a frame`() throws {
        var reassembler = SMPReassembler(maximumLength: 1024)
        let echo = Vectors.bytes(Vectors.requests, "echo")
        let results = reassembler.append(echo + [0xE0] + echo)
        #expect(results.count == 2)
        #expect(throws: Never.self) { try results[0].get() }
        #expect(throws: SMPFrameError.invalidHeader) { try results[1].get() }
        #expect(reassembler.append(echo).count == 1)
        #expect(reassembler.append([0x10]).count == 1)
        #expect(reassembler.append([0x07]).count == 1)
        #expect(!reassembler.isIncomplete)
    }

    @Test func `exactly the bytes of a frame that is too long are skipped`() throws {
        var reassembler = SMPReassembler(maximumLength: 100)
        let long = SMPFrame(.write, SMPCommand(.os, 0), sequence: 9, ["d": .text(String(repeating: "x", count: 500))])
        let echo = Vectors.bytes(Vectors.requests, "echo")
        var results: [Result<SMPFrame, SMPFrameError>] = []
        let stream = long.bytes + echo
        for start in stride(from: 0, to: stream.count, by: 20) {
            results += reassembler.append(Array(stream[start..<min(start + 20, stream.count)]))
            #expect(reassembler.bufferedCount < 100)
        }
        #expect(results.count == 2)
        #expect(throws: SMPFrameError.tooLong(long.header, maximum: 100)) { try results[0].get() }
        #expect(try results[1].get().bytes == echo)
    }

    @Test(arguments: [
        ("", SMPFrameError.invalidHeader), ("0a0000", .invalidHeader), ("2a00000000000000", .invalidHeader),
        ("0a00000100000000", .lengthMismatch(declared: 1, actual: 0)),
        ("0a00000000000000a0", .lengthMismatch(declared: 0, actual: 1)),
        (
            "0a00000100000000a1",
            .invalidFields(SMPHeader(.write, SMPCommand(.os, 0), sequence: 0, length: 1), .truncated)
        ),
        ("0a0000010000000080", .notMap(SMPHeader(.write, SMPCommand(.os, 0), sequence: 0, length: 1))),
    ]) func `malformed frames are refused`(_ hex: String, _ error: SMPFrameError) {
        #expect(throws: error) { try SMPFrame(decoding: Hex.bytes(hex)!) }
    }

    @Test func `a frame without data has no fields`() throws {
        #expect(try SMPFrame(decoding: Hex.bytes("0800000000000006")!).fields == [:])
    }

    @Test func `random packets neither trap nor accumulate`() {
        var random = SeededGenerator(seed: 3)
        var reassembler = SMPReassembler(maximumLength: 256)
        for _ in 0..<20_000 {
            let count = Int.random(in: 0..<60, using: &random)
            var packet: [UInt8] = (0..<count).map { _ in .random(in: 0...255, using: &random) }
            // A header that is often plausible.
            if count > 3, Bool.random(using: &random) {
                packet[0] &= 0x0B
                packet[2] = 0
            }
            _ = reassembler.append(packet)
            #expect(reassembler.bufferedCount < 256)
        }
    }
}
