import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

/// Declared values: read and listened to on each link, known as long as it lasts.
@Suite(.hangLimit) struct PeripheralValuesTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }
    private static let missing = Characteristic<UInt8>(BluetoothUUID(0x2A6E))

    init() async throws {
        bench = try await Bench()
        await bench.backend.set([50], of: 2)
        await bench.backend.set([1, 2], of: 14)
    }

    private func maintain() async throws {
        try await strap.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .zero, factor: 1, maximum: .zero)))
    }

    @Test func `ready means connected, notifications on, values read`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level), .read(Bench.setting)])
        #expect(values.isReady)
        #expect(try values.value(of: Bench.level) == 50)
        #expect(try values.value(of: Bench.setting) == [1, 2])
        #expect(await bench.backend.calls(.startNotifications, .read) == [.startNotifications(2), .read(2), .read(14)])
        #expect(values.failures.isEmpty)
    }

    @Test func `each change is reported with the value before`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level)])
        var changes = values.changes(of: Bench.level).makeAsyncIterator()
        #expect(try await changes.next() == ValueChange(old: nil, new: 50))
        await bench.backend.notify([51], from: 2)
        await bench.backend.notify([51], from: 2)
        #expect(try await changes.next() == ValueChange(old: 50, new: 51))
        #expect(try await changes.next() == ValueChange(old: 51, new: 51))
        #expect(try values.value(of: Bench.level) == 51)
    }

    @Test func `one loop has the changes of all values`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level), .readAndNotify(Bench.setting)])
        var initial = values.changes().makeAsyncIterator()
        #expect(try await Set([initial.next()?.key, initial.next()?.key]) == [Bench.level.key, Bench.setting.key])
        var changes = values.changes(initial: false).makeAsyncIterator()
        await bench.backend.notify([7], from: 2)
        let first = try await #require(changes.next())
        #expect(first == KeyedValueChange(key: Bench.level.key, old: [50], new: [7]))
        #expect(try first.change(of: Bench.level) == ValueChange(old: 50, new: 7))
        #expect(try first.change(of: Bench.setting) == nil)
        await bench.backend.notify([8, 9], from: 14)
        #expect(try await changes.next()?.new == [8, 9])
        values.end()
        await expectError(.cancelled) { while try await changes.next() != nil {} }
    }

    @Test func `without the initial value, only changes are reported`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level)])
        var changes = values.changes(of: Bench.level, initial: false).makeAsyncIterator()
        await bench.backend.notify([7], from: 2)
        #expect(try await changes.next() == ValueChange(old: 50, new: 7))
    }

    @Test func `what was read does not replace what was notified meanwhile`() async throws {
        await bench.backend.script(.read, .hold)
        // Without waiting until they are ready: they are observed before.
        let values = await PeripheralValues(of: strap, declared: [.readAndNotify(Bench.level)])
        var changes = values.changes(of: Bench.level).makeAsyncIterator()
        async let ready: Void = values.waitUntilReady()
        await bench.backend.asked(.read)
        await bench.backend.notify([99], from: 2)
        #expect(try await changes.next() == ValueChange(old: nil, new: 99))
        await bench.backend.release(.read)
        try await ready
        #expect(try values.value(of: Bench.level) == 99)
    }

    @Test func `a value that cannot be decoded throws, and the next one follows`() async throws {
        let values = try await strap.values([.notify(Bench.level)])
        var changes = values.changes(of: Bench.level).makeAsyncIterator()
        await bench.backend.notify([], from: 2)
        await bench.backend.notify([5], from: 2)
        await expectError(.invalidValue) { try await changes.next() }
        #expect(try await changes.next() == ValueChange(old: nil, new: 5))
    }

    @Test func `a missing or refusing characteristic does not fail the others`() async throws {
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        let values = try await strap.values([.read(Bench.level), .read(Self.missing), .read(Bench.setting)])
        #expect(try values.value(of: Bench.level) == nil)
        #expect(try values.value(of: Bench.setting) == [1, 2])
        #expect(
            values.failures.mapValues(\.code) == [
                Bench.level.key: .notPermitted, Self.missing.key: .characteristicNotFound,
            ])
    }

    @Test func `everything readable is found under its exact key`() async throws {
        let values = try await strap.readableValues()
        #expect(values[CharacteristicKey(characteristic: BluetoothUUID(0x2A19), handle: 2)] == [50])
        #expect(values[CharacteristicKey(characteristic: BluetoothUUID(0xFF02), handle: 14)] == [1, 2])
        #expect(await bench.backend.count(.read) == 2)
    }

    // MARK: Ends of links

    @Test func `no value is known after the end of the link, until a new one is ready`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level)])
        var changes = values.changes(of: Bench.level).makeAsyncIterator()
        #expect(try await changes.next()?.new == 50)
        await bench.dropLink()
        #expect(try await changes.next() == ValueChange(old: 50, new: nil))
        #expect(try values.value(of: Bench.level) == nil)
        await until { !values.isReady }
        await bench.backend.set([60], of: 2)
        try await values.waitUntilReady()
        #expect(try values.value(of: Bench.level) == 60)
        #expect(try await changes.next() == ValueChange(old: nil, new: 60))
        #expect(await bench.backend.count(.startNotifications) == 2)
    }

    @Test func `at the end of a link all values become unknown together`() async throws {
        for round in 1...100 {
            let values = try await strap.values([.readAndNotify(Bench.level), .read(Bench.setting)])
            var changes = values.changes(of: Bench.level, initial: false).makeAsyncIterator()
            if round.isMultiple(of: 2) { await bench.dropLink() } else { try await strap.disconnect() }
            #expect(try await changes.next() == ValueChange(old: 50, new: nil))
            #expect(values[Bench.setting.key] == nil && !values.isReady)
        }
    }

    @Test func `at the end of a maintained link all values become unknown together, and each is read once on the next`()
        async throws
    {
        for _ in 1...100 {
            let bench = try await Bench()
            await bench.backend.set([50], of: 2)
            try await bench.maintain(.seconds(1))
            let values = try await bench.strap.values([.readAndNotify(Bench.level), .read(Bench.setting)])
            var changes = values.changes(of: Bench.level, initial: false).makeAsyncIterator()
            await bench.dropLink()
            #expect(try await changes.next() == ValueChange(old: 50, new: nil))
            #expect(values[Bench.setting.key] == nil && !values.isReady)
            await bench.clock.sleepers(1, for: .seconds(1))
            bench.clock.advance(by: .seconds(1))
            #expect(try await changes.next() == ValueChange(old: nil, new: 50))
            await until { values.isReady }
            let calls = await bench.backend.calls
            #expect(calls.count { if case .read = $0 { true } else { false } } == 4, "\(calls)")
            #expect(values.failures.isEmpty)
        }
    }

    @Test func `a value whose notifications end on a link that lasts is no longer known`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level), .read(Bench.setting)])
        var changes = values.changes(of: Bench.level, initial: false).makeAsyncIterator()
        await bench.backend.script(.startNotifications, .fail(Bench.error(.disconnected)))
        await bench.backend.emit(
            .notificationsEnded(AttributeID(peripheral: strap.id, handle: 2), Bench.error(.disconnected)))
        // The gap, after which the value is read again.
        #expect(try await changes.next() == ValueChange(old: 50, new: nil))
        #expect(try await changes.next() == ValueChange(old: nil, new: 50))
        // The end.
        #expect(try await changes.next() == ValueChange(old: 50, new: nil))
        #expect(values[Bench.setting.key] == [1, 2])
    }

    @Test func `a maintained link is made ready anew by itself`() async throws {
        try await maintain()
        let values = try await strap.values([.readAndNotify(Bench.level), .read(Bench.setting)])
        var changes = values.changes(of: Bench.setting, initial: false).makeAsyncIterator()
        await bench.backend.set([3], of: 14)
        await bench.dropLink()
        #expect(try await changes.next() == ValueChange(old: [1, 2], new: nil))
        #expect(try await changes.next() == ValueChange(old: nil, new: [3]))
        await until { values.isReady }
        await bench.backend.notify([61], from: 2)
        await until { (try? values.value(of: Bench.level)) == 61 }
    }

    @Test func `the end of the link during preparation fails the wait, unless another is made`() async throws {
        await bench.backend.script(.read, .hold)
        let ready = Task { try await strap.values([.read(Bench.level)]) }
        await bench.backend.asked(.read)
        await bench.dropLink()
        await expectError(.disconnected) { try await ready.value }

        try await maintain()
        await bench.backend.script(.read, .hold)
        let second = Task { try await strap.values([.read(Bench.level)]) }
        await bench.backend.asked(.read, 2)
        await bench.dropLink()
        #expect(try await second.value.value(of: Bench.level) == 50)
    }

    @Test func `changed services are read again`() async throws {
        let values = try await strap.values([.read(Bench.setting)])
        var changes = values.changes(of: Bench.setting).makeAsyncIterator()
        #expect(try await changes.next()?.new == [1, 2])
        await bench.backend.set([9], of: 14)
        await bench.backend.emit(.servicesChanged(strap.id))
        #expect(try await changes.next() == ValueChange(old: [1, 2], new: [9]))
    }

    // MARK: Ends of waits

    @Test func `the wait ends at its deadline and with its task`() async throws {
        // With a link, no other sleep lasts 3 s: connecting has the same time limit.
        try await strap.connect()
        await bench.backend.script(.read, .hold, .hold)
        let late = Task { try await strap.values([.read(Bench.level)], timeout: .seconds(3)) }
        await bench.backend.asked(.read)
        await bench.clock.sleepers(1, for: .seconds(3))
        bench.clock.advance(by: .seconds(3))
        let error = await expectError(.timedOut) { try await late.value }
        #expect(error?.message.contains("3.0 seconds") == true)

        let given = Task { try await strap.values([.read(Bench.level)]) }
        await bench.backend.asked(.read, 2)
        given.cancel()
        await expectError(.cancelled) { try await given.value }
    }

    @Test func `a peripheral that does not advertise is not found`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        let reading = Task { try await strap.values([.read(Bench.level)]) }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(20))
        bench.clock.advance(by: .seconds(20))
        await expectError(.peripheralNotFound) { try await reading.value }
    }

    @Test func `events of an earlier link change nothing in the values of the next`() async throws {
        // What values do, so that links are numbered on.
        let store = ValueStore()
        let own = await bench.central.connectionEvents(strap.id, for: store)
        try await strap.connect()
        let (events, producer) = BoundedStream.make(of: ConnectionEvent.self, policy: .dropOldest(capacity: 8)) {}
        let gone = Bench.error(.disconnected)
        for event in [
            .servicesChanged, .disconnected(gone), .connecting, .connectFailed(gone, retryAfter: nil), .connected,
        ] as [ConnectionEvent] { producer.yield(event) }
        let updater = ValueUpdater(peripheral: strap, declared: [.readAndNotify(Bench.level)], store: store)
        let upkeep = Task { await updater.run(events) }
        try await store.untilReady()
        await bench.settle()
        #expect(store.isReady)
        #expect(await bench.backend.count(.read) == 1)
        #expect(await bench.backend.count(.startNotifications) == 1)
        // The next link is up before the end of this one is handled.
        await bench.dropLink()
        await until { await strap.connectionState == .disconnected }
        try await strap.connect()
        let waiting = Task { [central = bench.central, id = strap.id] in
            try await store.untilReady(store.beginWait(on: central.linkNumber(id)))
        }
        await bench.settle()
        producer.yield(.disconnected(gone))
        try await waiting.value
        #expect(await bench.backend.count(.read) == 2)
        producer.yield(.connected)
        await bench.settle()
        #expect(store.isReady)
        #expect(await bench.backend.count(.read) == 2)
        #expect(await bench.backend.count(.startNotifications) == 2)
        upkeep.cancel()
        await upkeep.value
        withExtendedLifetime(own) {}
    }

    @Test func `values of a link that has ended are not waited for, unless another follows`() async throws {
        let values = try await strap.values([.read(Bench.level)])
        await bench.dropLink()
        await until { await strap.connectionState == .disconnected }
        await expectError(.disconnected) { try await bench.central.untilReady(values.store, strap.id) }
        await bench.backend.script(.connect, .hold)
        try await bench.maintain()
        let isReady = SharedValue(false)
        let waiting = Task { [central = bench.central, id = strap.id] in
            try await central.untilReady(values.store, id)
            isReady.change { $0 = true }
        }
        await bench.settle()
        #expect(!isReady.value)
        await bench.backend.release(.connect)
        try await waiting.value
    }

    @Test func `those who wait for values hear that the link is no longer maintained`() async throws {
        let values = try await strap.values([.read(Bench.level)])
        try await bench.maintain(.seconds(1))
        await bench.dropLink()
        await until { await strap.connectionState == .disconnected }
        let waiting = Task { try await values.store.untilReady() }
        await bench.settle()
        try await strap.setConnectionPolicy(.manual)
        await expectError(.disconnected) { try await waiting.value }
    }

    @Test func `values do not make a link in place of the one that has ended`() async throws {
        await bench.backend.script(.read, .hold)
        let reading = Task { try await strap.values([.read(Bench.level), .read(Bench.setting)]) }
        await bench.backend.asked(.read)
        await bench.backend.release(.read)
        await bench.dropLink()
        _ = await reading.result
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a failure to become ready is also thrown to later callers`() async throws {
        let values = try await strap.values([.read(Bench.level)])
        await bench.backend.script(.discoverServices, .fail(Bench.error(.failed)))
        try await bench.maintain()
        await bench.backend.emit(.servicesChanged(strap.id))
        await until { !values.isReady }
        await bench.backend.asked(.discoverServices, 2)
        await expectError(.failed) { try await values.waitUntilReady() }
    }

    @Test func `a disconnect while notifications are switched on is not undone`() async throws {
        try await bench.maintain()
        await bench.backend.script(.startNotifications, .hold)
        let reading = Task { try await strap.values([.notify(Bench.level), .read(Bench.level)]) }
        await bench.backend.asked(.startNotifications)
        try await strap.disconnect()
        await expectError(.disconnected) { try await reading.value }
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `the end of the object ends its streams and its notifications`() async throws {
        var values: PeripheralValues? = try await strap.values([.notify(Bench.level)])
        var changes = values?.changes(of: Bench.level).makeAsyncIterator()
        values = nil
        await expectError(.cancelled) { try await changes?.next() }
        await bench.backend.asked(.stopNotifications)
    }

    @Test func `a shutdown ends everything`() async throws {
        let values = try await strap.values([.read(Bench.level)])
        var changes = values.changes(of: Bench.level, initial: false).makeAsyncIterator()
        await bench.central.shutDown()
        // First the link ends, which leaves the value unknown.
        while let change = try? await changes.next() { #expect(change.new == nil) }
        await expectError(.shutDown) { try await values.waitUntilReady() }
    }

    @Test func `changes that are asked for after the end end at once`() async throws {
        let values = try await strap.values([.readAndNotify(Bench.level)])
        values.end()
        var changes = values.changes(of: Bench.level).makeAsyncIterator()
        await expectError(.cancelled) { _ = try await changes.next() }
    }
}
