import BLETesting
import Testing

@testable import BLEESPHome

@Suite struct FrameReaderTests {
    private func frames(
        _ framing: FrameReader.Framing?, _ chunks: [[UInt8]], maximumLength: Int = 65_535
    ) throws -> [FrameReader.Frame] {
        var reader = FrameReader(framing, maximumLength: maximumLength)
        var frames: [FrameReader.Frame] = []
        for chunk in chunks {
            reader.append(chunk)
            while let frame = try reader.next() { frames.append(frame) }
        }
        return frames
    }

    private static let plain: [UInt8] = [0, 0, 7, 0, 3, 0x96, 1, 9, 8, 7, 0, 1, 2, 5]
    private static let encrypted: [UInt8] = [1, 0, 0, 1, 0, 3, 9, 8, 7]

    @Test(arguments: 1...plain.count) func `frames arrive in parts of any size`(_ size: Int) throws {
        let chunks = { (bytes: [UInt8]) in
            stride(from: 0, to: bytes.count, by: size).map { Array(bytes[$0..<min($0 + size, bytes.count)]) }
        }
        #expect(
            try frames(.plain, chunks(Self.plain)) == [
                .plain(type: 7, []), .plain(type: 150, [9, 8, 7]), .plain(type: 2, [5]),
            ])
        #expect(try frames(.encrypted, chunks(Self.encrypted)) == [.encrypted([]), .encrypted([9, 8, 7])])
        #expect(try frames(nil, chunks(Self.encrypted)).count == 2)
    }

    @Test func `a long frame is refused before it has arrived`() throws {
        #expect(throws: WireError.frameTooLong(count: 65_536, maximum: 65_535)) {
            try frames(.plain, [[0, 0x80, 0x80, 4]])
        }
        #expect(throws: WireError.frameTooLong(count: 129, maximum: 128)) {
            try frames(.encrypted, [[1, 0, 129]], maximumLength: 128)
        }
        #expect(throws: WireError.frameTooLong(count: .max, maximum: 32_768)) {
            try frames(.plain, [[0, 255, 255, 255, 255, 255, 255, 255, 255, 255, 1]], maximumLength: 32_768)
        }
        let longest = [UInt8](repeating: 5, count: 65_535)
        #expect(try frames(.encrypted, [[1, 255, 255], longest]) == [.encrypted(longest[...])])
    }

    @Test func `the other framing is told`() {
        #expect(throws: WireError.isEncrypted) { try frames(.plain, [[1]]) }
        #expect(throws: WireError.isNotEncrypted) { try frames(.encrypted, [[0]]) }
        #expect(throws: WireError.invalidMarker(2)) { try frames(nil, [[2]]) }
        #expect(throws: WireError.isEncrypted) { try frames(nil, [[0, 0, 7], [1]]) }
        #expect(throws: WireError.numberTooLong) { try frames(.plain, [[0] + [UInt8](repeating: 255, count: 10)]) }
    }

    @Test func `nothing but the rest of a frame is kept`() throws {
        var reader = FrameReader(.encrypted, maximumLength: 100)
        for _ in 0..<1000 {
            reader.append(Self.encrypted + [1, 0])
            while try reader.next() != nil {}
            #expect(reader.waitingCount == 2)
            reader.append([0])
            while try reader.next() != nil {}
            #expect(reader.waitingCount == 0)
        }
    }
}
