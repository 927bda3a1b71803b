import BLE
import BLESimulation
import BLETestSupport
import Testing

extension CentralDiscoveryTests {
    @Test func `staleness is a second at least`() async throws {
        var events = try await watching(staleAfter: .zero)
        bench.clock.advance(by: .milliseconds(999))
        #expect(bench.clock.sleeperCount == 1)
        bench.clock.advance(by: .milliseconds(1))
        #expect(try await lost(events.next()) == strap)
    }

    @Test func `a peripheral with a link is not lost`() async throws {
        try await strap.connect()
        var events = try await watching()
        bench.clock.advance(by: .seconds(60))
        await bench.clock.sleepers(1)
        await hear(bench.lamp, advertisement)
        #expect(try await found(events.next()) == bench.lamp)
    }

    @Test func `a peripheral that the system forgets is lost`() async throws {
        var events = try await watching()
        await bench.backend.emit(.peripheralRemoved(bench.lamp.id))
        await bench.backend.emit(.peripheralRemoved(strap.id))
        #expect(try await lost(events.next()) == strap)
    }

    // MARK: Waiting

    @Test func `a scan says what it waits for, once each`() async throws {
        func waiting(_ event: DiscoveryEvent?) -> BLEError.Code? {
            if case .waiting(let error) = event { error.code } else { nil }
        }
        await bench.backend.emit(.adapterStateChanged(.unavailable))
        var events: Events = bench.central.discoveryEvents().makeAsyncIterator()
        #expect(try await waiting(events.next()) == .adapterNotFound)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.asked(.startDiscovery)
        await until { await bench.central.isScanning }
        let lost = Bench.error(.bluetoothLost)
        await bench.backend.emit(.stackLost(lost), .adapterStateChanged(.resetting))
        #expect(try await waiting(events.next()) == .bluetoothLost)
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        #expect(try await waiting(events.next()) == .poweredOff)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.asked(.startDiscovery, 2)
        await hear(strap, advertisement)
        #expect(try await found(events.next()) == strap)
    }

    // MARK: Ends

    @Test func `a failing start fails the scan, and the next one starts again`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.busy)))
        let failing = await scanning()
        await expectError(.busy) { try await failing.value }
        let scan = await scanning(asked: 2)
        await until {
            await hear(strap, advertisement)
            return await bench.backend.count(.stopDiscovery) == 1
        }
        #expect(try await found(scan.value) == strap)
    }

    @Test func `a start that fails for one scan ends them all`() async throws {
        let first = await scanning(.service(Bench.battery))
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.busy)))
        let second = await scanning(.service(Bench.vendor), asked: 2)
        await expectError(.busy) { try await first.value }
        await expectError(.busy) { try await second.value }
        #expect(await bench.backend.count(.startDiscovery) == 2)
    }

    @Test func `a scan that is cancelled before it has started is stopped once it has`() async throws {
        await bench.backend.script(.startDiscovery, .hold)
        let scan = await scanning()
        scan.cancel()
        await expectError(.cancelled) { try await scan.value }
        await bench.backend.release(.startDiscovery)
        await bench.backend.asked(.stopDiscovery)
        #expect(await bench.backend.calls(.startDiscovery, .stopDiscovery).count == 2)
    }

    @Test func `a cancelled task does not begin to scan`() async throws {
        let scan = Task { [bench] in
            withUnsafeCurrentTask { $0?.cancel() }
            var events: Events = bench.central.discoveryEvents().makeAsyncIterator()
            return try await events.next()
        }
        await expectError(.cancelled) { try await scan.value }
        #expect(await bench.backend.calls == [.start])
    }

    @Test func `a deadline ends the wait for a scan that does not start`() async throws {
        await bench.backend.script(.startDiscovery, .hold)
        let scan = await scanning()
        await bench.clock.sleepers(2)  // its deadline, and its check for silent peripherals
        bench.clock.advance(by: .seconds(30))
        await expectError(.timedOut) { try await scan.value }
        await bench.backend.release(.startDiscovery)
        await bench.backend.asked(.stopDiscovery)
    }

    @Test(arguments: [AdapterState.poweredOff, .unavailable, .resetting])
    func `a scan outlasts the adapter`(_ state: AdapterState) async throws {
        let scan = await scanning()
        await bench.backend.emit(.adapterStateChanged(state))
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.backend.count(.startDiscovery) == 1)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.asked(.startDiscovery, 2)
        await hear(strap, advertisement)
        #expect(found(try await scan.value) == strap)
    }

    /// The strap with a link, as the system knows it.
    private var linked: KnownPeripheral {
        KnownPeripheral(id: strap.id, advertisement: advertisement, isConnected: true)
    }

    @Test func `a scan that has waited finds what has a link by then, and does not advertise`() async throws {
        let scan = await scanning()
        await bench.backend.emit(.adapterStateChanged(.resetting))
        await bench.backend.set([linked])
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        #expect(found(try await scan.value) == strap)
    }

    @Test func `a scan finds what is connected to before it was heard, once`() async throws {
        let reader = Task { [bench] in
            var events = bench.central.discoveryEvents(matching: .service(Bench.battery)).makeAsyncIterator()
            return [try await events.next(), try await events.next()]
        }
        await bench.backend.asked(.startDiscovery)
        await bench.backend.set([linked])
        try await strap.connect()
        try await strap.disconnect()
        try await strap.connect()
        await hear(bench.lamp, advertisement)
        #expect(try await reader.value.map(found) == [strap, bench.lamp])
    }

    @Test(arguments: [AdapterState.poweredOff, .unavailable, .resetting])
    func `a scan that is asked for too early starts with the adapter`(_ state: AdapterState) async throws {
        await bench.backend.emit(.adapterStateChanged(state))
        let scan = Task { [bench] in
            for try await discovery in bench.central.discoveries() { return discovery.peripheral as Peripheral? }
            return nil
        }
        await bench.clock.sleepers(0)
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.backend.count(.startDiscovery) == 0)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.asked(.startDiscovery)
        await hear(strap, advertisement)
        #expect(try await scan.value == strap)
    }

    @Test func `a scan that the backend refuses for want of power is tried again`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.poweredOff)))
        let scan = await scanning()
        await bench.clock.sleepers(3)  // its deadline, its watch for the silent, and the pause
        bench.clock.advance(by: .milliseconds(500))
        await bench.backend.asked(.startDiscovery, 2)
        await hear(strap, advertisement)
        #expect(found(try await scan.value) == strap)
    }

    @Test func `a scan that comes while a stop fails is started`() async throws {
        let first = await scanning()
        await bench.backend.script(.stopDiscovery, .hold)
        first.cancel()
        _ = await first.result
        await bench.backend.asked(.stopDiscovery)
        let second = Task { [bench] in
            var events: Events = bench.central.discoveryEvents().makeAsyncIterator()
            return try await events.next()
        }
        await bench.clock.sleepers(2)  // its deadline, and its check for silent peripherals
        await bench.backend.release(.stopDiscovery, Bench.error(.failed))
        await bench.backend.asked(.startDiscovery, 2)
        await bench.settle()
        #expect(await bench.backend.count(.startDiscovery) == 2)
        second.cancel()
        await expectError(.cancelled) { try await second.value }
    }
}
