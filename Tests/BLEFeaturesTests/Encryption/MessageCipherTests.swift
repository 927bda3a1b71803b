import BLE
import BLEFeatures
import BLETestSupport
import Testing

@Suite struct MessageCipherTests {
    static let request = Message(MessageCommand(rawValue: 0x0204), isEncrypted: true, payload: [0x01])
    static let reply = Message(MessageCommand(rawValue: 0x0204), type: .reply, isEncrypted: true)

    func cipher(
        _ mode: MessageCipher.Mode, _ role: MessageCipher.Role, key: String? = nil
    ) throws -> MessageCipher {
        let key = key ?? (mode == .bound ? CipherVectors.sessionKey : CipherVectors.firmwareKey)
        return try MessageCipher(mode, role: role, key: #require(MessageKey(Hex.bytes(key) ?? [])))
    }

    /// Bytes that count up from a first one, as a source of nonces.
    struct Counting: RandomNumberGenerator {
        var state: UInt64
        mutating func next() -> UInt64 {
            defer { state += 1 }
            return state
        }
    }

    @Test func `bound frames are those that others compute`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        let second = Message(MessageCommand(rawValue: 0x0301), isEncrypted: true)
        #expect(try Hex.string(central.seal(Self.request)) == CipherVectors.boundRequest)
        #expect(try Hex.string(central.seal(second)) == CipherVectors.secondBoundRequest)
        let requests = try [CipherVectors.boundRequest, CipherVectors.secondBoundRequest].map {
            try #require(Hex.bytes($0))
        }
        #expect(try peripheral.open(requests[0]) == Self.request)
        let reply = try peripheral.seal(Self.reply)
        #expect(Hex.string(reply) == CipherVectors.boundReply)
        #expect(try central.open(reply) == Self.reply)
        #expect(try peripheral.open(requests[1]) == second)
        var other = try cipher(.bound, .peripheral)
        #expect(try Hex.string(other.seal(Self.reply, answering: 1)) == CipherVectors.otherBoundReply)
        other = try cipher(.bound, .peripheral)
        let notification = Message(Self.request.command, type: .notification)
        #expect(try Hex.string(other.seal(notification)) == CipherVectors.boundNotification)
    }

