import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

extension CentralRecoveryTests {
    @Test func `a disconnect that fails says so, and the peripheral can be connected to again`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .fail(Bench.error(.disconnectionFailed)))
        var events = await strap.connectionEvents().makeAsyncIterator()
        await expectError(.disconnectionFailed) { try await strap.disconnect() }
        // It must not report an end of the link, because the link is up.
        guard case .disconnectFailed(let error) = try await events.next() else {
            return #expect(Bool(false), "disconnectFailed was expected")
        }
        #expect(error.code == .disconnectionFailed)
        #expect(await strap.connectionState == .disconnected)
        // The second attempt is actually made.
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        try await strap.connect()
        try await strap.disconnect()
    }

    @Test func `a disconnect that fails can be repeated, even if nobody observes the link`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .fail(Bench.error(.disconnectionFailed)))
        await expectError(.disconnectionFailed) { try await strap.disconnect() }
        #expect(await strap.connectionState == .disconnected)
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        // There is nothing left to end, nor to remember.
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        await until { await bench.central.linkCount == 0 }
    }

    @Test func `a link that ends during a disconnect that fails has ended`() async throws {
        try await strap.connect()
        var events = await strap.connectionEvents().makeAsyncIterator()
        await bench.backend.script(.disconnect, .hold)
        let disconnecting = Task { [strap] in try await strap.disconnect() }
        await bench.backend.asked(.disconnect)
        await bench.backend.emit(
            .linkEnded(strap.id, BLEError(.disconnected, "the link timed out", disconnectReason: .timeout)))
        await bench.backend.release(.disconnect, Bench.error(.disconnectionFailed))
        try await disconnecting.value
        guard case .disconnected(let reason) = try await events.next() else {
            Issue.record("not reported as ended")
            return
        }
        #expect(reason.disconnectReason == .timeout)
        #expect(await bench.backend.count(.disconnect) == 1)
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 1)
    }

    @Test func `after a failed attempt whose link could not be ended, a disconnect ends it`() async throws {
        await bench.backend.script(.discoverServices, .fail(Bench.error(.failed)))
        await bench.backend.script(.disconnect, .fail(Bench.error(.disconnectionFailed)))
        await expectError(.failed) { try await strap.connect() }
        #expect(await bench.backend.count(.disconnect) == 1)
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        await until { await bench.central.linkCount == 0 }
    }

    @Test func `a link that ends by itself after a failed attempt is not ended again`() async throws {
        await bench.backend.script(.discoverServices, .fail(Bench.error(.failed)))
        await bench.backend.script(.disconnect, .hold)
        let connecting = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.disconnect)
        await bench.dropLink()
        await bench.backend.release(.disconnect, Bench.error(.timedOut))
        await expectError(.failed) { try await connecting.value }
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 1)
        await until { await bench.central.linkCount == 0 }
    }

    @Test func `a discovery that ends with its link is not that of the next one`() async throws {
        try await strap.connect()
        await bench.backend.script(.discoverServices, .ignore)
        await bench.backend.emit(.servicesChanged(strap.id))
        let first = Task { [strap] in try await strap.services() }
        await bench.backend.asked(.discoverServices, 2)
        await bench.dropLink()
        await expectError(.disconnected) { try await first.value }
        try await strap.connect()
        await bench.backend.emit(.servicesChanged(strap.id))
        #expect(try await strap.services() == Bench.database)
        await bench.backend.release(.discoverServices)
    }

    @Test func `a stream that a disconnect ends during an attempt says so`() async throws {
        try await bench.maintain()
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.connect, .hold)
        await bench.dropLink()
        await bench.backend.asked(.connect, 2)
        try await strap.disconnect()
        let error = await expectError(.disconnected) { try await values.next() }
        #expect(error?.disconnectReason == .local)
    }

    @Test func `nothing goes on after the shutdown`() async throws {
        try await bench.maintain()
        await until { await strap.connectionState == .connected }
        await bench.central.shutDown()
        await bench.dropLink()
        bench.clock.advance(by: .seconds(3600))
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        await expectError(.shutDown) { try await strap.setConnectionPolicy(.manual) }
    }

    // MARK: Streams over gaps

    @Test func `a stream goes on after a gap, for every reader, and nothing is doubled`() async throws {
        try await bench.maintain()
        var first = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        var second = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.notify([1], from: 2)
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 2)
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([2], from: 2)
        var events: [String] = []
        while events.count < 3, let event = try await first.next() {
            switch event {
            case .value(let value): events.append("\(value)")
            case .gap(let error): events.append("\(error.code)")
            }
        }
        #expect(events == ["1", "disconnected", "2"])
        #expect(try await [second.next(), second.next()] == [1, 2])
        #expect(second.gapCount == 1)
    }

    @Test func `values that come before the link counts as up are not lost`() async throws {
        try await bench.maintain()
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .hold)
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 2)
        await bench.backend.notify([9], from: 2)
        #expect(await strap.connectionState == .connecting)
        #expect(try await values.next() == 9)
        await bench.backend.release(.startNotifications)
        await until { await strap.connectionState == .connected }
    }

    @Test func `a characteristic with another handle is found again`() async throws {
        try await bench.maintain()
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
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
        await bench.backend.asked(.startNotifications, 2)
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([5], from: 52)
        #expect(try await values.next() == 5)
    }

    @Test func `characteristics that move to where another one was are found again`() async throws {
        func database(_ first: UInt16, _ second: UInt16) -> GATTDatabase {
            GATTDatabase(services: [
                GATTService(
                    uuid: Bench.vendor, handle: 50,
                    characteristics: [(Bench.command, first), (Bench.setting, second)].map { key, handle in
                        GATTCharacteristic(uuid: key.key.characteristic, handle: handle, properties: [.read, .notify])
                    })
            ])
        }
        await bench.backend.set(database(60, 70))
        try await bench.maintain()
        var commands = try await strap.notifications(Bench.command).makeAsyncIterator()
        var settings = try await strap.notifications(Bench.setting).makeAsyncIterator()
        await bench.backend.set(database(70, 60))
        await bench.dropLink()
        await bench.backend.asked(.startNotifications, 4)
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([1], from: 70)
        await bench.backend.notify([2], from: 60)
        #expect(try await commands.next() == [1])
        #expect(try await settings.next() == [2])
    }

    @Test(arguments: ["disconnect", "policy"])
    func `a stream that waits for the next link ends when none will follow`(_ way: String) async throws {
        try await bench.maintain(.seconds(1))
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.dropLink()
        await bench.clock.sleepers(1, for: .seconds(1))
        if way == "disconnect" {
            try await strap.disconnect()
        } else {
            try await strap.setConnectionPolicy(.manual)
        }
        await expectError(.disconnected) { try await values.next() }
    }

    @Test func `a subscription that no longer has a reader is not restored`() async throws {
        try await bench.maintain()
        await bench.backend.script(.startNotifications, .hold)
        let reading = Task { _ = try await strap.notifications(Bench.level) }
        await bench.backend.asked(.startNotifications)
        reading.cancel()
        _ = await reading.result
        await bench.dropLink()
        await bench.backend.release(.startNotifications, Bench.error(.disconnected))
        await until { await strap.connectionState == .connected }
        await until { await bench.central.hasNoSubscriptions }
        await bench.settle()
        #expect(await bench.backend.count(.startNotifications) == 1)
    }

    @Test func `a characteristic that is gone ends its stream and nothing else`() async throws {
        try await bench.maintain()
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.set(GATTDatabase(services: []))
        await bench.dropLink()
        let error = await expectError(.serviceNotFound) { try await values.next() }
        #expect(error?.peripheral == strap.id)
        await until { await strap.connectionState == .connected }
    }

    @Test func `a stream on a link that is not maintained ends with it, and is switched off`() async throws {
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.dropLink()
        await expectError(.disconnected) { try await values.next() }
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `a delivery that ends while the link is up is started again after a gap`() async throws {
        var values = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        await bench.backend.emit(
            .notificationsEnded(AttributeID(peripheral: strap.id, handle: 2), Bench.error(.failed)))
        await bench.backend.asked(.startNotifications, 2)
        await bench.backend.notify([3], from: 2)
        guard case .gap = try await values.next() else { return #expect(Bool(false), "a gap was expected") }
        guard case .value(3) = try await values.next() else { return #expect(Bool(false), "3 was expected") }
    }

    // MARK: Changed services

    @Test func `changed services are discovered once for all callers`() async throws {
        try await strap.connect()
        var events = await strap.connectionEvents().makeAsyncIterator()
        await bench.backend.emit(.servicesChanged(strap.id))
        guard case .servicesChanged = try await events.next() else {
            return #expect(Bool(false), "servicesChanged was expected")
        }
        // One change comes in several parts.
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.script(.discoverServices, .hold)
        async let first = strap.services()
        async let second = strap.services()
        await bench.backend.asked(.discoverServices, 2)
        await bench.settle()
        await bench.backend.release(.discoverServices)
        #expect(try await first == second)
        #expect(await bench.backend.count(.discoverServices) == 2)
        await bench.dropLink()
        guard case .disconnected = try await events.next() else {
            return #expect(Bool(false), "disconnected was expected")
        }
    }

    @Test func `services that change while they are discovered are discovered again`() async throws {
        await bench.backend.script(.discoverServices, .hold)
        let connecting = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.discoverServices)
        await bench.backend.emit(.servicesChanged(strap.id))
        await bench.backend.release(.discoverServices)
        try await connecting.value
        #expect(await bench.backend.count(.discoverServices) == 2)
    }
}

extension Central {
    /// Whether no link has a subscription.
    fileprivate var hasNoSubscriptions: Bool { links.values.allSatisfy { $0.subscriptions.isEmpty } }
}
