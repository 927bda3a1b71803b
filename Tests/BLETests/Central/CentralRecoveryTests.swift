import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Automatic recovery: maintained links, the streams on them, and services that change.
@Suite(.hangLimit) struct CentralRecoveryTests {
    let bench: Bench
    var strap: Peripheral { bench.strap }

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
        // The caller makes the central try at once.
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
}
