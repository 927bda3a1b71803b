import BLE
import BLEFeatures
import BLESimulation
import BLETestSupport
import Testing

/// Requests and replies, on messages: each request gets its own reply, or the reason why there is none.
@Suite(.hangLimit) struct TransactionSessionTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private func session(
        _ device: FakeDevice, reassembles: Bool = false, _ change: (inout TransactionConfiguration) -> Void = { _ in }
    ) -> TransactionSession<MessageCodec> {
        var configuration = FakeDevice.transactions
        change(&configuration)
        return TransactionSession(
            device.peripheral, codec: MessageCodec(reassembles: reassembles), configuration: configuration)
    }

    private static let name = Message(MessageCommand(rawValue: 0x0201))
    private static let state = Message(MessageCommand(rawValue: 0x0104))

    @Test func `a request is written as its frame and answered by the reply`() async throws {
        let device = try await FakeDevice(in: world) { _ in [FakeDevice.reply(0x0201, [0x41])] }
        let reply = try await session(device).send(Self.name)
        #expect(device.requests == [[5, 1, 2, 1, 0]])
        #expect(reply == Message(Self.name.command, type: .reply, payload: [0x41]))
    }

    @Test func `requests of different commands are under way together, and answered in any order`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let first = Task { try await session.send(Self.name) }
        await device.asked(1)
        let second = Task { try await session.send(Self.state) }
        await device.asked(2)
        await device.notify(FakeDevice.reply(0x0104, [1]))
        #expect(try await second.value.payload == [1])
        await device.notify(FakeDevice.reply(0x0201, [2]))
        #expect(try await first.value.payload == [2])
    }

    @Test func `requests of one command wait for their turn, and get their own replies`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let first = Task { try await session.send(Message(Self.name.command, payload: [1])) }
        await device.asked(1)
        let second = Task { try await session.send(Message(Self.name.command, payload: [2])) }
        for _ in 0..<200 { await Task.yield() }
        #expect(device.requests.count == 1)
        await device.notify(FakeDevice.reply(0x0201, [11]))
        #expect(try await first.value.payload == [11])
        await device.asked(2)
        await device.notify(FakeDevice.reply(0x0201, [12]))
        #expect(try await second.value.payload == [12])
    }

    // MARK: Replies that do not come

    @Test func `a request without a reply times out, with what went wrong as the cause`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let waiting = Task { try await session.send(Self.name) }
        await device.asked(1)
        await device.notify([9, 9])
        // Only the deadline of the reply is left, not that of the write.
        await until {
            let counters = await session.counters
            return counters.malformed == 1 && counters.written == 1 && world.clock.sleeperCount == 1
        }
        world.clock.advance(by: .seconds(10))
        let error = await expectError(.commandTimedOut) { try await waiting.value }
        #expect(error?.mayHaveReachedPeripheral == true)
        #expect(error?.message.contains("0x0201") == true)
        #expect((error?.cause as? BLEError)?.cause as? MessageError == .tooShort(count: 2))
    }

    @Test func `a write that is not confirmed is a request without a reply`() async throws {
        let device = try await FakeDevice(in: world)
        await device.grip.ignore(.write, .next(1))
        let session = session(device)
        let waiting = Task { try await session.send(Self.name, timeout: .seconds(60)) }
        // The deadline of the write.
        await world.clock.sleepers(1, for: .seconds(60))
        await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) { _ = await waiting.result }
        let error = await expectError(.commandTimedOut) { try await waiting.value }
        #expect((error?.cause as? BLEError)?.code == .timedOut)
    }

    @Test func `a late reply is not taken for the next request's`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let first = Task { try await session.send(Self.name) }
        await device.asked(1)
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        let second = Task { try await session.send(Self.name) }
        for _ in 0..<200 { await Task.yield() }
        #expect(device.requests.count == 1)
        await device.notify(FakeDevice.reply(0x0201, [1]))
        await device.asked(2)
        await device.notify(FakeDevice.reply(0x0201, [2]))
        #expect(try await second.value.payload == [2])
        #expect(await session.counters.late == 1)
    }

    @Test func `when the late reply does not come the next request is written after the grace time`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let first = Task { try await session.send(Self.name, timeout: .seconds(1)) }
        await device.asked(1)
        world.clock.advance(by: .seconds(1))
        await expectError(.commandTimedOut) { try await first.value }
        let second = Task { try await session.send(Self.name) }
        // The grace of the first request.
        await world.clock.sleepers(1, for: .seconds(2))
        world.clock.advance(by: .seconds(2))
        await device.asked(2)
        await device.notify(FakeDevice.reply(0x0201, [2]))
        #expect(try await second.value.payload == [2])
    }

    @Test func `a request that waits for its turn and is cancelled is never written`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let first = Task { try await session.send(Self.name) }
        await device.asked(1)
        let second = Task { try await session.send(Message(Self.name.command, payload: [2])) }
        for _ in 0..<100 { await Task.yield() }
        second.cancel()
        await expectError(.cancelled) { try await second.value }
        await device.notify(FakeDevice.reply(0x0201))
        _ = try await first.value
        let third = Task { try await session.send(Message(Self.name.command, payload: [3])) }
        await device.asked(2)
        #expect(device.requests.last?.last == 3)
        third.cancel()
    }

    @Test func `a refused write is the request's error, and the next one is not held up`() async throws {
        let device = try await FakeDevice(in: world) { _ in [FakeDevice.reply(0x0201)] }
        let session = session(device)
        device.refuse(.writeNotPermitted)
        let error = await expectError(.notPermitted) { try await session.send(Self.name) }
        #expect(error?.attError == .writeNotPermitted)
        device.refuse(nil)
        _ = try await session.send(Self.name)
    }

    // MARK: Other packets

    @Test func `a request from the device fails the waiting caller, once, and no other`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let waiting = Task { try await session.send(Self.name) }
        await device.asked(1)
        await device.notify(FakeDevice.frame(1, 0x0201))
        await expectError(.invalidMessageType) { try await waiting.value }
        await device.notify(FakeDevice.frame(1, 0x0201))
        await until { await session.counters.malformed == 2 }
        #expect(await session.counters.replies == 0)
    }

    static let hostile: [[UInt8]] = [
        [], [5], [5, 2, 2, 1], [6, 2, 2, 1, 0], [5, 2, 2, 1, 0, 0], [5, 0, 2, 1, 0], [5, 4, 2, 1, 0], [5, 2, 2, 1, 2],
        [255, 2, 2, 1, 0], [0, 0, 0, 0, 0], FakeDevice.frame(2, 0x0201, Array(repeating: 7, count: 40), isEncrypted: 1),
        FakeDevice.reply(0x0202), FakeDevice.reply(0x0102), FakeDevice.frame(3, 0x0201),
    ]

    @Test(arguments: hostile) func `other messages do not complete a request`(_ packet: [UInt8]) async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let waiting = Task { try await session.send(Self.name) }
        await device.asked(1)
        await device.notify(packet)
        await until { await session.counters.packets == 1 }
        let counters = await session.counters
        #expect(counters.malformed + counters.unmatched + counters.notifications == 1)
        await device.notify(FakeDevice.reply(0x0201, [1]))
        #expect(try await waiting.value.payload == [1])
    }

    @Test func `what goes wrong can be watched`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        try await session.start()
        var problems = await session.problems().makeAsyncIterator()
        await device.notify([1])
        #expect(try await problems.next()?.cause as? MessageError == .tooShort(count: 1))
        await device.notify(FakeDevice.reply(0x0201))
        #expect(try await problems.next()?.code == .invalidMessage)
    }

    @Test func `notifications go to every listener of their command, and complete no request`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        try await session.start()
        var first = await session.notifications { $0.command.rawValue == 0x0302 }.makeAsyncIterator()
        var second = await session.notifications { $0.command.rawValue == 0x0302 }.makeAsyncIterator()
        var other = await session.notifications { $0.command.rawValue == 0x0303 }.makeAsyncIterator()
        await device.notify(FakeDevice.frame(3, 0x0302, [1]))
        await device.notify(FakeDevice.frame(3, 0x0303, [2]))
        #expect(try await first.next()?.payload == [1])
        #expect(try await second.next()?.payload == [1])
        #expect(try await other.next()?.payload == [2])
    }

    @Test(arguments: [1, 2, 4, 7, 20]) func `split frames are put together`(_ size: Int) async throws {
        let reply = FakeDevice.reply(0x0201, Array(0..<100))
        let device = try await FakeDevice(in: world) { _ in
            stride(from: 0, to: reply.count, by: size).map { Array(reply[$0..<min($0 + size, reply.count)]) }
        }
        let session = session(device, reassembles: true)
        #expect(try await session.send(Self.name).payload == Array(0..<100))
        #expect(try await session.send(Self.name).payload == Array(0..<100))
    }

    // MARK: Long frames

    @Test func `a frame that is longer than a packet is a long write, or refused`() async throws {
        let device = try await FakeDevice(in: world) { _ in [FakeDevice.reply(0x0201)] }
        let long = Message(Self.name.command, payload: Array(repeating: 1, count: 250))
        _ = try await session(device).send(long)
        #expect(device.requests.last?.count == 255)
        let strict = session(device) { $0.longFrames = .refuse }
        await expectError(.invalidLength) { try await strict.send(long) }
        _ = try await strict.send(Self.name)
        await expectError(.invalidMessage) {
            try await strict.send(Message(Self.name.command, payload: Array(repeating: 1, count: 251)))
        }
    }

    // MARK: Ends

    @Test func `a request that is cancelled while its link is made leaves no link, and the next one makes it`()
        async throws
    {
        let device = try await FakeDevice(in: world) { _ in [FakeDevice.reply(0x0201)] }
        let session = session(device)
        // Without advertising there is no link.
        await device.grip.setAdvertising(false)
        let first = Task { try await session.send(Self.name) }
        await until { await device.peripheral.connectionState == .connecting }
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        await until { await device.peripheral.connectionState == .disconnected }
        await until { world.clock.sleeperCount == 0 }
        await device.grip.setAdvertising(true)
        let second = Task { try await session.send(Self.name) }
        try await world.asTimePasses { _ = try await second.value }
    }

    @Test func `the end of the link fails all requests at once, and the session is over`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let waiters = (0..<3).map { number in Task { try await session.send(number == 0 ? Self.state : Self.name) } }
        await device.asked(2)
        var listener = await session.notifications().makeAsyncIterator()
        await device.grip.dropLink()
        for waiter in waiters { await expectError(.disconnected) { try await waiter.value } }
        await expectError(.disconnected) { try await listener.next() }
        #expect(try await session.untilClosed().code == .disconnected)
        await expectError(.disconnected) { try await session.send(Self.name) }
        #expect(await device.peripheral.connectionState == .disconnected)
        await until { world.clock.sleeperCount == 0 }
    }

    @Test func `closing fails all requests and leaves the link`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        let waiting = Task { try await session.send(Self.name) }
        await device.asked(1)
        await session.close()
        await expectError(.connectionCancelled) { try await waiting.value }
        #expect(await device.peripheral.connectionState == .connected)
        await until { await device.grip.subscriberCount(of: FakeDevice.reply.characteristic) == 0 }
    }

    @Test func `a post returns when it is written`() async throws {
        let device = try await FakeDevice(in: world)
        let session = session(device)
        try await session.post(Self.name)
        #expect(device.requests.count == 1)
        try await session.post(Self.name)
        #expect(device.requests.count == 2)
    }
}
