import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

extension MessageSessionTests {
    /// Sends a request while one that was given up is still in its grace, which then ends. No other time passes.
    private func afterGrace(_ session: MessageSession) async throws -> Message {
        let waiting = Task { try await session.send(Self.secret) }
        await world.clock.sleepers(1, for: .seconds(2))
        world.clock.advance(by: .seconds(2))
        return try await waiting.value
    }

    @Test func `an unanswered confirmation ends a pairing, and the next message exchanges keys`() async throws {
        let secure = FakeSecureDevice(.bound)
        let silent = SharedValue(false)
        // The device has stored its part of the new pairing.
        let device = try await FakeDevice(in: world) { frame in
            let answer = secure.answer(frame)
            return silent.value && frame[4] == 1 ? [] : answer
        }
        let keys = MemoryPairingKeys()
        let session = session(device, .bound, keys)
        try await session.pair()
        let key = await keys.key()
        silent.change { $0 = true }
        let pairing = Task { try await session.pair() }
        await device.asked(4)
        await until { secure.knownKeys == 2 }
        pairing.cancel()
        await expectError(.cancelled) { try await pairing.value }
        #expect(await keys.key() == key)
        silent.change { $0 = false }
        #expect(try await afterGrace(session).payload == [3, 2, 1])
        #expect((secure.exchanges, secure.knownKeys) == (3, 2))
    }

    @Test func `a reply that was held back does not answer the next request of its command`() async throws {
        let secure = FakeSecureDevice(.bound)
        let held = SharedValue(false)
        let device = try await FakeDevice(in: world) { held.value ? [] : secure.answer($0) }
        let session = session(device, .bound)
        try await session.pair()
        held.change { $0 = true }
        let first = Task { try await session.send(Self.secret) }
        await device.asked(3)
        let oldReply = secure.answer(device.requests[2])
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        // The grace of the request that was given up ends.
        await world.clock.sleepers(1, for: .seconds(2))
        world.clock.advance(by: .seconds(2))
        let next = Message(Self.secret.command, isEncrypted: true, payload: [4, 5, 6])
        let second = Task { try await session.send(next) }
        await device.asked(4)
        for packet in oldReply { await device.notify(packet) }
        await until { await session.counters.malformed == 1 }
        for packet in secure.answer(device.requests[3]) { await device.notify(packet) }
        #expect(try await second.value.payload == [6, 5, 4])
        // It was authentic, so the keys are still good.
        held.change { $0 = false }
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        #expect(secure.exchanges == 1)
    }

    // MARK: Confirmed keys

    /// Possible answers of a device without the keys to the first frame of an exchange.
    static let forgedReplies: [[UInt8]] = {
        var random = SeededGenerator(seed: 5)
        let publicKey = random.bytes(32...32)
        return [publicKey, publicKey + random.bytes(16...16), KeyExchange().publicKey + random.bytes(16...16)]
    }()

