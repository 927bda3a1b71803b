import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralConnectionTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// A task that connects; its deadline is running when this returns.
    private func connecting(timeout: Duration? = nil) async -> Task<Void, any Error> {
        // A duration that no other sleep has.
        let timeout = timeout ?? .microseconds(19_000_000 + Int.random(in: 1..<1_000_000))
        let task = Task { [strap] in try await strap.connect(timeout: timeout) }
        await bench.clock.sleepers(1, for: timeout)
        return task
    }

    @Test func `connecting makes the link and discovers the services`() async throws {
        try await strap.connect()
        #expect(await strap.connectionState == .connected)
        #expect(await bench.backend.calls == [.start, .connect(strap.id), .discoverServices(strap.id)])
        #expect(try await strap.services() == Bench.database)
        try await strap.connect()
        #expect(await bench.backend.calls.count == 3)
    }

    @Test func `callers that connect at the same time share one attempt`() async throws {
        await bench.backend.script(.connect, .hold)
        let callers = [await connecting(), await connecting(), await connecting()]
        #expect(await strap.connectionState == .connecting)
        await bench.backend.release(.connect)
        for caller in callers { try await caller.value }
        #expect(await bench.backend.count(.connect) == 1)
        #expect(await bench.backend.count(.discoverServices) == 1)
    }

    @Test
    func `a caller that comes during discovery shares it`() async throws {
        await bench.backend.script(.discoverServices, .hold)
        let first = await connecting()
        await bench.backend.asked(.discoverServices)
        let second = await connecting()
        let third = await connecting()
        third.cancel()
        await expectError(.cancelled) { try await third.value }
        await bench.backend.release(.discoverServices)
        try await first.value
        try await second.value
        #expect(await bench.backend.count(.connect) == 1)
        #expect(try await strap.services() == Bench.database)
        #expect(await bench.backend.count(.discoverServices) == 1)
    }

    @Test func `one caller's deadline does not fail the other`() async throws {
        await bench.backend.script(.connect, .hold)
        let hurried = await connecting(timeout: .seconds(1))
        let patient = await connecting(timeout: .seconds(10))
        bench.clock.advance(by: .seconds(1))
        let error = await expectError(.timedOut) { try await hurried.value }
        #expect(error?.peripheral == strap.id)
        #expect(await strap.connectionState == .connecting)
        await bench.backend.release(.connect)
        try await patient.value
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test func `one caller's cancellation does not fail the other`() async throws {
        await bench.backend.script(.connect, .hold)
        let first = await connecting()
        let second = await connecting()
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        #expect(await strap.connectionState == .connecting)
        await bench.backend.release(.connect)
        try await second.value
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test(
        arguments: [ScriptedBackend.Operation.connect, .discoverServices])
    func `when the last caller is cancelled the attempt is ended and the link taken down`(
        _ operation: ScriptedBackend.Operation
    ) async throws {
        await bench.backend.script(operation, .hold)
        let first = await connecting()
        let second = await connecting()
        await bench.backend.asked(operation)
        first.cancel()
        second.cancel()
        await expectError(.cancelled) { try await first.value }
        await expectError(.cancelled) { try await second.value }
        await bench.backend.asked(.disconnect)
        await until { await strap.connectionState == .disconnected }
        #expect(await bench.backend.calls(.connect, .disconnect) == [.connect(strap.id), .disconnect(strap.id)])
    }

    @Test func `the default deadline is the configuration's`() async throws {
        await bench.backend.script(.connect, .hold)
        let caller = Task { [strap] in try await strap.connect() }
        await bench.clock.sleepers(1, for: .seconds(20))
        bench.clock.advance(by: .milliseconds(19_999))
        await bench.settle()
        #expect(await strap.connectionState == .connecting)
        bench.clock.advance(by: .milliseconds(1))
        await expectError(.timedOut) { try await caller.value }
        await bench.backend.asked(.disconnect)
    }

    @Test func `a failed attempt fails all callers with its error, and the next call tries again`() async throws {
        await bench.backend.script(.connect, .hold)
        let callers = [await connecting(), await connecting()]
        await bench.backend.release(.connect, Bench.error(.connectionFailed))
        for caller in callers {
            let error = await expectError(.connectionFailed) { try await caller.value }
            #expect(error?.peripheral == strap.id)
        }
        #expect(await strap.connectionState == .disconnected)
        try await strap.connect()
    }

    @Test func `a link whose services cannot be had is taken down`() async throws {
        await bench.backend.script(.discoverServices, .fail(Bench.error(.failed)))
        await expectError(.failed) { try await strap.connect() }
        #expect(
            await bench.backend.calls(.connect, .discoverServices, .disconnect)
                == [.connect(strap.id), .discoverServices(strap.id), .disconnect(strap.id)])
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a disconnect ends the attempt with connectionCancelled`() async throws {
        await bench.backend.script(.connect, .hold)
        let caller = await connecting()
        await bench.backend.asked(.connect)
        try await strap.disconnect()
        await expectError(.connectionCancelled) { try await caller.value }
        #expect(await bench.backend.calls(.connect, .disconnect) == [.connect(strap.id), .disconnect(strap.id)])
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a connect during a disconnect waits for it and then starts`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .hold)
        let disconnecting = Task { [strap] in try await strap.disconnect() }
        await bench.backend.asked(.disconnect)
        let caller = await connecting()
        #expect(await strap.connectionState == .disconnecting)
        #expect(await bench.backend.count(.connect) == 1)
        await bench.backend.release(.disconnect)
        try await disconnecting.value
        try await caller.value
        #expect(await bench.backend.count(.connect) == 2)
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a disconnect goes on when its caller has given up`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .hold)
        let disconnecting = Task { [strap] in try await strap.disconnect() }
        await bench.backend.asked(.disconnect)
        disconnecting.cancel()
        await expectError(.cancelled) { try await disconnecting.value }
        await bench.backend.release(.disconnect)
        await until { await strap.connectionState == .disconnected }
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `disconnecting what has no link asks the backend nothing`() async throws {
        try await strap.disconnect()
        #expect(await bench.backend.calls == [.start])
    }

    @Test func `a cancelled task does not begin to connect`() async throws {
        let caller = Task { [strap] in
            withUnsafeCurrentTask { $0?.cancel() }
            try await strap.connect()
        }
        await expectError(.cancelled) { try await caller.value }
        #expect(await bench.backend.calls == [.start])
    }

    @Test func `the states are reported from the present one on`() async throws {
        var states = await strap.connectionStates().makeAsyncIterator()
        #expect(try await states.next() == .disconnected)
        try await strap.connect()
        #expect(try await states.next() == .connecting)
        #expect(try await states.next() == .connected)
        try await strap.disconnect()
        #expect(try await states.next() == .disconnecting)
        #expect(try await states.next() == .disconnected)
        try await strap.connect()
        await bench.dropLink()
        #expect(try await states.next() == .connecting)
        #expect(try await states.next() == .connected)
        #expect(try await states.next() == .disconnected)
    }

    @Test func `a link that was lost is made again when it is needed`() async throws {
        await bench.backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        await bench.dropLink()
        #expect(await strap.connectionState == .disconnected)
        #expect(try await strap.read(Bench.level) == 90)
        #expect(await bench.backend.count(.connect) == 2)
        #expect(await bench.backend.count(.discoverServices) == 2)
    }

    @Test func `a link that ends as its services arrive is not taken for one`() async throws {
        await bench.backend.script(.discoverServices, .hold)
        let caller = await connecting()
        await bench.backend.asked(.discoverServices)
        await bench.dropLink()
        await bench.backend.release(.discoverServices)
        _ = await caller.result
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `the end of one link leaves the others alone`() async throws {
        try await strap.connect()
        try await bench.lamp.connect()
        await bench.dropLink()
        #expect(await strap.connectionState == .disconnected)
        #expect(await bench.lamp.connectionState == .connected)
    }
}
