import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Encryption in a session: keys that are exchanged automatically, kept for the next link, and safe from an attacker.
@Suite(.hangLimit) struct MessageSessionTests {
    let world: SimulatedWorld
    static let modes: [MessageCipher.Mode] = [.bound, .firmware]
    static let secret = Message(MessageCommand(rawValue: 0x0204), isEncrypted: true, payload: [1, 2, 3])

    init() async throws { world = try await SimulatedWorld() }

    func device(_ secure: FakeSecureDevice) async throws -> FakeDevice {
        try await FakeDevice(in: world) { secure.answer($0) }
    }

    func session(
        _ device: FakeDevice, _ mode: MessageCipher.Mode?, _ keys: any PairingKeys = MemoryPairingKeys()
    ) -> MessageSession {
        MessageSession(
            device.peripheral, configuration: FakeDevice.transactions,
            encryption: mode.map { FakeSecureDevice.encryption($0) }, keys: keys)
    }

    @Test(arguments: modes) func `a pairing encrypts what is marked encrypted`(_ mode: MessageCipher.Mode) async throws
    {
        let secure = FakeSecureDevice(mode)
        let device = try await device(secure)
        let session = session(device, mode)
        try await session.pair()
        let reply = try await session.send(Self.secret)
        #expect(reply.payload == [3, 2, 1])
        #expect(reply.isEncrypted)
        let frame = try #require(device.requests.last)
        #expect(frame.count == 5 + 12 + 3 + 16 && frame[4] == 1)
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
    }

    @Test func `a pairing that fails makes nothing new that came before it`() async throws {
        let secure = FakeSecureDevice(.firmware)
        let device = try await device(secure)
        let session = session(device, .firmware)
        try await session.pair()
        let command = MessageCommand(rawValue: 0x0301)
        var heard = await session.notifications(for: command).makeAsyncIterator()
        let recorded = try secure.notification(command, [1])
        await device.notify(recorded)
        #expect(try await heard.next()?.payload == [1])
        secure.forgeExchangeReply([1, 2])
        await expectError(.encryptionFailed) { try await session.pair() }
        secure.forgeExchangeReply(nil)
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        await device.notify(recorded)
        await device.notify(try secure.notification(command, [2]))
        #expect(try await heard.next()?.payload == [2])
    }

    @Test func `without a pairing an encrypted message is an error, and nothing is sent`() async throws {
        let device = try await device(FakeSecureDevice(.bound))
        let error = await expectError(.encryptionFailed) { try await session(device, .bound).send(Self.secret) }
        #expect(error?.cause as? MessageError == .missingKey)
        await expectError(.encryptionFailed) { try await session(device, nil).send(Self.secret) }
        #expect(device.requests.isEmpty)
    }

    @Test(arguments: modes) func `the next link goes on with the pairing`(_ mode: MessageCipher.Mode) async throws {
        let secure = FakeSecureDevice(mode)
        let device = try await device(secure)
        let keys = MemoryPairingKeys()
        let first = session(device, mode, keys)
        try await first.pair()
        try await device.peripheral.disconnect()
        _ = try await first.untilClosed()
        let second = session(device, mode, keys)
        #expect(try await second.send(Self.secret).payload == [3, 2, 1])
        // The earlier protocol uses the pairing key itself; here each link has a key of its own.
        #expect(secure.exchanges == (mode == .bound ? 2 : 1))
    }

    @Test func `callers that need keys at the same time share one exchange`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        let session = session(device, .bound, keys)
        try await withThrowingTaskGroup(of: [UInt8].self) { group in
            for number in UInt16(1)...10 {
                group.addTask {
                    let command = MessageCommand(rawValue: 0x0200 + number)
                    return try await session.send(Message(command, isEncrypted: true, payload: [1, 2])).payload
                }
            }
            for try await payload in group { #expect(payload == [2, 1]) }
        }
        #expect(secure.exchanges == 2)
    }