    @Test(arguments: forgedReplies.indices)
    func `a device that does not prove that it has the keys is not trusted, and gets nothing encrypted`(
        _ index: Int
    ) async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        let key = await keys.key()
        secure.forgeExchangeReply(Self.forgedReplies[index])
        let session = session(device, .bound, keys)
        let written = device.requests.count
        for attempt in 1...2 {
            let error = await expectError(.encryptionFailed) {
                try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) { try await session.secure() }
            }
            #expect(error?.cause as? MessageError == .confirmationFailed, "attempt \(attempt)")
        }
        for body in [{ _ = try await session.send(Self.secret) }, { try await session.pair() }] {
            let error = await expectError(.encryptionFailed) {
                try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) { try await body() }
            }
            #expect(error?.cause as? MessageError == .confirmationFailed)
        }
        #expect(device.requests.dropFirst(written).map { $0[4] } == [0, 0, 0, 0])
        #expect(await keys.key() == key)
        secure.forgeExchangeReply(nil)
        var reply: Message?
        while reply == nil {
            do {
                reply = try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) {
                    try await session.send(Self.secret)
                }
            } catch let error as BLEError where error.code == .commandTimedOut {
                // Time may pass before the reply arrives.
            }
        }
        #expect(reply?.payload == [3, 2, 1])
    }

    @Test func `the reply to another central's exchange does not end that of this one`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await FakeDevice(in: world) { frame in
            // A device that cannot distinguish its subscribers sends both frames to both.
            let other = Message(FakeSecureDevice.exchange, type: .reply, payload: Self.forgedReplies[2])
            return (frame[4] == 0 ? [(try? other.encode()) ?? []] : []) + secure.answer(frame)
        }
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        let session = session(device, .bound, keys)
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        #expect(await session.counters.malformed == 1)
        #expect(secure.exchanges == 2)
    }

    @Test func `nothing is kept of a pairing that was not confirmed`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        secure.forgeExchangeReply(Self.forgedReplies[0])
        let keys = MemoryPairingKeys()
        let session = session(device, .bound, keys)
        let error = await expectError(.encryptionFailed) { try await session.pair() }
        #expect(error?.cause as? MessageError == .confirmationFailed)
        #expect(await keys.key() == nil)
    }

    @Test func `the exchanges of two links have no bytes in common`() async throws {
        let device = try await device(FakeSecureDevice(.bound))
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        for _ in 0..<2 { try await session(device, .bound, keys).secure() }
        let requests = device.requests.filter { $0.count == 5 + 40 }.map { $0.dropFirst(5) }
        #expect(requests.count == 2)
        #expect(requests[0].prefix(32) != requests[1].prefix(32))
        #expect(requests[0].suffix(8) != requests[1].suffix(8))
    }

    @Test func `after a frame that could not be authenticated the next message exchanges keys`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let session = session(device, .bound)
        try await session.pair()
        _ = try await session.send(Self.secret)
        secure.damageSessionKey()
        await device.notify(try secure.notification(Self.secret.command, [1]))
        await until { await session.counters.malformed == 1 }
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        #expect(secure.exchanges == 2)
    }

    @Test func `a forged frame does not end the request under way`() async throws {
        let secure = FakeSecureDevice(.bound)
        let held = SharedValue(false)
        let device = try await FakeDevice(in: world) { held.value ? [] : secure.answer($0) }
        let session = session(device, .bound)
        try await session.pair()
        held.change { $0 = true }
        let waiting = Task { try await session.send(Self.secret) }
        await device.asked(3)
        let answer = try #require(secure.answer(device.requests[2]).first)
        var forged = answer
        forged[forged.count - 1] ^= 1
        await device.notify(forged)
        await until { await session.counters.malformed == 1 }
        await device.notify(answer)
        #expect(try await waiting.value.payload == [3, 2, 1])
    }

    @Test func `after an encrypted request that was not answered the next one exchanges keys`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let session = session(device, .bound)
        try await session.pair()
        secure.damageSessionKey()
        let waiting = Task { try await session.send(Self.secret) }
        await device.asked(3)
        await until { await session.counters.written == 3 && world.clock.sleeperCount == 1 }
        world.clock.advance(by: .seconds(10))
        await expectError(.commandTimedOut) { try await waiting.value }
        #expect(try await afterGrace(session).payload == [3, 2, 1])
        #expect(secure.exchanges == 2)
    }

    @Test func `a key that cannot be stored is valid for this link, and its owner is notified`() async throws {
        struct FullDisk: PairingKeys {
            func key() -> MessageKey? { nil }
            func setKey(_ key: MessageKey?) throws(BLEError) { throw BLEError(.storageFailed, "the disk is full") }
        }
        let device = try await device(FakeSecureDevice(.bound))
        let session = session(device, .bound, FullDisk())
        await expectError(.storageFailed) { try await session.pair() }
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
    }

    @Test(arguments: modes) func `encrypted notifications can be read before anything was sent`(
        _ mode: MessageCipher.Mode
    ) async throws {
        let secure = FakeSecureDevice(mode)
        let device = try await device(secure)
        let keys = MemoryPairingKeys()
        try await session(device, mode, keys).pair()
        let session = session(device, mode, keys)
        try await session.start()
        if mode == .bound { try await session.secure() }
        var notifications = await session.notifications(for: Self.secret.command).makeAsyncIterator()
        await device.notify(try secure.notification(Self.secret.command, [4]))
        #expect(try await notifications.next()?.payload == [4])
    }

    @Test func `a listener's stream ends with a released session`() async throws {
        let device = try await device(FakeSecureDevice(.bound))
        var session: MessageSession? = session(device, .bound)
        try await session?.start()
        var notifications = await session?.notifications(for: Self.secret.command).makeAsyncIterator()
        session = nil
        await expectError(.connectionCancelled) { try await notifications?.next() }
    }
}
