import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralSocketTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    private func subscribe(_ capacity: Int = 2, _ delivery: NotificationDelivery = .socket) async throws
        -> NotificationStream<[UInt8]>
    {
        try await strap.notifications(
            Bench.level.key.bytes, delivery: delivery, overflow: .dropNewest(capacity: capacity))
    }

    // MARK: Notifications

    @Test func `a socket is asked for in the standard way's place, and released with the last reader`() async throws {
        do {
            let first = try await subscribe()
            let second = try await subscribe(2, .standard)
            #expect(await bench.backend.calls(.acquireNotifications, .startNotifications) == [.acquireNotifications(2)])
            #expect(await bench.backend.offer([1], from: 2) == true)
            var (ones, others) = (first.makeAsyncIterator(), second.makeAsyncIterator())
            #expect(try await [ones.next(), others.next()] == [[1], [1]])
        }
        await bench.backend.asked(.stopNotifications)
        #expect(await bench.backend.count(.stopNotifications) == 1)
    }

    @Test func `a full reader holds the socket up, and lets it go on when it has taken over`() async throws {
        let values = try await subscribe()
        var iterator = values.makeAsyncIterator()
        #expect(await bench.backend.offer([1], from: 2) == true)
        #expect(await bench.backend.offer([2], from: 2) == false)
        // Packets that still arrive through the socket are not lost.
        #expect(await bench.backend.offer([3], from: 2) == false)
        #expect(await bench.backend.resumed == [])
        #expect(try await [iterator.next(), iterator.next(), iterator.next()] == [[1], [2], [3]])
        await until { await bench.backend.resumed == [2] }
        #expect(values.droppedCount == 0)
        #expect(await bench.backend.offer([4], from: 2) == true)
        #expect(try await iterator.next() == [4])
    }

    @Test func `the socket waits for the slowest of its readers, not for others`() async throws {
        let (slow, fast) = (try await subscribe(), try await subscribe())
        let other = try await subscribe(1, .standard)
        var (ones, others) = (slow.makeAsyncIterator(), fast.makeAsyncIterator())
        for value in UInt8(1)...2 { _ = await bench.backend.offer([value], from: 2) }
        #expect(other.droppedCount == 1)
        #expect(try await others.next() == [1])
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.backend.resumed == [])
        #expect(try await ones.next() == [1])
        await until { await !bench.backend.resumed.isEmpty }
    }

    @Test func `a full reader that goes away holds nothing up`() async throws {
        let reading = try await subscribe(1000)
        do {
            let slow = try await subscribe(1)
            #expect(await bench.backend.offer([1], from: 2) == false)
            #expect(slow.droppedCount == 0)
        }
        await until { await !bench.backend.resumed.isEmpty }
        #expect(await bench.backend.offer([2], from: 2) == true)
        #expect(reading.droppedCount == 0)
    }

    @Test(arguments: [BLEError.Code.notSupported, .busy])
    func `without a socket, values come as signals`(_ code: BLEError.Code) async throws {
        await bench.backend.script(.acquireNotifications, .fail(Bench.error(code)))
        var values = try await subscribe().makeAsyncIterator()
        #expect(
            await bench.backend.calls(.acquireNotifications, .startNotifications) == [
                .acquireNotifications(2), .startNotifications(2),
            ])
        await bench.backend.notify([1], from: 2)
        #expect(try await values.next() == [1])
    }

    @Test func `another error is the subscriber's`() async throws {
        await bench.backend.script(.acquireNotifications, .fail(Bench.error(.disconnected)))
        await expectError(.disconnected) { try await subscribe() }
        #expect(await bench.backend.count(.startNotifications) == 0)
    }

    @Test func `a socket that is taken away leaves a gap, and the standard way follows`() async throws {
        var events = try await subscribe(8).events.makeAsyncIterator()
        _ = await bench.backend.offer([1], from: 2)
        let attribute = AttributeID(peripheral: strap.id, handle: 2)
        await bench.backend.emit(.notificationsEnded(attribute, Bench.error(.busy)))
        await bench.backend.asked(.startNotifications)
        await bench.backend.notify([2], from: 2)
        guard case .value([1]) = try await events.next(), case .gap(let error) = try await events.next(),
            case .value([2]) = try await events.next()
        else { return #expect(Bool(false), "value, gap, value were expected") }
        #expect(error.code == .busy)
        #expect(await bench.backend.count(.acquireNotifications) == 1)
    }

    @Test func `a new link brings a new socket`() async throws {
        try await strap.setConnectionPolicy(.maintained(backoff: Backoff(initial: .zero, factor: 1, maximum: .zero)))
        var values = try await subscribe(8).makeAsyncIterator()
        let attribute = AttributeID(peripheral: strap.id, handle: 2)
        await bench.backend.emit(.notificationsEnded(attribute, Bench.error(.busy)))
        await bench.backend.asked(.startNotifications)
        await bench.dropLink()
        await bench.backend.asked(.acquireNotifications, 2)
        #expect(await bench.backend.offer([7], from: 2) == true)
        #expect(try await values.next() == [7])
    }

    // MARK: Writers

    private func writer() async throws -> PacketWriter<[UInt8]> { try await strap.packetWriter(to: Bench.command) }

    @Test func `a writer sends without a call of the backend`() async throws {
        let writer = try await writer()
        #expect(writer.maximumLength == 5)
        for number in UInt8(0)..<10 { try await writer.write([number]) }
        #expect(bench.backend.channel.packets == (0..<10).map { [$0] })
        #expect(await bench.backend.calls(.write, .acquireWriting) == [.acquireWriting(11)])
    }

    @Test func `a writer waits for room`() async throws {
        let (writer, channel) = (try await writer(), bench.backend.channel)
        channel.setRoom(1)
        try await writer.write([1])
        let second = Task { try await writer.write([2]) }
        await until { channel.waiterCount == 1 }
        channel.setRoom(1)
        try await second.value
        #expect(channel.packets == [[1], [2]])
    }

    @Test func `a wait for room ends with its deadline, its task and the link`() async throws {
        let (writer, channel) = (try await writer(), bench.backend.channel)
        channel.setRoom(0)
        func waiting() async -> Task<Void, any Error> {
            let count = channel.waiterCount
            let task = Task { try await writer.write([1], timeout: .seconds(3)) }
            await until { channel.waiterCount > count && bench.clock.sleeperCount > 0 }
            return task
        }
        let late = await waiting()
        bench.clock.advance(by: .seconds(3))
        await expectError(.timedOut) { try await late.value }
        let cancelled = await waiting()
        cancelled.cancel()
        await expectError(.cancelled) { try await cancelled.value }
        let lost = await waiting()
        await bench.dropLink()
        let error = await expectError(.disconnected) { try await lost.value }
        #expect(error?.characteristic == Bench.command.key.characteristic)
        #expect(channel.packets == [])
        await expectError(.disconnected) { try await writer.write([2]) }
    }

    @Test func `what is too long is refused`() async throws {
        let writer = try await writer()
        let error = await expectError(.invalidLength) { try await writer.write([UInt8](repeating: 0, count: 6)) }
        #expect(error?.peripheral == strap.id)
        try await writer.write([UInt8](repeating: 0, count: 5))
        #expect(bench.backend.channel.packets.count == 1)
    }

    @Test func `a writer is closed by its end, by hand and with the central`() async throws {
        do { _ = try await writer() }
        #expect(bench.backend.channel.isClosed)
        let other = try await Bench()
        let closed = try await other.strap.packetWriter(to: Bench.command)
        closed.close()
        #expect(other.backend.channel.isClosed)
        await expectError(.disconnected) { try await closed.write([1]) }
        let third = try await Bench()
        let ended = try await third.strap.packetWriter(to: Bench.command)
        await third.central.shutDown()
        #expect(third.backend.channel.isClosed)
        await expectError(.shutDown) { try await ended.write([1]) }
    }

    @Test func `a writer without a caller is closed`() async throws {
        await bench.backend.script(.acquireWriting, .ignore)
        let opening = Task { try await writer() }
        await bench.backend.asked(.acquireWriting)
        opening.cancel()
        await expectError(.cancelled) { try await opening.value }
        await bench.backend.release(.acquireWriting)
        await until { bench.backend.channel.isClosed }
    }

    @Test func `what cannot be written without response has no writer`() async {
        await expectError(.notSupported) { try await strap.packetWriter(to: Bench.setting) }
        #expect(await bench.backend.count(.acquireWriting) == 0)
    }
}