    @Test func `a device that has forgotten the pairing says so`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        secure.forget()
        let session = session(device, .bound, keys)
        let error = await expectError(.encryptionFailed) { try await session.send(Self.secret) }
        #expect(error?.cause as? MessageError == .keyUnknownToDevice)
        try await session.pair()
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
    }

    @Test func `a forgotten key encrypts nothing any more`() async throws {
        let device = try await device(FakeSecureDevice(.bound))
        let session = session(device, .bound)
        try await session.pair()
        try await session.unpair()
        await expectError(.encryptionFailed) { try await session.send(Self.secret) }
    }

    // MARK: Hostile air

    @Test func `a plain reply does not answer an encrypted request`() async throws {
        let secure = FakeSecureDevice(.bound)
        let device = try await device(secure)
        let session = session(device, .bound)
        try await session.pair()
        secure.answerPlainly()
        let waiting = Task { try await session.send(Self.secret) }
        // The pairing's two messages and this one are written; only the deadline of the reply is left.
        await until {
            let counters = await session.counters
            return counters.unmatched == 1 && counters.written == 3 && world.clock.sleeperCount == 1
        }
        world.clock.advance(by: .seconds(10))
        await expectError(.commandTimedOut) { try await waiting.value }
    }

    @Test(arguments: modes) func `a repeated or changed reply answers nothing`(_ mode: MessageCipher.Mode) async throws
    {
        let secure = FakeSecureDevice(mode)
        let silent = SharedValue(false)
        let device = try await FakeDevice(in: world) { silent.value ? [] : secure.answer($0) }
        let session = session(device, mode)
        try await session.pair()
        _ = try await session.send(Self.secret)
        let old = try #require(secure.sent.last)
        silent.change { $0 = true }
        let waiting = Task { try await session.send(Self.secret) }
        await device.asked(mode == .bound ? 4 : 3)
        await device.notify(old)
        var changed = old
        changed[20] ^= 1
        await device.notify(changed)
        let written = device.requests.count
        await until {
            let counters = await session.counters
            return counters.malformed == 2 && counters.written == written && world.clock.sleeperCount == 1
        }
        world.clock.advance(by: .seconds(10))
        let error = await expectError(.commandTimedOut) { try await waiting.value }
        #expect((error?.cause as? BLEError)?.code == .encryptionFailed)
    }

    @Test func `an encrypted message takes less payload, and says so before anything is sent`() async throws {
        let device = try await device(FakeSecureDevice(.bound))
        let session = session(device, .bound)
        try await session.pair()
        let fits = Message(Self.secret.command, isEncrypted: true, payload: Array(repeating: 1, count: 222))
        #expect(try await session.send(fits).payload.count == 222)
        let tooLong = Message(Self.secret.command, isEncrypted: true, payload: Array(repeating: 1, count: 223))
        let error = await expectError(.invalidMessage) { try await session.send(tooLong) }
        #expect(error?.cause as? MessageError == .payloadTooLong(count: 223, maximum: 222))
    }

    @Test func `the link's end in the middle of an exchange fails all requests at once`() async throws {
        let secure = FakeSecureDevice(.bound)
        let silent = SharedValue(false)
        let device = try await FakeDevice(in: world) { silent.value ? [] : secure.answer($0) }
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        silent.change { $0 = true }
        let session = session(device, .bound, keys)
        let waiting = (0..<3).map { _ in Task { try await session.send(Self.secret) } }
        await device.asked(3)
        await device.grip.dropLink()
        for task in waiting { await expectError(.disconnected) { try await task.value } }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test func `one caller's cancellation does not end the exchange of the others`() async throws {
        let secure = FakeSecureDevice(.bound)
        let silent = SharedValue(false)
        let device = try await FakeDevice(in: world) { silent.value ? [] : secure.answer($0) }
        let keys = MemoryPairingKeys()
        try await session(device, .bound, keys).pair()
        silent.change { $0 = true }
        let session = session(device, .bound, keys)
        let first = Task { try await session.send(Self.secret) }
        await device.asked(3)
        let second = Task { try await session.send(Self.secret) }
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        // The exchange of the second waits for a late reply to that of the first.
        await world.clock.sleepers(1, for: .seconds(2))
        await world.clock.sleepers(1, for: .seconds(10))
        silent.change { $0 = false }
        for packet in secure.answer(device.requests[2]) { await device.notify(packet) }
        #expect(try await second.value.payload == [3, 2, 1])
    }

    @Test func `a pairing that is given up before it is confirmed leaves the old keys`() async throws {
        let secure = FakeSecureDevice(.bound)
        let silent = SharedValue(false)
        let device = try await FakeDevice(in: world) { silent.value ? [] : secure.answer($0) }
        let session = session(device, .bound)
        try await session.pair()
        _ = try await session.send(Self.secret)
        silent.change { $0 = true }
        let pairing = Task { try await session.pair() }
        await device.asked(4)
        let answer = secure.answer(device.requests[3])
        pairing.cancel()
        await expectError(.cancelled) { try await pairing.value }
        silent.change { $0 = false }
        for packet in answer { await device.notify(packet) }
        #expect(try await session.send(Self.secret).payload == [3, 2, 1])
        #expect((secure.exchanges, secure.knownKeys) == (2, 1))
    }
}
