import BLE
import BLEFeatures
import BLETesting
import SmartLock
import Testing

/// Every command of the lock, over the simulated air.
@Suite(.hangLimit)
struct LockCommandTests {
    @Test(arguments: LockExchange.plain)
    func `a plain command and its reply are these bytes`(_ exchange: LockExchange) async throws {
        let world = try await LockWorld()
        try await exchange.call(world.connect())
        #expect(await world.lock.lastRequest == Hex.bytes(exchange.request))
        #expect(await world.lock.lastReply == Hex.bytes(exchange.reply))
        #expect(await world.lock.rejectedCount == 0)
    }

    @Test(arguments: LockExchange.encrypted + [.reset], [MessageCipher.Mode.bound, .firmware])
    func `an encrypted command shows its length and command alone`(
        _ exchange: LockExchange, _ mode: MessageCipher.Mode
    ) async throws {
        let world = try await LockWorld(mode: mode)
        try await exchange.call(world.pair())
        let payloads = try #require(Hex.bytes(exchange.request).map { ($0, Hex.bytes(exchange.reply) ?? []) })
        for (frame, type, payload) in [
            (await world.lock.lastRequest, MessageType.request, payloads.0),
            (await world.lock.lastReply, .reply, payloads.1),
        ] {
            let header = try MessageHeader(decoding: frame.span)
            #expect(header.type == type && header.command == exchange.command && header.isEncrypted)
            #expect(header.payloadCount == 12 + payload.count + 16)
            #expect(payload.count < 3 || !Hex.string(frame).contains(exchange.request))
        }
        #expect(await world.lock.rejectedCount == 0)
    }

    @Test func `a key exchange carries one public key each way, and is confirmed`() async throws {
        let world = try await LockWorld()
        let device = try await world.connect()
        await world.lock.hold(at: .reply)
        let caller = Task { try await LockExchange.pairing.call(device) }
        await until { await world.lock.isHolding }
        let (request, reply) = (await world.lock.lastRequest, await world.lock.lastReply)
        #expect(request.prefix(5) == [37, 1, 0x01, 0x03, 0] && request.count == 37)
        // With the key come 16 bytes that prove that the lock has computed the same ones.
        #expect(reply.prefix(5) == [53, 2, 0x01, 0x03, 0] && reply.count == 53)
        await world.lock.release()
        try await caller.value
        for (frame, type) in [(await world.lock.lastRequest, UInt8(1)), (await world.lock.lastReply, 2)] {
            #expect(frame.prefix(5) == [33, type, 0x01, 0x03, 1] && frame.count == 33)
        }
    }

    @Test func `networks that the lock finds arrive as they are notified`() async throws {
        let world = try await LockWorld()
        let network: LockNetwork = try await world.connect().feature()
        var updates = await network.updates().makeAsyncIterator()
        _ = try await network.startListening()
        try await world.lock.findNetwork("Attic")
        #expect(try await updates.next() == "Attic")
        #expect(await world.lock.lastReply == Hex.bytes("0a03030200 4174746963"))
        try await network.stopListening()
        try await world.lock.findNetwork("Cellar")
        #expect(try await network.startListening().suffix(2) == ["Attic", "Cellar"])
        try await world.lock.findNetwork("Roof")
        #expect(try await updates.next() == "Roof")
    }

    @Test func `names are cut to 20 characters, however many bytes these have`() async throws {
        let world = try await LockWorld()
        let settings: LockSettings = try await world.connect().feature()
        try await settings.setName(String(repeating: "é", count: 21))
        #expect(try await settings.name() == String(repeating: "é", count: 20))
        #expect(await world.lock.lastReply.count == 45)
    }

    @Test func `settings are read as they were set, until a reset`() async throws {
        let world = try await LockWorld()
        let settings: LockSettings = try await world.pair().feature()
        try await settings.setAutoLock(seconds: 0)
        #expect(try await settings.autoLock() == 0)
        try await settings.setAutoLock(seconds: 255)
        #expect(try await settings.autoLock() == 255)
        try await settings.setAutoLock(seconds: nil)
        #expect(try await settings.autoLock() == nil)
        try await settings.setUserID("ann")
        try await settings.setName("Shed")
        #expect(await world.lock.memory.user == Array("ann".utf8))
        try await settings.reset()
        #expect(await world.lock.memory == SimulatedLock().memory)
        #expect(try await settings.name() == "Simulated Lock")
    }

