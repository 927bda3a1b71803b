import BLEFeatures
import BLETestSupport
import Testing

@Suite struct MessageTests {
    static let vectors: [(Message, [UInt8])] = [
        (Message(MessageCommand(rawValue: 0x0105), payload: [0x01]), [0x06, 0x01, 0x01, 0x05, 0x00, 0x01]),
        (Message(MessageCommand(rawValue: 0x0201)), [0x05, 0x01, 0x02, 0x01, 0x00]),
        (Message(MessageCommand(rawValue: 0x0201), type: .reply), [0x05, 0x02, 0x02, 0x01, 0x00]),
        (
            Message(MessageCommand(rawValue: 0x0302), type: .notification, isEncrypted: true, payload: [0xAA, 0xBB]),
            [0x07, 0x03, 0x03, 0x02, 0x01, 0xAA, 0xBB]
        ),
        (
            Message(MessageCommand(rawValue: 0xFFFE), payload: [UInt8](repeating: 7, count: 250)),
            [0xFF, 0x01, 0xFF, 0xFE, 0x00] + [UInt8](repeating: 7, count: 250)
        ),
    ]

    static let malformed: [([UInt8], MessageError)] = [
        ([], .tooShort(count: 0)),
        ([0x05], .tooShort(count: 1)),
        ([0x04, 0x01, 0x02, 0x01], .tooShort(count: 4)),
        ([0x06, 0x01, 0x02, 0x01, 0x00], .lengthMismatch(declared: 6, actual: 5)),
        ([0x05, 0x01, 0x02, 0x01, 0x00, 0x00], .lengthMismatch(declared: 5, actual: 6)),
        ([0x00, 0x01, 0x02, 0x01, 0x00], .lengthMismatch(declared: 0, actual: 5)),
        ([0x05, 0x00, 0x02, 0x01, 0x00], .unknownType(0)),
        ([0x05, 0x04, 0x02, 0x01, 0x00], .unknownType(4)),
        ([0x05, 0xFF, 0x02, 0x01, 0x02], .unknownType(255)),
        ([0x05, 0x01, 0x02, 0x01, 0x02], .invalidEncryptedFlag(2)),
        ([0x06, 0x01, 0x02, 0x01, 0xFF, 0x00], .invalidEncryptedFlag(255)),
        ([UInt8](repeating: 1, count: 300), .lengthMismatch(declared: 1, actual: 300)),
    ]

    @Test(arguments: vectors)
    func `a message and its frame say the same`(_ message: Message, _ frame: [UInt8]) throws {
        #expect(try message.encode() == frame)
        #expect(try Message(decoding: frame) == message)
        let header = try MessageHeader(decoding: frame.span)
        #expect(header.type == message.type)
        #expect(header.command == message.command)
        #expect(header.isEncrypted == message.isEncrypted)
        #expect(Int(header.length) == frame.count)
        #expect(header.payloadCount == message.payload.count)
    }

    @Test(arguments: malformed)
    func `an invalid frame is an error with the reason`(_ bytes: [UInt8], _ expected: MessageError) {
        #expect(throws: expected) { try Message(decoding: bytes) }
        #expect(throws: expected) { try MessageHeader(decoding: bytes.span) }
    }

    @Test func `a payload that is too long is not encoded`() {
        let message = Message(MessageCommand(rawValue: 0x0101), payload: [UInt8](repeating: 0, count: 251))
        #expect(throws: MessageError.payloadTooLong(count: 251, maximum: 250)) { try message.encode() }
    }

    @Test func `a frame is appended to what the caller's buffer holds`() throws {
        let message = Message(MessageCommand(rawValue: 0x0105), payload: [0x01])
        let buffer = try [UInt8](capacity: 12) { output in
            output.append(0xEE)
            try message.encode(into: &output)
        }
        #expect(buffer == [0xEE, 0x06, 0x01, 0x01, 0x05, 0x00, 0x01])
    }

    @Test func `a buffer that is too small is left as it was`() {
        let message = Message(MessageCommand(rawValue: 0x0105), payload: [0x01])
        let buffer = [UInt8](capacity: 6) { output in
            output.append(0xEE)
            #expect(throws: MessageError.bufferTooSmall(needed: 6, available: 5)) {
                try message.encode(into: &output)
            }
        }
        #expect(buffer == [0xEE])
    }

    @Test func `a header is not made for more than a frame holds`() {
        #expect(throws: MessageError.payloadTooLong(count: 251, maximum: 250)) {
            try MessageHeader(
                type: .request, command: MessageCommand(rawValue: 1), isEncrypted: false, payloadCount: 251)
        }
    }

    @Test func `any message comes back from its frame`() throws {
        var random = SeededGenerator(seed: 1)
        for _ in 0..<2000 {
            let message = random.message(upTo: Message.maximumPayload)
            #expect(try Message(decoding: message.encode()) == message)
        }
    }

    @Test func `any bytes are a frame that encodes to them, or an error`() {
        var random = SeededGenerator(seed: 2)
        var taken = 0
        for _ in 0..<20_000 {
            var bytes = random.bytes(0...20)
            // Else hardly any would get past the length.
            if !bytes.isEmpty, .random(using: &random) { bytes[0] = UInt8(bytes.count) }
            if bytes.count > 1, .random(using: &random) { bytes[1] %= 5 }
            if bytes.count > 4, .random(using: &random) { bytes[4] %= 3 }
            guard let message = try? Message(decoding: bytes.span) else { continue }
            taken += 1
            #expect((try? message.encode()) == bytes)
        }
        #expect(taken > 500)
    }

    @Test func `a truncated or extended frame is invalid`() throws {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<200 {
            let frame = try random.message(upTo: 40).encode()
            for count in 0..<frame.count {
                #expect(throws: MessageError.self) { try Message(decoding: frame.span.extracting(first: count)) }
            }
            let longer = frame + random.bytes(1...300)
            #expect(throws: MessageError.lengthMismatch(declared: frame.count, actual: longer.count)) {
                try Message(decoding: longer.span)
            }
        }
    }
}
