import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct CentralLifecycleTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// One wait of each kind: a read, a queued write behind another, a subscriber, a scan, a listing.
    private func waiting() async throws -> (scan: Task<Void, any Error>, others: [Task<Void, any Error>]) {
        let backend = bench.backend
        try await strap.connect()
        await backend.script(.read, .ignore)
        await backend.script(.write, .ignore)
        await backend.script(.adapters, .ignore)
        let stream = try await strap.notifications(Bench.level)
        let (heard, hear) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let scan = Task { [bench] in for try await _ in bench.central.discoveries() { hear.yield() } }
        await backend.asked(.startDiscovery)
        await backend.emit(.advertisementReceived(strap.id, Advertisement()))
        // The scan runs, and its start no longer waits.
        for await _ in heard { break }
        var tasks = [
            Task { [strap] in _ = try await strap.read(Bench.level) },
            Task { [strap] in try await strap.write([0], to: Bench.command) },
            Task { for try await _ in stream {} },
            Task { [bench] in _ = try await bench.central.adapters() },
        ]
        await backend.asked(.read)
        await backend.asked(.write)
        await backend.asked(.adapters)
        // Their deadlines, and then that of the write that has to queue.
        await bench.clock.sleepers(3)
        tasks.append(Task { [strap] in try await strap.write([1], to: Bench.command) })
        await bench.clock.sleepers(4)
        return (scan, tasks)
    }

    private func release() async {
        for operation in [ScriptedBackend.Operation.read, .write, .adapters] { await bench.backend.release(operation) }
    }

    @Test(arguments: [BLEError.Code.bluetoothUnavailable, .adapterNotFound, .unauthorized])
    func `a backend that does not start is the initializer's error`(_ code: BLEError.Code) async throws {
        let backend = ScriptedBackend()
        await backend.script(.start, .fail(Bench.error(code)))
        await expectError(code) { try await Central(backend: backend) }
    }

    @Test func `when Bluetooth is lost everything that waits fails at once`() async throws {
        let waiting = try await waiting()
        await bench.backend.emit(.stackLost(Bench.error(.bluetoothLost)))
        // A scan goes on when Bluetooth is back.
        waiting.scan.cancel()
        await expectError(.cancelled) { try await waiting.scan.value }
        for task in waiting.others { await expectError(.bluetoothLost) { try await task.value } }
        #expect(await strap.connectionState == .disconnected)
        await release()
    }

    @Test func `after Bluetooth was lost everything can be had again`() async throws {
        try await strap.connect()
        await bench.backend.emit(.stackLost(Bench.error(.bluetoothLost)))
        await bench.backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        #expect(await bench.backend.count(.connect) == 2)
        let scan = Task { [bench] in for try await _ in bench.central.discoveries() { break } }
        await bench.backend.asked(.startDiscovery)
        await until {
            await bench.backend.emit(.advertisementReceived(strap.id, Advertisement()))
            return await bench.backend.count(.stopDiscovery) == 1
        }
        try await scan.value
    }

    @Test func `shutting down fails everything that waits and shuts the backend down`() async throws {
        let waiting = try await waiting()
        await bench.central.shutDown()
        for task in waiting.others + [waiting.scan] { await expectError(.shutDown) { try await task.value } }
        #expect(await bench.backend.count(.shutDown) == 1)
        await release()
    }

    @Test func `shutting down fails a connect`() async throws {
        await bench.backend.script(.connect, .hold)
        let caller = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.connect)
        var states = await strap.connectionStates().makeAsyncIterator()
        #expect(try await states.next() == .connecting)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await caller.value }
        await expectError(.shutDown) { try await states.next() }
    }

    @Test func `shutting down cancels what the backend has begun`() async throws {
        try await strap.connect()
        await bench.backend.script(.read, .hold)
        await bench.backend.script(.write, .hold)
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        let writing = Task { [strap] in try await strap.write([1], to: Bench.command) }
        await bench.backend.asked(.read)
        await bench.backend.asked(.write)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await reading.value }
        await expectError(.shutDown) { try await writing.value }
        await until { await bench.backend.heldCount == 0 }
    }

    @Test func `an attempt that is being ended asks nothing of a backend that is being shut down`() async throws {
        await bench.backend.script(.connect, .hold)
        let caller = Task { [strap] in try await strap.connect() }
        await bench.backend.asked(.connect)
        await bench.central.endAttemptAndShutDown(strap.id)
        await expectError(.connectionCancelled) { try await caller.value }
        await bench.settle()
        #expect(await bench.backend.calls == [.start, .connect(strap.id), .shutDown])
    }

    @Test func `an attempt that begins with the shutdown asks nothing of the backend`() async throws {
        let attempt = await bench.central.beginAttemptAndShutDown(strap.id)
        await attempt?.value
        #expect(await bench.backend.calls == [.start, .shutDown])
    }

    @Test func `shutting down fails a scan that is being started`() async throws {
        await bench.backend.script(.startDiscovery, .hold)
        let scan = Task { [bench] in for try await _ in bench.central.discoveries() {} }
        await bench.backend.asked(.startDiscovery)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await scan.value }
        await bench.backend.release(.startDiscovery)
    }

    @Test func `a central that is shut down does nothing any more`() async throws {
        try await strap.connect()
        await bench.central.shutDown()
        await bench.central.shutDown()
        let calls = await bench.backend.calls
        #expect(calls.last == .shutDown)
        await expectError(.shutDown) { try await strap.connect() }
        await expectError(.shutDown) { try await strap.disconnect() }
        await expectError(.shutDown) { try await strap.services() }
        await expectError(.shutDown) { try await strap.read(Bench.level) }
        await expectError(.shutDown) { try await strap.write([1], to: Bench.command) }
        await expectError(.shutDown) { try await strap.notifications(Bench.level) }
        await expectError(.shutDown) { try await bench.central.adapters() }
        var scan = bench.central.discoveries().makeAsyncIterator()
        await expectError(.shutDown) { try await scan.next() }
        #expect(await bench.backend.calls == calls)
    }

    @Test func `a central that is dropped shuts its backend down`() async throws {
        let backend = ScriptedBackend()
        func use() async throws {
            let central = try await Central(backend: backend)
            #expect(try await central.adapters().count == 1)
        }
        try await use()
        await backend.asked(.shutDown)
        #expect(await backend.calls == [.start, .adapters, .shutDown])
    }

    @Test func `a central that is dropped while it waits for Bluetooth shuts its backend down`()
        async throws
    {
        let backend = ScriptedBackend()
        do {
            let central = try await Central(backend: backend, configuration: .quiet(clock: ManualClock()))
            await backend.emit(.adapterStateChanged(.resetting))
            let strap = central.peripheral(Peripheral.ID(rawValue: "strap"))
            try await strap.setConnectionPolicy(
                .maintained(backoff: Backoff(initial: .seconds(1), factor: 2, maximum: .seconds(4))))
            await until { await strap.connectionState == .connecting }
        }
        await backend.asked(.shutDown)
    }

    @Test func `a central that is dropped while a number is shown shuts its backend down`() async throws {
        struct Sign: PairingDelegate {
            func show(_ passkey: Passkey, entered: Int, for peripheral: Peripheral) async {}
        }
        let backend = ScriptedBackend()
        await backend.set(Bench.database)
        let strap = Peripheral.ID(rawValue: "strap")
        do {
            let central = try await Central(
                backend: backend, configuration: .quiet(clock: ManualClock(), pairing: .prompting(Sign())))
            try await central.peripheral(strap).connect()
            #expect(await backend.agent.answer(strap, .show(Passkey(123_456)!, entered: 0)) == .accept)
        }
        await backend.asked(.shutDown)
    }

    @Test func `a central that was shut down and is dropped shuts its backend down once`() async throws {
        let backend = ScriptedBackend()
        func use() async throws { try await Central(backend: backend).shutDown() }
        try await use()
        for _ in 0..<10 { await Task.yield() }
        #expect(await backend.calls == [.start, .shutDown])
    }

    @Test func `the adapter's states are reported from the present one on, until the central is shut down`()
        async throws
    {
        await bench.backend.emit(.adapterStateChanged(.poweredOff))
        #expect(await bench.central.adapterState == .poweredOff)
        var states = await bench.central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOff)
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.emit(.adapterStateChanged(.unavailable))
        #expect(try await states.next() == .poweredOn)
        #expect(try await states.next() == .unavailable)
        await bench.central.shutDown()
        let end = await #expect(throws: BLEError.self) { try await states.next() }
        #expect(end?.code == .shutDown)
    }

    @Test func `listing adapters has a deadline`() async throws {
        await bench.backend.script(.adapters, .ignore)
        let listing = Task { [bench] in try await bench.central.adapters() }
        await bench.backend.asked(.adapters)
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(30))
        await expectError(.timedOut) { try await listing.value }
        await release()
    }

    @Test func `a handle is equal to another of the same identity`() async throws {
        #expect(strap == bench.central.peripheral(strap.id))
        #expect(strap != bench.lamp)
        #expect(Set([strap, bench.lamp, bench.central.peripheral(strap.id)]).count == 2)
        #expect("\(strap)" == "strap")
    }

    @Test func `a central that is dropped leaves nothing behind, and ends its streams`() async throws {
        let (clock, backend) = (ManualClock(), ScriptedBackend())
        let strap = Peripheral.ID(rawValue: "strap")
        await backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        var states: BoundedStream<AdapterState>.Iterator
        do {
            let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
            states = await central.adapterStates().makeAsyncIterator()
            #expect(try await states.next() == .poweredOn)
            let scan = Task {
                for try await _ in central.discoveryEvents(staleAfter: .seconds(8)) { break }
            }
            await backend.asked(.startDiscovery)
            await backend.emit(.advertisementReceived(strap, Advertisement()))
            try await scan.value
            // The backend searches for it.
            try await central.peripheral(strap).setConnectionPolicy(
                .maintained(backoff: Backoff(initial: .seconds(1), factor: 2, maximum: .seconds(4))))
            await backend.asked(.connect)
            await backend.asked(.startDiscovery, 2)
        }
        await backend.asked(.shutDown)
        await expectError(.shutDown) { _ = try await states.next() }
        // A task that still sleeps wakes, and has nothing to do.
        await until {
            clock.advance(by: .seconds(1))
            return clock.sleeperCount == 0
        }
    }

    @Test func `in a cancelled task the backend is left, too`() async throws {
        await Task { [bench] in
            withUnsafeCurrentTask { $0?.cancel() }
            await bench.central.shutDown()
        }.value
        #expect(await bench.backend.count(.shutDown) == 1)
    }
}

extension Central {
    /// Begins to end an attempt to connect, and shuts down before anything else can happen.
    fileprivate func endAttemptAndShutDown(_ id: Peripheral.ID) async {
        let waiter = token()
        step(id) { $0.disconnect(waiter) }
        await shutDown()
    }

    /// Begins an attempt to connect, and shuts down before anything else can happen. Returns the attempt.
    fileprivate func beginAttemptAndShutDown(_ id: Peripheral.ID) async -> Task<Void, Never>? {
        let waiter = token()
        let link = link(id)
        step(id) { $0.connect(waiter) }
        let attempt = link.attempt
        await shutDown()
        return attempt
    }
}