    @Test func `the messages that confirm keys are those that others compute`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        let confirmation = Message(MessageCommand(rawValue: 0x0103), isEncrypted: true)
        let request = try central.seal(confirmation)
        #expect(Hex.string(request) == CipherVectors.confirmation)
        #expect(try peripheral.open(request) == confirmation)
        let reply = try peripheral.seal(Message(confirmation.command, type: .reply))
        #expect(Hex.string(reply) == CipherVectors.confirmationReply)
        #expect(try central.open(reply).payload.isEmpty)
    }

    @Test func `the longest bound frame, with counters of two bytes, is the one that others compute`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        let command = MessageCommand(rawValue: 0x0201)
        for _ in 0..<300 { _ = try central.seal(Self.request) }
        _ = try peripheral.open(central.seal(Message(command)))
        #expect(peripheral.requestCounter == 300)
        for _ in 0..<258 { _ = try peripheral.seal(Message(command, type: .notification)) }
        let message = Message(command, type: .reply, isEncrypted: true, payload: Array(0..<222))
        let frame = try peripheral.seal(message)
        #expect(Hex.string(frame) == CipherVectors.longestBoundReply)
        #expect(try central.open(frame) == message)
    }

    @Test func `firmware frames are those that others compute`() throws {
        var central = try cipher(.firmware, .central)
        var peripheral = try cipher(.firmware, .peripheral)
        var nonces = Counting(state: 0xA0)
        let request = try central.seal(Self.request, using: &nonces)
        nonces = Counting(state: 0xB0)
        let reply = try peripheral.seal(Self.reply, using: &nonces)
        #expect(Hex.string(request) == CipherVectors.firmwareRequest)
        #expect(Hex.string(reply) == CipherVectors.firmwareReply)
        #expect(try peripheral.open(request) == Self.request)
        #expect(try central.open(reply) == Self.reply)
    }

    /// Cases 13 to 15 of McGrew and Viega, The Galois/Counter Mode of Operation: key, nonce, plaintext, ciphertext, tag. (The
    /// firmware mode authenticates nothing else, as these do not.)
    static let published = [
        (
            String(repeating: "00", count: 32), String(repeating: "00", count: 12), "", "",
            "530f8afbc74536b9a963b4f1c4cb738b"
        ),
        (
            String(repeating: "00", count: 32), String(repeating: "00", count: 12), String(repeating: "00", count: 16),
            "cea7403d4d606b6e074ec5d3baf39d18", "d0d1c8a799996bf0265b98b5d48ab919"
        ),
        (
            "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308", "cafebabefacedbaddecaf888",
            "d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72"
                + "1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b391aafd255",
            "522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa"
                + "8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad",
            "b094dac5d93471bdec1a502270e3cc6c"
        ),
    ]

    @Test(arguments: published)
    func `AES-GCM's published vectors open`(
        _ key: String, _ nonce: String, _ plaintext: String, _ ciphertext: String, _ tag: String
    ) throws {
        var cipher = try cipher(.firmware, .central, key: key)
        let payload = try #require(Hex.bytes(nonce + ciphertext + tag))
        let frame = try Message(Self.reply.command, isEncrypted: true, payload: payload).encode()
        #expect(try Hex.string(cipher.open(frame).payload) == plaintext)
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `what one side seals the other opens, in both directions`(_ mode: MessageCipher.Mode) throws {
        var random = SeededGenerator(seed: 6)
        var central = try cipher(mode, .central)
        var peripheral = try cipher(mode, .peripheral)
        for _ in 0..<300 {
            var message = random.message(upTo: Message.maximumEncryptedPayload)
            message.type = .request
            let sent = try central.seal(message)
            message.isEncrypted = true
            #expect(try peripheral.open(sent) == message)
            for type in [MessageType.notification, .reply] {
                message.type = type
                #expect(try central.open(peripheral.seal(message)) == message)
            }
        }
    }

    // MARK: Replies

    @Test func `a bound reply opens for the request that it answers, and once that is not the newest for none`() throws
    {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        _ = try peripheral.open(central.seal(Self.request))
        let held = try peripheral.seal(Self.reply)
        _ = try peripheral.open(central.seal(Self.request))
        #expect(throws: MessageError.unrequestedReply) { try central.open(held) }
        #expect(try central.open(peripheral.seal(Self.reply)) == Self.reply)
    }

    @Test func `a bound reply that names another request does not open`() throws {
        for answers in [UInt64(0), 2, .max] {
            var central = try cipher(.bound, .central)
            var peripheral = try cipher(.bound, .peripheral)
            _ = try central.seal(Message(MessageCommand(rawValue: 0x0301)))
            _ = try central.seal(Self.request)
            let frame = try peripheral.seal(Self.reply, answering: answers)
            #expect(throws: MessageError.authenticationFailed) { try central.open(frame) }
            #expect(try central.open(peripheral.seal(Self.reply, answering: 1)) == Self.reply)
        }
    }

    @Test func `a bound reply opens for no request, and a request has one reply`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        #expect(throws: MessageError.unrequestedReply) { try central.open(peripheral.seal(Self.reply, answering: 0)) }
        _ = try peripheral.open(central.seal(Self.request))
        #expect(try central.open(peripheral.seal(Self.reply)) == Self.reply)
        #expect(throws: MessageError.unrequestedReply) { try central.open(peripheral.seal(Self.reply)) }
    }

    @Test func `a bound reply to nothing is not sealed, and no nonce is spent on it`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        #expect(throws: MessageError.unrequestedReply) { try peripheral.seal(Self.reply) }
        _ = try peripheral.open(central.seal(Self.request))
        let other = Message(MessageCommand(rawValue: 0x0301), type: .reply)
        #expect(throws: MessageError.unrequestedReply) { try peripheral.seal(other) }
        #expect(try Hex.string(peripheral.seal(Self.reply)) == CipherVectors.boundReply)
    }
}
