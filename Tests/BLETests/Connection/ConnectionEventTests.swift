import BLE
import BLESimulation
import BLETestSupport
import Testing

/// The handlers that run on a link, and the events of a link.
@Suite(.hangLimit) struct ConnectionEventTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    @Test func `the handler runs with every new link and is cancelled with its end`() async throws {
        let (runs, run) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(10))
        await strap.setConnectionHandler { strap in
            _ = try await strap.read(Bench.setting)
            run.yield("begun")
            await untilCancelled()
            run.yield("cancelled")
        }
        try await bench.maintain()
        var iterator = runs.makeAsyncIterator()
        #expect(await iterator.next() == "begun")
        await bench.dropLink()
        #expect(Set([await iterator.next(), await iterator.next()]) == ["cancelled", "begun"])
        await strap.setConnectionHandler(nil)
        #expect(await iterator.next() == "cancelled")
    }

    @Test func `a handler that is set on a link that is up runs at once`() async throws {
        try await strap.connect()
        let (runs, run) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(10))
        await strap.setConnectionHandler { _ in run.yield() }
        for await _ in runs { break }
    }

    @Test func `events tell the whole story`() async throws {
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await strap.connect()
        await bench.backend.emit(
            .linkEnded(strap.id, BLEError(.disconnected, "gone", disconnectReason: .timeout)))
        try await strap.connect()
        try await strap.disconnect()
        #expect(
            try await Self.story(6, &events) == [
                "connecting", "connected", "disconnected timeout", "connecting", "connected", "disconnected local",
            ])
    }

    /// Returns the next events.
    private static func story(
        _ count: Int, _ events: inout BoundedStream<ConnectionEvent>.Iterator
    ) async throws -> [String] {
        var story: [String] = []
        while story.count < count, let event = try await events.next() {
            switch event {
            case .connecting: story.append("connecting")
            case .connected: story.append("connected")
            case .connectFailed: story.append("failed")
            case .waiting: story.append("waiting")
            case .disconnected(let error): story.append("disconnected \(error.disconnectReason?.rawValue ?? "?")")
            case .disconnectFailed: story.append("disconnect failed")
            case .servicesChanged: story.append("changed")
            }
        }
        return story
    }

    private static let updated = GATTDatabase(
        services: Bench.database.services + [
            GATTService(uuid: BluetoothUUID(0xFF10), handle: 30, characteristics: [])
        ])

    @Test func `services that are others than on the link before are told once`() async throws {
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await strap.connect()
        try await strap.disconnect()
        await bench.backend.set(Self.updated)
        #expect(try await Self.story(3, &events) == ["connecting", "connected", "disconnected local"])
        try await strap.connect()
        #expect(try await strap.services()[BluetoothUUID(0xFF10)] != nil)
        #expect(try await Self.story(3, &events) == ["connecting", "connected", "changed"])
        try await strap.disconnect()
        try await strap.connect()
        try await strap.disconnect()
        #expect(
            try await Self.story(4, &events) == [
                "disconnected local", "connecting", "connected", "disconnected local",
            ])
    }

    @Test(arguments: [true, false])
    func `a change while subscriptions are restored is told once the link is up, and once`(_ fails: Bool) async throws {
        try await bench.maintain()
        let values = try await strap.notifications(Bench.level)
        var events = await strap.connectionEvents().makeAsyncIterator()
        await bench.backend.script(.startNotifications, .hold)
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 2)
        // Also if the services are the same again when they are discovered.
        if !fails { await bench.backend.set(Self.updated) }
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.release(.startNotifications, fails ? Bench.error(.timedOut) : nil)
        var story = try await Self.story(1, &events)
        while story.last != "changed" { story += try await Self.story(1, &events) }
        #expect(story.suffix(2) == ["connected", "changed"])
        #expect(story.contains("failed") == fails)
        #expect(try await (strap.services()[BluetoothUUID(0xFF10)] != nil) == !fails)
        await bench.dropLink()
        #expect(try await Self.story(3, &events) == ["disconnected ?", "connecting", "connected"])
        try await strap.disconnect()
        #expect(try await Self.story(1, &events) == ["disconnected local"])
        withExtendedLifetime(values) {}
    }

    @Test func `services that changed on a link are not told again on the next one`() async throws {
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await strap.connect()
        await bench.backend.set(Self.updated)
        await bench.backend.emit(.servicesChanged(strap.id))
        #expect(try await strap.services()[BluetoothUUID(0xFF10)] != nil)
        try await strap.disconnect()
        try await strap.connect()
        try await strap.disconnect()
        await bench.backend.set(Bench.database)
        try await strap.connect()
        #expect(
            try await Self.story(9, &events) == [
                "connecting", "connected", "changed", "disconnected local", "connecting", "connected",
                "disconnected local", "connecting", "connected",
            ])
        #expect(try await Self.story(1, &events) == ["changed"])
    }
}
