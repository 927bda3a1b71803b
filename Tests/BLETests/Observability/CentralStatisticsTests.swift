import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct CentralStatisticsTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws {
        bench = try await Bench()
        await bench.backend.set([90], of: 2)
    }

    private func statistics() async -> CentralStatistics { await bench.central.statistics }

    /// The strap's link ends for a reason.
    private func drop(_ reason: DisconnectReason) async {
        await bench.backend.emit(
            .linkEnded(strap.id, BLEError(.disconnected, "scripted", disconnectReason: reason)))
    }

    @Test func `a new central has counted nothing`() async {
        #expect(await statistics() == CentralStatistics())
    }

    @Test func `operations are counted by kind and by the codes of their errors, with their durations`() async throws {
        _ = try await strap.read(Bench.level, timeout: .seconds(9))
        await bench.backend.script(.read, .hold)
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.backend.asked(.read, 2)
        bench.clock.advance(by: .seconds(3))
        await bench.backend.release(.read)
        _ = try await reading.value
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        await expectError(.notPermitted) { try await strap.read(Bench.level) }
        try await strap.write([1], to: Bench.command)
        let statistics = await statistics()
        #expect(statistics[.read].successCount == 2)
        #expect(statistics[.read].failureCounts == [.notPermitted: 1])
        #expect(statistics[.read].count == 3)
        #expect(statistics[.read].totalDuration == .seconds(3))
        #expect(statistics[.read].longestDuration == .seconds(3))
        for kind in [OperationKind.connect, .discover, .write] { #expect(statistics[kind].count == 1) }
        #expect(OperationKind.allCases.map { statistics[$0].count }.reduce(0, +) == 6)
    }

    @Test(arguments: [BLEError.Code.cancelled, .timedOut, .disconnected, .bluetoothLost, .shutDown])
    func `an operation that something else ends than its backend is counted once`(_ code: BLEError.Code) async throws {
        try await strap.connect()
        await bench.backend.script(.read, .ignore)
        let sleeping = bench.clock.sleeperCount
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.backend.asked(.read)
        await bench.clock.sleepers(sleeping + 1)
        switch code {
        case .cancelled: reading.cancel()
        case .timedOut: bench.clock.advance(by: .seconds(30))
        case .disconnected: await drop(.remote)
        case .bluetoothLost: await bench.backend.emit(.stackLost(Bench.error(.bluetoothLost)))
        default: await bench.central.shutDown()
        }
        await expectError(code) { try await reading.value }
        await bench.backend.release(.read)
        await bench.settle()
        #expect(await statistics()[.read].failureCounts == [code: 1])
        #expect(await statistics()[.read].count == 1)
    }

    @Test func `a call that finds the link up has not connected`() async throws {
        try await strap.connect()
        try await strap.connect()
        _ = try await strap.read(Bench.level)
        #expect(await statistics()[.connect].count == 1)
        #expect(await statistics()[.discover].count == 1)
        #expect(await statistics()[.reconnect].count == 0)
    }

    @Test func `each call that waits for a link is counted, with its own end`() async throws {
        await bench.backend.script(.connect, .hold)
        let (first, second) = (
            Task { [strap] in try await strap.connect() }, Task { [strap] in try await strap.connect() }
        )
        await bench.callers(2)
        second.cancel()
        await expectError(.cancelled) { try await second.value }
        await bench.backend.release(.connect)
        try await first.value
        #expect(await statistics()[.connect].successCount == 1)
        #expect(await statistics()[.connect].failureCounts == [.cancelled: 1])
        #expect(await statistics().linkCount == 1)
    }

    @Test func `links are counted with the reasons of their ends`() async throws {
        try await strap.connect()
        try await bench.lamp.connect()
        #expect(await statistics().connectedCount == 2)
        await drop(.timeout)
        // Once only.
        await drop(.timeout)
        try await bench.lamp.disconnect()
        try await strap.connect()
        #expect(await statistics().linkCount == 3)
        #expect(await statistics().connectedCount == 1)
        #expect(await statistics().linkEndCounts == [.timeout: 1, .local: 1])
        // Made for a call, not to maintain a link.
        #expect(await statistics().reconnectCounts.isEmpty)
        await bench.central.shutDown()
        #expect(await statistics().connectedCount == 0)
        #expect(await statistics().linkEndCounts == [.timeout: 1, .local: 2])
    }

    @Test func `a maintained link is counted with the reason for which it was made again`() async throws {
        var states = await strap.connectionStates().makeAsyncIterator()
        func reached(_ state: ConnectionState) async throws {
            while let next = try await states.next(), next != state {}
        }
        try await bench.maintain()
        try await reached(.connected)
        #expect(await statistics().reconnectCounts.isEmpty)
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        await drop(.timeout)
        try await reached(.connected)
        await drop(.remote)
        try await reached(.connected)
        #expect(await statistics().reconnectCounts == [.timeout: 1, .remote: 1])
        #expect(await statistics()[.reconnect].successCount == 3)
        #expect(await statistics()[.reconnect].failureCounts == [.connectionFailed: 1])
        #expect(await statistics()[.connect].count == 0)
        // A call ends the upkeep: the next link replaces none.
        await bench.backend.script(.connect, .hold)
        await drop(.remote)
        await bench.backend.asked(.connect, 5)
        try await strap.disconnect()
        try await strap.connect()
        try await bench.maintain()
        #expect(await statistics().reconnectCounts == [.timeout: 1, .remote: 1])
        #expect(await statistics()[.reconnect].failureCounts.values.reduce(0, +) == 2)
    }

    @Test func `a call connects, even if the configuration maintains the link from then on`() async throws {
        let backend = ScriptedBackend()
        var configuration = Central.Configuration.quiet(clock: bench.clock)
        configuration.connectionPolicy = .maintained()
        let central = try await Central(backend: backend, configuration: configuration)
        try await central.peripheral(strap.id).connect()
        #expect(await central.statistics[.connect].count == 1)
        #expect(await central.statistics[.reconnect].count == 0)
        await central.shutDown()
    }

    @Test func `an attempt of the central ends with the central`() async throws {
        await bench.backend.script(.connect, .hold)
        try await bench.maintain()
        await bench.backend.asked(.connect)
        await bench.central.shutDown()
        #expect(await statistics()[.reconnect].failureCounts == [.shutDown: 1])
        await bench.settle()
        #expect(await statistics()[.reconnect].count == 1)
    }

    @Test func `what slow readers miss is counted, of all streams`() async throws {
        let streams = [
            try await strap.notifications(Bench.level, overflow: .dropOldest(capacity: 2)),
            try await strap.notifications(Bench.level, overflow: .fail(capacity: 4)),
        ]
        for level in UInt8(1)...5 { await bench.backend.notify([level], from: 2) }
        #expect(streams.map(\.droppedCount) == [3, 1])
        #expect(await statistics().droppedValueCount == 4)
        #expect(await statistics()[.subscribe].successCount == 2)

        let events = bench.central.discoveryEvents(duplicates: true, overflow: .dropNewest(capacity: 2))
        var reader = events.makeAsyncIterator()
        let advertisement = CentralBackendEvent.advertisementReceived(strap.id, Advertisement(localName: "Strap"))
        async let first = reader.next()
        await bench.backend.asked(.startDiscovery)
        await bench.backend.emit(advertisement)
        _ = try await first
        for _ in 0..<5 { await bench.backend.emit(advertisement) }
        #expect(await statistics().advertisementCount == 6)
        #expect(await statistics().droppedDiscoveryCount == 3)
        #expect(await statistics().droppedValueCount == 4)
    }

    @Test func `losses of Bluetooth are counted`() async throws {
        try await strap.connect()
        await bench.backend.emit(.adapterStateChanged(.resetting), .stackLost(Bench.error(.bluetoothLost)))
        await bench.backend.emit(.adapterStateChanged(.poweredOn))
        #expect(await statistics().bluetoothLossCount == 1)
        #expect(await statistics().connectedCount == 0)
    }

    @Test func `discovering and pairing are counted`() async throws {
        try await strap.pair()
        await bench.backend.emit(.servicesChanged(strap.id))
        _ = try await strap.services()
        try await strap.unpair()
        for (kind, count) in [(OperationKind.pair, 1), (.unpair, 1), (.connect, 1), (.discover, 2)] {
            #expect(await statistics()[kind].successCount == count, "\(kind)")
        }
    }

    @Test func `a backend with endless codes and reasons does not make the statistics grow`() {
        var (operations, statistics) = (OperationStatistics(), CentralStatistics())
        for number in 0..<1000 {
            operations.ended(BLEError.Code(rawValue: "code \(number)"), after: .zero)
            statistics.count(.linkEnded(DisconnectReason(rawValue: "reason \(number)")))
            statistics.count(.reconnected(DisconnectReason(rawValue: "reason \(number)")))
        }
        #expect(operations.failureCounts.count == 65)
        #expect(operations.failureCounts[.failed] == 1000 - 64)
        #expect(operations.count == 1000)
        #expect(statistics.linkEndCounts.count == 65)
        #expect(statistics.reconnectCounts[.unknown] == 1000 - 64)
    }
}
