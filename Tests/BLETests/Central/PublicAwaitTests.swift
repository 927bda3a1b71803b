import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Every await in the public API ends with its task, and leaves nothing behind.
@Suite(.hangLimit) struct PublicAwaitTests {
    @Test(arguments: PublicCall.all) func `a cancelled call ends at once and leaves nothing`(_ call: PublicCall)
        async throws
    {
        let bench = try await Bench()
        await bench.backend.set([1], of: 2)
        await bench.backend.script(call.waitsFor, .hold)
        let task = Task { try await call.run(bench) }
        await bench.backend.asked(call.waitsFor)
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        // No timer runs any more, and no link was left behind.
        await until { bench.clock.sleeperCount == 0 }
        if [.connect, .discoverServices].contains(call.waitsFor) {
            await until { await bench.strap.connectionState == .disconnected }
            await until { await bench.backend.count(.disconnect) == 1 }
        }
        if call.waitsFor == .startDiscovery {
            // A scan that is being started is stopped after its start.
            await bench.backend.release(.startDiscovery)
            await bench.backend.asked(.stopDiscovery)
        }
        if call.waitsFor == .startNotifications { await bench.backend.asked(.stopNotifications) }
        // The earlier state is restored: the same call works.
        if call.waitsFor != .startDiscovery { try await call.run(bench) }
        await bench.central.shutDown()
    }

    @Test(arguments: PublicCall.all) func `a call ends at its deadline and leaves nothing`(_ call: PublicCall)
        async throws
    {
        let bench = try await Bench()
        await bench.backend.script(call.waitsFor, .hold)
        let task = Task { try await bench.central.withDeadline(.seconds(1)) { try await call.run(bench) } }
        await bench.backend.asked(call.waitsFor)
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await task.value }
        await until { bench.clock.sleeperCount == 0 }
        await bench.central.shutDown()
    }

    @Test(arguments: PublicCall.all) func `a call ends with the central`(_ call: PublicCall) async throws {
        let bench = try await Bench()
        await bench.backend.script(call.waitsFor, .ignore)
        let task = Task { try await call.run(bench) }
        await bench.backend.asked(call.waitsFor)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await task.value }
        await until { bench.clock.sleeperCount == 0 }
        await bench.backend.release(call.waitsFor)
    }

    @Test(arguments: PublicCall.all) func `a call that comes cancelled asks for nothing`(_ call: PublicCall)
        async throws
    {
        let bench = try await Bench()
        let task = Task {
            await untilCancelled()
            try await call.run(bench)
        }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        for _ in 0..<100 { await Task.yield() }
        #expect(await bench.backend.calls == [.start])
    }

    @Test(arguments: PublicWait.all) func `a cancelled wait ends`(_ wait: PublicWait) async throws {
        let bench = try await Bench()
        let (ready, task) = try await begin(wait, bench)
        await ready.value
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await bench.central.shutDown()
    }

    @Test(arguments: PublicWait.all) func `a wait ends with the central`(_ wait: PublicWait) async throws {
        let bench = try await Bench()
        let (ready, task) = try await begin(wait, bench)
        await ready.value
        await bench.central.shutDown()
        await expectError(wait.atShutdown) { try await task.value }
    }

    /// Starts the wait. The first task ends when it is under way.
    private func begin(
        _ wait: PublicWait, _ bench: Bench
    ) async throws -> (ready: Task<Void, Never>, wait: Task<Void, any Error>) {
        let run = try await wait.prepare(bench)
        let task = Task { try await run() }
        return (Task { await bench.settle() }, task)
    }
}