    @Test func `a network that the lock does not know cannot be joined`() async throws {
        let world = try await LockWorld()
        let network: LockNetwork = try await world.connect().feature()
        await #expect(throws: LockError.unknownNetwork("Elsewhere")) {
            try await network.join("Elsewhere", password: "")
        }
        #expect(await world.lock.memory.network == nil)
        try await network.join("Café", password: "")
        #expect(await world.lock.memory.network == "Café")
    }

    @Test func `the door opens for the right password alone, and is known to be open`() async throws {
        let world = try await LockWorld()
        let access: LockAccess = try await world.pair().feature()
        #expect(access.lastKnownState == .locked)
        await #expect(throws: LockError.wrongPassword) { try await access.unlockAsGuest(password: "") }
        try await access.setPassword("sesame")
        await #expect(throws: LockError.wrongPassword) { try await access.unlockAsGuest(password: "Sesame") }
        #expect(try await access.state() == .locked)
        try await access.unlockAsGuest(password: "sesame")
        #expect(access.lastKnownState == .unlocked)
        #expect(try await access.state() == .unlocked)
        try await access.setState(.locked)
        #expect(await world.lock.memory.state == .locked)
    }

    @Test func `what cannot be meant is not sent`() async throws {
        let world = try await LockWorld()
        let device = try await world.pair()
        let (settings, network, access): (LockSettings, LockNetwork, LockAccess) =
            try (device.feature(), device.feature(), device.feature())
        let last = await world.lock.lastRequest
        await expectError(.invalidArgument) { try await settings.setUserID("") }
        await expectError(.invalidArgument) { try await access.setPassword("") }
        for name in ["", "a\u{1F}b", String(repeating: "n", count: 33)] {
            await expectError(.invalidArgument) { try await network.join(name, password: "") }
        }
        let long = String(repeating: "p", count: Message.maximumEncryptedPayload + 1)
        await expectError(.invalidMessage) { try await access.setPassword(long) }
        #expect(await world.lock.lastRequest == last)
    }

    /// What a lock might reply, and who would take it.
    static let meaningless: [(MessageCommand, [UInt8], @Sendable (Device) async throws -> Void)] = [
        (.getName, [0xFF], { _ = try await $0.feature(LockSettings.self).name() }),
        (.getAutoLock, [1, 2], { _ = try await $0.feature(LockSettings.self).autoLock() }),
        (.getLockState, [], { _ = try await $0.feature(LockAccess.self).state() }),
        (.getLockState, [2], { _ = try await $0.feature(LockAccess.self).state() }),
        (.connectToNetwork, [1, 1], { try await $0.feature(LockNetwork.self).join("Home", password: "") }),
    ]

    @Test(arguments: meaningless.indices)
    func `a reply that means nothing is an error that says which`(_ index: Int) async throws {
        let (command, payload, call) = Self.meaningless[index]
        let world = try await LockWorld()
        let device = try await world.connect()
        await world.lock.hold(at: .write)
        let caller = Task { try await call(device) }
        await until { await world.lock.isHolding }
        try await world.lock.send(Message(command, type: .reply, payload: payload))
        await #expect(throws: LockError.meaninglessReply(command, payload)) { try await caller.value }
    }

    @Test func `names of networks that are empty or no UTF-8 are left out`() async throws {
        let world = try await LockWorld()
        let network: LockNetwork = try await world.connect().feature()
        await world.lock.hold(at: .write)
        let caller = Task { try await network.startListening() }
        await until { await world.lock.isHolding }
        try await world.lock.send(
            Message(.startNetworkListen, type: .reply, payload: [0x1F, 0x41, 0x1F, 0x1F, 0xFF, 0x1F, 0x42]))
        #expect(try await caller.value == ["A", "B"])
    }

    @Test func `a lock takes nothing plain that must be encrypted, and says nothing`() async throws {
        let world = try await LockWorld()
        let device = try await world.connect()
        for command in [MessageCommand.setLockState, .setDevicePassword, .guestUnlock] {
            try await device.messages.post(Message(command, payload: [1]))
        }
        try await device.messages.post(Message(.reset))
        await until { await world.lock.rejectedCount == 4 }
        #expect(await world.lock.memory == SimulatedLock().memory)
    }
}
