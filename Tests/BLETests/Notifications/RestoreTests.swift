import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Notifications that end although the link is up, or while it is being made, and their restoration.
@Suite(.hangLimit) struct RestoreTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    private func ended(_ handle: UInt16) -> CentralBackendEvent {
        .notificationsEnded(AttributeID(peripheral: strap.id, handle: handle), Bench.error(.failed))
    }

    private func starts(of handle: UInt16) async -> Int {
        await bench.backend.calls(.startNotifications).count { $0 == .startNotifications(handle) }
    }

    @Test func `one that ends waits for no other, and restores no other`() async throws {
        let levels = try await strap.notifications(Bench.level)
        let settings = try await strap.notifications(Bench.setting)
        await bench.backend.script(.startNotifications, .hold)
        await bench.backend.emit(ended(2), ended(14))
        await bench.backend.asked(.startNotifications, 4)
        await bench.backend.release(.startNotifications)
        await bench.settle()
        #expect(await starts(of: 2) == 2)
        #expect(await starts(of: 14) == 2)
        withExtendedLifetime((levels, settings)) {}
    }

    @Test func `one that ends while the link is being made is restored when it is there`() async throws {
        try await bench.maintain()
        let levels = try await strap.notifications(Bench.level)
        let settings = try await strap.notifications(Bench.setting)
        await bench.backend.script(.startNotifications, .succeed, .hold)
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 4)
        // Either of the two may be restored first.
        let first = await bench.backend.calls(.startNotifications)[2]
        await bench.backend.emit(ended(first == .startNotifications(2) ? 2 : 14))
        #expect(await strap.connectionState == .connecting)
        await bench.backend.release(.startNotifications)
        await bench.backend.asked(.startNotifications, 5)
        #expect(await bench.backend.calls(.startNotifications)[4] == first)
        await until { await strap.connectionState == .connected }
        withExtendedLifetime((levels, settings)) {}
    }

    @Test func `a stream that was restored by an attempt that fails is interrupted again`() async throws {
        try await bench.maintain()
        var levels = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        var settings = try await strap.notifications(Bench.setting).events.makeAsyncIterator()
        // Either of the two may be restored first.
        await bench.backend.script(.startNotifications, .succeed, .fail(Bench.error(.disconnected)))
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 6)
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([5], from: 2)
        await bench.backend.notify([6], from: 14)
        var gaps = 0
        while case .gap? = try await levels.next() { gaps += 1 }
        while case .gap? = try await settings.next() { gaps += 1 }
        #expect(gaps == 3)
    }

    @Test func `a start that fails late does not switch off what is on elsewhere by then`() async throws {
        try await bench.maintain()
        var events = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        await bench.backend.script(.startNotifications, .ignore)
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 2)
        await bench.backend.set(
            GATTDatabase(services: [
                GATTService(
                    uuid: Bench.battery, handle: 50,
                    characteristics: [
                        GATTCharacteristic(
                            uuid: Bench.level.key.characteristic, handle: 52, properties: [.read, .notify])
                    ])
            ]))
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 3)
        await until { await strap.connectionState == .connected }
        await bench.backend.release(.startNotifications, Bench.error(.failed))
        await bench.backend.asked(.stopNotifications)
        await bench.settle()
        #expect(await bench.backend.calls(.stopNotifications) == [.stopNotifications(2)])
        // It is on, so the end of the link is a gap.
        await bench.backend.notify([5], from: 52)
        await bench.dropLink()
        var story: [String] = []
        while story.count < 4, let event = try await events.next() {
            switch event {
            case .value(let value): story.append("\(value)")
            case .gap: story.append("gap")
            }
        }
        #expect(story == ["gap", "gap", "5", "gap"])
    }

    @Test func `one that ends with its link makes no other`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.emit(ended(2), .linkEnded(strap.id, Bench.error(.disconnected)))
        await expectError(.disconnected) { try await values.next() }
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
    }

    @Test func `a link that was up for a stream alone ends when the stream cannot be restored`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .seconds(10)))
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .fail(BLEError(.notSupported, "scripted", isRetryable: false)))
        await bench.backend.emit(ended(2))
        await expectError(.notSupported) { try await values.next() }
        await bench.clock.sleepers(1, for: .seconds(10))
        bench.clock.advance(by: .seconds(10))
        await bench.backend.asked(.disconnect)
    }
}
