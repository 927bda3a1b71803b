import BLEFeatures
import BLETestSupport
import Testing

@Suite struct MessageReassemblerTests {
    static let frame: [UInt8] = [0x07, 0x02, 0x02, 0x01, 0x00, 0xAA, 0xBB]
    static let other: [UInt8] = [0x05, 0x03, 0x03, 0x02, 0x00]
    private var reassembler = MessageReassembler()

    /// The frames that `packets` complete, and the errors, in order.
    private mutating func take(_ packets: [[UInt8]]) -> (frames: [[UInt8]], errors: [MessageError]) {
        var frames: [[UInt8]] = []
        var errors: [MessageError] = []
        for packet in packets {
            do throws(MessageError) {
                try reassembler.append(packet.span) { frame in
                    frames.append(frame.withUnsafeBufferPointer { Array($0) })
                }
            } catch {
                errors.append(error)
            }
        }
        return (frames, errors)
    }

    @Test(arguments: 1...12)
    mutating func `frames come out whole and in order however they are split`(_ size: Int) {
        let stream = Self.frame + Self.other + Self.frame
        let packets = stride(from: 0, to: stream.count, by: size).map {
            Array(stream[$0..<min($0 + size, stream.count)])
        }
        let taken = take(packets)
        #expect(taken.frames == [Self.frame, Self.other, Self.frame])
        #expect(taken.errors.isEmpty)
        #expect(reassembler.bufferedCount == 0)
    }

    @Test mutating func `a packet may hold several frames and the beginning of another`() {
        #expect(take([Self.frame + Self.other + Self.frame.prefix(3)]).frames == [Self.frame, Self.other])
        #expect(reassembler.bufferedCount == 3)
        #expect(take([Array(Self.frame.dropFirst(3))]).frames == [Self.frame])
    }

    @Test mutating func `an empty packet changes nothing`() {
        #expect(take([Array(Self.frame.prefix(3)), [], Array(Self.frame.dropFirst(3)), []]).frames == [Self.frame])
    }

    static let rubbish: [([[UInt8]], MessageError)] = [
        ([[0x00]], .tooShort(count: 0)),
        ([[0x04, 0x01, 0x02, 0x01]], .tooShort(count: 4)),
        ([[0x09], [0x00]], .unknownType(0)),
        ([[0x09, 0x04]], .unknownType(4)),
        ([[0x05, 0x04, 0x01, 0x01, 0x00]], .unknownType(4)),
        ([[0x09, 0x01, 0x01], [0x01, 0x02]], .invalidEncryptedFlag(2)),
        ([[0x06, 0x01, 0x01, 0x01, 0xFF, 0x00]], .invalidEncryptedFlag(255)),
        ([frame + [0x03, 0x01] + other], .tooShort(count: 3)),
        ([frame + [0x20], [0x07] + other], .unknownType(7)),
    ]

    @Test(arguments: rubbish)
    mutating func `an invalid header is an error, and the next packet begins a new frame`(
        _ packets: [[UInt8]], _ expected: MessageError
    ) {
        let good = packets[0].starts(with: Self.frame) ? [Self.frame] : []
        let taken = take(packets)
        #expect(taken.frames == good)
        #expect(taken.errors == [expected])
        #expect(reassembler.bufferedCount == 0)
        #expect(take([Self.other]).frames == [Self.other])
    }

    @Test mutating func `a reset forgets the unfinished frame`() {
        _ = take([Array(Self.frame.prefix(6))])
        reassembler.reset()
        #expect(reassembler.bufferedCount == 0)
        #expect(take([Self.frame]).frames == [Self.frame])
    }

    @Test mutating func `the longest frame is taken, byte by byte`() {
        let frame: [UInt8] = [0xFF, 0x01, 0x01, 0x01, 0x00] + [UInt8](repeating: 9, count: 250)
        #expect(take(frame.map { [$0] }).frames == [frame])
    }

    @Test mutating func `any messages come out of any pieces`() throws {
        var random = SeededGenerator(seed: 4)
        for _ in 0..<200 {
            let frames = try (0..<Int.random(in: 1...8, using: &random)).map { _ in
                try random.message(upTo: random.next() % 4 == 0 ? 250 : 20).encode()
            }
            let taken = take(random.pieces(of: frames.flatMap(\.self), upTo: 300))
            #expect(taken.frames == frames)
            #expect(taken.errors.isEmpty)
        }
    }

    @Test mutating func `any bytes give right frames or errors, and little is held`() {
        var random = SeededGenerator(seed: 5)
        for _ in 0..<20_000 {
            var packet = random.bytes(0...40)
            for index in packet.indices where .random(using: &random) { packet[index] %= 8 }
            for frame in take([packet]).frames { #expect((try? Message(decoding: frame.span)) != nil) }
            #expect(reassembler.bufferedCount < 255)
        }
        reassembler.reset()
        #expect(take([Self.frame]).frames == [Self.frame])
    }
}
