import BLE
import BLEFeatures
import BLETestSupport
import Testing

extension MessageCipherTests {
    @Test(arguments: [(MessageType.notification, MessageType.reply), (.reply, .notification), (.reply, .request)])
    func `a bound frame is not taken for one of another type`(_ sealed: MessageType, _ claimed: MessageType) throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        _ = try peripheral.open(central.seal(Self.request))
        var frame = try peripheral.seal(Message(Self.request.command, type: sealed))
        frame[1] = claimed.rawValue
        #expect(throws: MessageError.authenticationFailed) { try central.open(frame) }
        frame[1] = sealed.rawValue
        #expect(try central.open(frame).type == sealed)
    }

    // MARK: Hostile frames

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `a frame is opened once`(_ mode: MessageCipher.Mode) throws {
        var central = try cipher(mode, .central)
        var peripheral = try cipher(mode, .peripheral)
        let frames = try (0..<3).map { _ in try central.seal(Self.request) }
        for frame in frames { _ = try peripheral.open(frame) }
        for frame in frames {
            #expect(throws: MessageError.replayed) { try peripheral.open(frame) }
        }
    }

    @Test func `a bound frame that was overtaken is not opened, one after a gap is`() throws {
        var central = try cipher(.bound, .central)
        var peripheral = try cipher(.bound, .peripheral)
        let frames = try (0..<5).map { _ in try central.seal(Self.request) }
        #expect(try peripheral.open(frames[3]) == Self.request)
        for frame in frames[0...3] {
            #expect(throws: MessageError.replayed) { try peripheral.open(frame) }
        }
        #expect(try peripheral.open(frames[4]) == Self.request)
    }

    @Test func `a firmware frame that was overtaken is opened`() throws {
        var central = try cipher(.firmware, .central)
        var peripheral = try cipher(.firmware, .peripheral)
        let frames = try (0..<5).map { _ in try central.seal(Self.request) }
        for frame in frames.reversed() { #expect(try peripheral.open(frame) == Self.request) }
    }

    @Test func `firmware mode remembers the last 1024 nonces`() throws {
        var central = try cipher(.firmware, .central)
        var peripheral = try cipher(.firmware, .peripheral)
        let frames = try (0..<1025).map { _ in try central.seal(Self.request) }
        for frame in frames { _ = try peripheral.open(frame) }
        #expect(throws: MessageError.replayed) { try peripheral.open(frames[1]) }
        #expect(try peripheral.open(frames[0]) == Self.request)
    }

    @Test(arguments: [(MessageCipher.Mode.bound, MessageError.malformedCiphertext), (.firmware, .replayed)])
    func `a frame that is sent back is not opened`(_ mode: MessageCipher.Mode, _ expected: MessageError) throws {
        var central = try cipher(mode, .central)
        let frame = try central.seal(Self.request)
        #expect(throws: expected) { try central.open(frame) }
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `a flipped bit anywhere is found, and changes nothing`(_ mode: MessageCipher.Mode) throws {
        var central = try cipher(mode, .central)
        var peripheral = try cipher(mode, .peripheral)
        let frame = try central.seal(Self.request)
        // The header is not authenticated in firmware mode: type and command may be changed.
        let unprotected = mode == .firmware ? 1..<4 : 0..<0
        for bit in 0..<frame.count * 8 where !unprotected.contains(bit / 8) {
            var flipped = frame
            flipped[bit / 8] ^= 1 << (bit % 8)
            #expect(throws: MessageError.self, "bit \(bit)") { try peripheral.open(flipped) }
        }
        #expect(try peripheral.open(frame) == Self.request)
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `another key opens nothing`(_ mode: MessageCipher.Mode) throws {
        var central = try cipher(mode, .central)
        var peripheral = try cipher(mode, .peripheral, key: CipherVectors.resumedSessionKey)
        let frame = try central.seal(Self.request)
        #expect(throws: MessageError.authenticationFailed) { try peripheral.open(frame) }
    }

    @Test func `the modes do not open each other's frames`() throws {
        let key = CipherVectors.sessionKey
        var bound = try cipher(.bound, .central, key: key)
        var firmware = try cipher(.firmware, .central, key: key)
        var boundPeer = try cipher(.bound, .peripheral, key: key)
        var firmwarePeer = try cipher(.firmware, .peripheral, key: key)
        let (one, other) = try (bound.seal(Self.request), firmware.seal(Self.request))
        #expect(throws: MessageError.authenticationFailed) { try firmwarePeer.open(one) }
        #expect(throws: MessageError.malformedCiphertext) { try boundPeer.open(other) }
    }

    @Test(arguments: [
        ([UInt8](repeating: 0, count: 0), MessageError.malformedCiphertext),
        ([UInt8](repeating: 0, count: 27), .malformedCiphertext),
        ([3, 0, 0, 0] + [UInt8](repeating: 0, count: 24), .malformedCiphertext),
        ([1, 0, 0, 1] + [UInt8](repeating: 0, count: 24), .malformedCiphertext),
        ([1, 0, 0, 0] + [UInt8](repeating: 0, count: 24), .authenticationFailed),
    ])
    func `a payload that was not sealed is distinguished from a changed one`(
        _ payload: [UInt8], _ expected: MessageError
    ) throws {
        var peripheral = try cipher(.bound, .peripheral)
        let frame = try Message(Self.request.command, isEncrypted: true, payload: payload).encode()
        #expect(throws: expected) { try peripheral.open(frame) }
    }

    @Test func `a plain frame is not opened`() throws {
        var peripheral = try cipher(.bound, .peripheral)
        let frame = try Message(Self.request.command).encode()
        #expect(throws: MessageError.notEncrypted) { try peripheral.open(frame) }
    }

    @Test(arguments: MessageTests.malformed)
    func `an invalid frame is the same error as without encryption`(
        _ bytes: [UInt8], _ expected: MessageError
    ) throws {
        var peripheral = try cipher(.bound, .peripheral)
        #expect(throws: expected) { try peripheral.open(bytes) }
    }

    @Test func `a payload that is too long is not sealed, and no nonce is spent on it`() throws {
        var central = try cipher(.bound, .central)
        let message = Message(Self.request.command, payload: [UInt8](repeating: 0, count: 223))
        #expect(throws: MessageError.payloadTooLong(count: 223, maximum: 222)) { try central.seal(message) }
        #expect(try Hex.string(central.seal(Self.request)) == CipherVectors.boundRequest)
    }

    @Test(arguments: [MessageCipher.Mode.bound, .firmware])
    func `the key follows from the mode`(_ mode: MessageCipher.Mode) throws {
        let derivation = KeyDerivation(salt: CipherVectors.salt, info: CipherVectors.info)
        let request = try KeyExchangeRequest(decoding: KeyExchange().request())
        let keys = try KeyExchange().answer(request, derivation: derivation, mode: mode).keys
        var central = MessageCipher(mode, role: .central, keys: keys)
        var peripheral = MessageCipher(
            mode, role: .peripheral, key: mode == .bound ? keys.sessionKey : keys.pairingKey)
        let frame = try central.seal(Self.request)
        #expect(try peripheral.open(frame) == Self.request)
    }
}
