import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct DeadlineTests {
    private let bench: Bench

    init() async throws { bench = try await Bench() }

    @Test func `what is done in time is the result`() async throws {
        let level = try await bench.central.withDeadline(.seconds(5)) { [bench] in
            try await bench.strap.read(Bench.setting)
        }
        #expect(level == [])
    }

    @Test func `an error of the work is the error`() async throws {
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        await expectError(.notPermitted) {
            try await bench.central.withDeadline(.seconds(5)) { [bench] in try await bench.strap.read(Bench.setting) }
        }
    }

    /// One deadline covers the wait for Bluetooth, the link, the services and the operation.
    @Test(arguments: [
        ScriptedBackend.Operation.connect, .discoverServices, .read, .startNotifications, .startDiscovery,
    ])
    func `the deadline covers every step`(_ step: ScriptedBackend.Operation) async throws {
        await bench.backend.script(step, .hold)
        let work = Task { [bench] in
            try await bench.central.withDeadline(.seconds(5)) {
                if step == .startDiscovery {
                    for try await _ in bench.central.discoveries() { return }
                }
                _ = try await bench.strap.read(Bench.setting)
                for try await _ in try await bench.strap.notifications(Bench.setting) { return }
            }
        }
        await bench.backend.asked(step)
        await bench.clock.sleepers(1, for: .seconds(5))
        bench.clock.advance(by: .seconds(4))
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await work.value }
        await bench.backend.release(step)
    }

    @Test func `the deadline covers waiting for Bluetooth, and for a value`() async throws {
        await bench.backend.emit(.adapterStateChanged(.resetting))
        let waiting = Task { [bench] in
            try await bench.central.withDeadline(.seconds(5)) { try await bench.strap.connect() }
        }
        await bench.clock.sleepers(2)  // this deadline and the connect's own
        bench.clock.advance(by: .seconds(5))
        await expectError(.timedOut) { try await waiting.value }
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        let stream = try await bench.strap.notifications(Bench.setting)
        let reading = Task { [bench] in
            try await bench.central.withDeadline(.seconds(5)) {
                var values = stream.makeAsyncIterator()
                return try await values.next()
            }
        }
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(5))
        await expectError(.timedOut) { try await reading.value }
    }

    @Test func `a deadline says what the work waited for`() async throws {
        let central = bench.central
        let strap = bench.strap
        let lost = BLEError(.bluetoothLost, "the daemon is not running", remedy: "Start it.")
        await bench.backend.emit(.stackLost(lost), .adapterStateChanged(.resetting))
        let hasEvent = SharedValue(false)
        let isConnecting = { await until { await strap.connectionState == .connecting } }
        let clock = bench.clock
        /// Operations, and closures that return once they wait.
        let works: [(run: @Sendable () async throws -> Void, begin: () async -> Void)] = [
            ({ try await strap.connect() }, isConnecting), ({ _ = try await strap.read(Bench.level) }, isConnecting),
            ({ try await strap.pair() }, { await clock.sleepers(1, for: .seconds(90)) }),
            ({ _ = try await strap.isPaired }, { await clock.sleepers(1, for: .seconds(30)) }),
            ({ _ = try await central.first(matching: .any) }, { await clock.sleepers(1, for: .seconds(20)) }),
            ({ for try await _ in central.nearby() {} }, { await clock.sleepers(1, for: .seconds(1)) }),
            (
                { for try await _ in central.discoveryEvents() { hasEvent.change { $0 = true } } },
                { await until { hasEvent.value } }
            ),
        ]
        for (run, begin) in works {
            await until { await strap.connectionState == .disconnected }
            let task = Task { try await central.withDeadline(.seconds(5)) { try await run() } }
            await clock.sleepers(1, for: .seconds(5))
            await begin()
            clock.advance(by: .seconds(5))
            let error = await expectError(.timedOut) { try await task.value }
            #expect((error?.cause as? BLEError)?.code == .bluetoothLost)
            #expect(error?.remedy == "Start it.")
        }
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        await bench.backend.script(.connect, .fail(Bench.error(.peripheralNotFound)))
        let searching = Task { try await central.withDeadline(.seconds(5)) { try await strap.connect() } }
        await bench.backend.asked(.startDiscovery)
        await bench.clock.sleepers(1, for: .seconds(5))
        bench.clock.advance(by: .seconds(5))
        let error = await expectError(.timedOut) { try await searching.value }
        #expect((error?.cause as? BLEError)?.code == .peripheralNotFound)
    }

    @Test func `a cancelled caller does not get a deadline's error`() async throws {
        await bench.backend.script(.read, .hold)
        let work = Task { [bench] in
            try await bench.central.withDeadline(.seconds(5)) { try await bench.strap.read(Bench.setting) }
        }
        await bench.backend.asked(.read)
        work.cancel()
        await expectError(.cancelled) { try await work.value }
    }
}
