import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

/// How long a link stays: as long as it is used, for a scope, or as the configuration says.
@Suite(.hangLimit) struct ConnectionPolicyTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    @Test func `the configuration's policy counts from the first connect on`() async throws {
        let backend = ScriptedBackend()
        await backend.set(Bench.database)
        let central = try await Central(
            backend: backend,
            configuration: Central.Configuration(
                connectionPolicy: .maintained(backoff: Backoff(initial: .zero, factor: 1, maximum: .zero)),
                clock: bench.clock))
        let peripheral = central.peripheral(strap.id)
        await bench.settle()
        #expect(await backend.count(.connect) == 0)
        try await peripheral.connect()
        await backend.emit(.linkEnded(peripheral.id, Bench.error(.disconnected)))
        await backend.asked(.connect, 2)
        await central.shutDown()
    }

    @Test func `an unused link ends after its time, and not before`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .seconds(10)))
        _ = try await strap.read(Bench.level.bytes)
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(9))
        _ = try await strap.read(Bench.level.bytes)
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(9))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
        bench.clock.advance(by: .seconds(1))
        await until { await strap.connectionState == .disconnected }
        #expect(await bench.backend.count(.disconnect) == 1)
    }

    @Test(arguments: ["connect", "services", "characteristic"])
    func `a link that nothing uses after it was made ends after its time`(_ call: String) async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .milliseconds(1250)))
        switch call {
        case "connect": try await strap.connect()
        case "services": _ = try await strap.services()
        default:
            let unknown = Characteristic<[UInt8]>(BluetoothUUID(0xFF09), service: Bench.vendor)
            await expectError(.characteristicNotFound) { try await strap.read(unknown) }
        }
        #expect(await strap.connectionState == .connected)
        await bench.clock.sleepers(1, for: .milliseconds(1250))
        bench.clock.advance(by: .milliseconds(1250))
        await until { await strap.connectionState == .disconnected }
        #expect(await bench.backend.count(.disconnect) == 1)
    }

    @Test func `a link whose handler is taken away ends after its time`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .milliseconds(1250)))
        let isRunning = SharedValue(false)
        await strap.setConnectionHandler { _ in
            isRunning.change { $0 = true }
            await untilCancelled()
        }
        try await strap.connect()
        try await isRunning.until { $0 }
        await strap.setConnectionHandler(nil)
        await bench.clock.sleepers(1, for: .milliseconds(1250))
        bench.clock.advance(by: .milliseconds(1250))
        await bench.backend.asked(.disconnect)
    }

    @Test func `the end of a handler does not end the next one`() async throws {
        await strap.setConnectionHandler { _ in }
        try await strap.connect()
        let isRunning = SharedValue(false)
        let isCancelled = SharedValue(false)
        await strap.setConnectionHandler { _ in
            isRunning.change { $0 = true }
            await untilCancelled()
            isCancelled.change { $0 = true }
        }
        try await isRunning.until { $0 }
        // The task of the first handler, which the second has cancelled, goes on late.
        let first = Task { [bench] in
            await untilCancelled()
            await bench.central.handlerEnded(bench.strap.id)
        }
        first.cancel()
        await first.value
        #expect(await !bench.central.isUnused(strap.id))
        #expect(!isCancelled.value)
        await strap.setConnectionHandler(nil)
        try await isCancelled.until { $0 }
    }

    @Test func `a scope ends the link that it has made again`() async throws {
        try await strap.withConnection { strap in
            await bench.dropLink()
            _ = try await strap.read(Bench.level.bytes)
        }
        #expect(await strap.connectionState == .disconnected)
        #expect(await bench.backend.count(.disconnect) == 1)
    }

    @Test func `a scope does not end a link that it has joined`() async throws {
        await bench.backend.script(.connect, .hold)
        let caller = Task { [strap] in try await strap.connect() }
        await bench.callers(1)
        let scope = Task { [strap] in try await strap.withConnection { _ in } }
        await bench.callers(2)
        await bench.backend.release(.connect)
        try await scope.value
        try await caller.value
        #expect(await strap.connectionState == .connected)
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test func `of two scopes, the last one ends the link`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hasBegun = SharedValue(false)
        let second = SharedValue<Task<Void, any Error>?>(nil)
        try await strap.withConnection { strap in
            let task = Task {
                try await strap.withConnection { _ in
                    hasBegun.change { $0 = true }
                    for await _ in gate { break }
                }
            }
            second.change { $0 = task }
            try await hasBegun.until { $0 }
        }
        #expect(await strap.connectionState == .connected)
        open.yield()
        try await second.value?.value
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a pairing neither makes a link for a scope nor keeps one`() async throws {
        try await strap.withConnection { try await $0.pair() }
        #expect(await strap.connectionState == .disconnected)
        try await strap.unpair()
        try await strap.pair()
        try await strap.withConnection { _ in }
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a scope does not end a link that was wanted before it, even if it is another one by then`() async throws
    {
        try await strap.connect()
        try await strap.withConnection { strap in
            await bench.dropLink()
            _ = try await strap.read(Bench.level.bytes)
        }
        #expect(await strap.connectionState == .connected)
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test func `a scope does not end a link that it has not made`() async throws {
        let (gate, open) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let hasBegun = SharedValue(false)
        let scope = Task { [strap] in
            try await strap.withConnection { _ in
                hasBegun.change { $0 = true }
                for await _ in gate { break }
            }
        }
        try await hasBegun.until { $0 }
        await bench.dropLink()
        // For another part of the program.
        try await strap.connect()
        open.yield()
        try await scope.value
        #expect(await strap.connectionState == .connected)
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test func `a scope that begins while a link is being ended ends its own`() async throws {
        try await strap.connect()
        await bench.backend.script(.disconnect, .hold)
        let ending = Task { try await strap.disconnect() }
        await bench.backend.asked(.disconnect)
        let scope = Task { try await strap.withConnection { _ in } }
        await bench.callers(2)
        await bench.backend.release(.disconnect)
        try await scope.value
        try await ending.value
        #expect(await bench.backend.count(.connect) == 2)
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `after a disconnect in a scope, its next link is its own`() async throws {
        try await strap.connect()
        try await strap.withConnection { strap in
            try await strap.disconnect()
            _ = try await strap.read(Bench.level.bytes)
        }
        #expect(await strap.connectionState == .disconnected)
        // But not if the program asks for it.
        try await strap.withConnection { strap in
            try await strap.disconnect()
            try await strap.connect()
        }
        #expect(await strap.connectionState == .connected)
    }

    @Test(arguments: [true, false])
    func `a scope that joins a pairing leaves it the link, which stays if it succeeds`(succeeds: Bool) async throws {
        await bench.backend.script(.pair, .hold)
        let pairing = Task { try await strap.pair() }
        await bench.backend.asked(.pair)
        try await strap.withConnection { _ = try await $0.read(Bench.level.bytes) }
        #expect(await strap.connectionState == .connected)
        await bench.backend.release(.pair, succeeds ? nil : Bench.error(.pairingFailed))
        let hasPaired = (try? await pairing.value) != nil
        #expect(hasPaired == succeeds)
        #expect(await strap.connectionState == (succeeds ? .connected : .disconnected))
    }

    @Test func `a pairing that fails leaves its link to the scope that has joined it`() async throws {
        await bench.backend.script(.pair, .fail(Bench.error(.pairingFailed)))
        await bench.backend.script(.connect, .hold)
        let pairing = Task { try await strap.pair() }
        await bench.callers(1)
        let scope = Task {
            try await strap.withConnection { strap in
                await expectError(.pairingFailed) { try await pairing.value }
                #expect(await strap.connectionState == .connected)
            }
        }
        await bench.callers(2)
        await bench.backend.release(.connect)
        try await scope.value
        #expect(await strap.connectionState == .disconnected)
        #expect(await bench.backend.count(.connect) == 1)
    }

    /// A link that others have used longer than its scope ends a second after its last use.
    private func lingers() async {
        await bench.clock.sleepers(1, for: .seconds(1))
        #expect(await strap.connectionState == .connected)
        await until {
            // The end of the last use may come in steps, of which each begins the second anew.
            bench.clock.advance(by: .seconds(1))
            return await strap.connectionState == .disconnected
        }
    }

    @Test func `a link that is in use when its scope ends ends after its last use`() async throws {
        let stream = try await strap.withConnection { try await $0.notifications(Bench.level) }
        #expect(await strap.connectionState == .connected)
        await stream.end()
        await lingers()
        // The next one is made for others, and stays.
        _ = try await strap.read(Bench.level.bytes)
        await bench.settle()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
        #expect(await bench.backend.count(.connect) == 2)
    }

    @Test func `the end of a scope without a link does not end the next link, which others make`() async throws {
        let events = await strap.connectionEvents()
        try await strap.withConnection { strap in
            await bench.dropLink()
            await until { await strap.connectionState == .disconnected }
        }
        _ = try await strap.read(Bench.level.bytes)
        await bench.settle()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
        withExtendedLifetime(events) {}
    }

    @Test func `a connect keeps the link of a scope that has ended`() async throws {
        let stream = try await strap.withConnection { try await $0.notifications(Bench.level) }
        await stream.end()
        await bench.clock.sleepers(1, for: .seconds(1))
        try await strap.connect()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a link that is up stays when the policy becomes manual`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .seconds(30)))
        try await strap.withConnection { _ in }
        #expect(await strap.connectionState == .connected)
        try await strap.setConnectionPolicy(.manual)
        await bench.settle()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a scope does not end a link that a policy has kept since the scope that made it`() async throws {
        try await strap.withConnection { try await $0.setConnectionPolicy(.onDemand(idle: .seconds(30))) }
        #expect(await strap.connectionState == .connected)
        try await strap.withConnection { try await $0.setConnectionPolicy(.manual) }
        await bench.settle()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a pairing that fails leaves its link to the policy that was set meanwhile`() async throws {
        await bench.backend.script(.pair, .hold)
        let pairing = Task { try await strap.pair() }
        await bench.backend.asked(.pair)
        try await strap.setConnectionPolicy(.maintained())
        await bench.backend.release(.pair, Bench.error(.pairingFailed))
        await expectError(.pairingFailed) { try await pairing.value }
        #expect(await strap.connectionState == .connected)
        #expect(await strap.connectionPolicy == .maintained())
        #expect(await bench.backend.count(.disconnect) == 0)
    }

    @Test func `a pairing that fails does not end a link that is in use by then`() async throws {
        await bench.backend.script(.pair, .hold)
        let pairing = Task { try await strap.pair() }
        await bench.backend.asked(.pair)
        let stream = try await strap.withConnection { try await $0.notifications(Bench.level) }
        await bench.backend.release(.pair, Bench.error(.pairingFailed))
        await expectError(.pairingFailed) { try await pairing.value }
        #expect(await strap.connectionState == .connected)
        await stream.end()
        await lingers()
    }

    @Test(arguments: [true, false])
    func `a pairing in a link of a scope that ends first keeps it only if it succeeds`(succeeds: Bool) async throws {
        await bench.backend.script(.pair, .hold)
        let pairing = try await strap.withConnection { strap in
            let pairing = Task { try await strap.pair() }
            await bench.backend.asked(.pair)
            return pairing
        }
        #expect(await strap.connectionState == .connected)
        await bench.backend.release(.pair, succeeds ? nil : Bench.error(.pairingFailed))
        let hasPaired = (try? await pairing.value) != nil
        #expect(hasPaired == succeeds)
        if succeeds {
            await bench.settle()
            bench.clock.advance(by: .seconds(60))
            await bench.settle()
            #expect(await strap.connectionState == .connected)
        } else {
            await lingers()
        }
    }

    @Test func `declared values keep the link of a scope for as long as they live`() async throws {
        await bench.backend.set([50], of: 2)
        let kept = try await strap.withConnection { try await $0.values([.read(Bench.level)]) }
        #expect(await strap.connectionState == .connected)
        #expect(try kept.value(of: Bench.level) != nil)
        kept.end()
        await lingers()
        let level = try await strap.withConnection { strap in
            try await strap.values([.read(Bench.level)]).value(of: Bench.level)
        }
        #expect(level != nil)
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a stream, an operation and a scope use a link`() async throws {
        try await strap.setConnectionPolicy(.onDemand(idle: .seconds(10)))
        let (gate, open) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        do {
            let stream = try await strap.notifications(Bench.level)
            bench.clock.advance(by: .seconds(60))
            await bench.settle()
            #expect(await strap.connectionState == .connected)
            _ = stream
        }
        let scope = Task { [strap] in
            try await strap.withConnection { _ in for await _ in gate { break } }
        }
        await bench.backend.asked(.stopNotifications)
        await bench.settle()
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await strap.connectionState == .connected)
        open.yield()
        try await scope.value
        await bench.clock.sleepers(1)
        bench.clock.advance(by: .seconds(10))
        await until { await strap.connectionState == .disconnected }
    }

    @Test func `a link that was made for a scope ends with it, another stays`() async throws {
        try await strap.withConnection { strap in
            #expect(await strap.connectionState == .connected)
        }
        #expect(await strap.connectionState == .disconnected)
        try await strap.connect()
        await #expect(throws: CancellationError.self) {
            try await strap.withConnection { _ in throw CancellationError() }
        }
        #expect(await strap.connectionState == .connected)
    }
}

extension Characteristic {
    /// The same characteristic with values as they are.
    fileprivate var bytes: Characteristic<[UInt8]> { Characteristic<[UInt8]>(key.characteristic, service: key.service) }
}
