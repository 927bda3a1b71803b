import BLE
import BLESimulation
import BLETestSupport
import Testing

/// What comes back by itself: maintained links, the streams on them, and services that change.
@Suite(.hangLimit) struct CentralRecoveryTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    // MARK: Maintained links

    @Test func `a maintained link is made at once, and again after a pause when it is lost`() async throws {
        try await bench.maintain(.seconds(1))
        await until { await strap.connectionState == .connected }
        await bench.dropLink()
        await bench.clock.sleepers(1, for: .seconds(1))
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        bench.clock.advance(by: .seconds(1))
        await bench.backend.asked(.connect, 2)
        await until { await strap.connectionState == .connected }
    }

    @Test func `attempts that fail are repeated after growing pauses`() async throws {
        await bench.backend.script(
            .connect, .fail(Bench.error(.connectionFailed)), .fail(Bench.error(.connectionFailed)))
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await bench.maintain(.seconds(1))
        var pauses: [Duration?] = []
        while let event = try await events.next() {
            switch event {
            case .connectFailed(_, let pause):
                pauses.append(pause)
                if let pause {
                    await bench.clock.sleepers(1, for: pause)
                    bench.clock.advance(by: pause)
                }
            case .connected:
                #expect(pauses == [.seconds(1), .seconds(2)])
                return
            default: continue
            }
        }
    }

    @Test func `an attempt whose services never come fails, and another follows`() async throws {
        await bench.backend.script(.discoverServices, .hold)
        var events = await strap.connectionEvents().makeAsyncIterator()
        try await bench.maintain(.seconds(1))
        await bench.backend.asked(.discoverServices)
        await bench.clock.sleepers(1, for: bench.central.configuration.connectTimeout)
        bench.clock.advance(by: bench.central.configuration.connectTimeout)
        while let event = try await events.next() {
            guard case .connectFailed(let error, _) = event else { continue }
            #expect(error.code == .timedOut)
            break
        }
        #expect(await bench.backend.count(.disconnect) == 1)
        await bench.clock.sleepers(1, for: .seconds(1))
        bench.clock.advance(by: .seconds(1))
        await until { await strap.connectionState == .connected }
    }

    @Test func `an attempt to make a link that never ends fails, and another follows`() async throws {
        await bench.backend.script(.connect, .hold)
        try await bench.maintain(.seconds(1))
        await bench.backend.asked(.connect)
        await bench.clock.sleepers(1, for: .seconds(300))
        bench.clock.advance(by: .seconds(300))
        await bench.clock.sleepers(1, for: .seconds(1))
        bench.clock.advance(by: .seconds(1))
        await until { await strap.connectionState == .connected }
    }

    @Test func `a stream outlasts a passing error when its subscription is restored`() async throws {
        try await bench.maintain()
        var events = try await strap.notifications(Bench.level).events.makeAsyncIterator()
        await bench.backend.script(.startNotifications, .fail(Bench.error(.busy)), .fail(Bench.error(.timedOut)))
        await bench.dropLink()
        guard case .gap = try await events.next() else { return #expect(Bool(false), "a gap was expected") }
        await bench.backend.asked(.startNotifications, 4)
        await until { await strap.connectionState == .connected }
        await bench.backend.notify([9], from: 2)
        while let event = try await events.next() {
            guard case .value(let value) = event else { continue }
            #expect(value == 9)
            break
        }
    }

    @Test func `a subscription that cannot be restored over and over ends, and the link is kept`() async throws {
        try await bench.maintain()
        let stream = try await strap.notifications(Bench.level)
        for _ in 0..<4 { await bench.backend.script(.startNotifications, .fail(Bench.error(.busy))) }
        await bench.dropLink()
        await expectError(.busy) { for try await _ in stream {} }
        await until { await strap.connectionState == .connected }
    }

    @Test func `an operation waits over the pauses of a maintained link`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        await bench.backend.set([77], of: 2)
        try await bench.maintain(.seconds(1))
        await bench.clock.sleepers(1, for: .seconds(1))
        // The caller has it tried at once.
        #expect(try await strap.read(Bench.level) == 77)
    }

    @Test func `without the adapter nothing is tried before it is back`() async throws {
        try await bench.maintain()
        await until { await strap.connectionState == .connected }
        await bench.backend.script(.connect, .fail(Bench.error(.poweredOff)))
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        await bench.dropLink()
        await bench.backend.asked(.connect, 2)
        await bench.settle()
        bench.clock.advance(by: .seconds(3600))
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 2)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.asked(.connect, 3)
        await until { await strap.connectionState == .connected }
    }

    @Test func `a peripheral that the system has forgotten is searched for`() async throws {
        try await bench.maintain()
        await until { await strap.connectionState == .connected }
        await bench.backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        await bench.dropLink()
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(.advertisementReceived(bench.lamp.id, Advertisement()))
        await bench.backend.emit(.advertisementReceived(strap.id, Advertisement()))
        await until { await strap.connectionState == .connected }
        await bench.backend.asked(.stopDiscovery)
    }

    @Test(arguments: [(AdapterState.poweredOff, BLEError.Code.poweredOff), (.unavailable, .adapterNotFound)])
    func `a search ends with the adapter, and goes on with it when the link is maintained`(
        _ state: AdapterState, _ code: BLEError.Code
    ) async throws {
        try await strap.connect()
        await bench.dropLink()
        await bench.backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        let caller = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(.adapterStateChanged(state))
        await expectError(code) { try await caller.value }
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        try await bench.maintain()
        await bench.backend.asked(.startDiscovery, 2)
        await bench.backend.emit(.adapterStateChanged(state))
        await until { await strap.connectionState == .disconnected }
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await until { await strap.connectionState == .connected }
    }

    @Test func `a disconnect ends the upkeep`() async throws {
        try await bench.maintain()
        await until { await strap.connectionState == .connected }
        try await strap.disconnect()
        await bench.settle()
        #expect(await bench.backend.count(.connect) == 1)
        #expect(await strap.connectionPolicy == .manual)
    }

    @Test func `a disconnect that fails says so, and the peripheral can be connected to again`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .fail(Bench.error(.disconnectionFailed)))
        var events = await strap.connectionEvents().makeAsyncIterator()
        await expectError(.disconnectionFailed) { try await strap.disconnect() }
        // Not that the link has ended, which is not so.
        guard case .disconnectFailed(let error) = try await events.next() else {
            return #expect(Bool(false), "disconnectFailed was expected")
        }
        #expect(error.code == .disconnectionFailed)
        #expect(await strap.connectionState == .disconnected)
        // Once more is no mere word.
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        try await strap.disconnect()
        #expect(await bench.backend.count(.disconnect) == 2)
        try await strap.connect()
        try await strap.disconnect()
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

    @Test func `a characteristic that is gone ends its stream and nothing else`() async throws {
        try await bench.maintain()
        var values = try await strap.notifications(Bench.level).makeAsyncIterator()
        await bench.backend.set(GATTDatabase(services: []))
        await bench.dropLink()
        let error = await expectError(.serviceNotFound) { try await values.next() }
        #expect(error?.peripheral == strap.id)
        await until { await strap.connectionState == .connected }
    }

    @Test func `a stream of a link that nobody maintains ends with it, and is switched off`() async throws {
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

    @Test func `changed services are discovered once for all who ask`() async throws {
        try await strap.connect()
        var events = await strap.connectionEvents().makeAsyncIterator()
        await bench.backend.emit(.servicesChanged(strap.id))
        guard case .servicesChanged = try await events.next() else {
            return #expect(Bool(false), "servicesChanged was expected")
        }
        // One change comes in many parts.
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
