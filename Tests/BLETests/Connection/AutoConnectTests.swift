import BLESimulation
import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct AutoConnectTests {
    private let bench: Bench
    private let reported = SharedValue<[Peripheral.ID]>([])

    init() async throws { bench = try await Bench() }

    private func hear(_ peripheral: Peripheral, _ rssi: Int) async {
        await bench.backend.emit(.advertisementReceived(peripheral.id, Advertisement(rssi: rssi)))
    }

    /// Reads the peripherals that are reported, in a task that ends with the loop.
    private func start(limit: Int = 1) -> Task<Void, any Error> {
        Task { [bench, reported] in
            for try await peripheral in bench.central.autoConnections(matching: .any, limit: limit) {
                reported.change { $0.append(peripheral.id) }
            }
        }
    }

    private func text(_ peripheral: Peripheral, _ event: ConnectionEvent) -> String {
        let text =
            switch event {
            case .connecting: "connecting"
            case .connected: "connected"
            case .connectFailed(_, let pause): "connectFailed \(pause.map { "\($0)" } ?? "-")"
            case .disconnected: "disconnected"
            default: "\(event)"
            }
        return "\(peripheral.id) \(text)"
    }

    /// Moves time past the pause for stronger peripherals.
    private func settle() async {
        await bench.clock.sleepers(2, for: .seconds(1))
        bench.clock.advance(by: .seconds(1))
    }

    @Test func `the strongest in range is connected to, and no other`() async throws {
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -70)
        await hear(bench.lamp, -50)
        await hear(bench.central.peripheral("far"), -81)
        await settle()
        try await reported.until { $0 == [bench.lamp.id] }
        await bench.settle()
        #expect(await bench.backend.calls(.connect) == [.connect(bench.lamp.id)])
        loop.cancel()
        await expectError(.cancelled) { try await loop.value }
        await bench.backend.asked(.stopDiscovery)
        #expect(await bench.lamp.connectionState == .connected)
    }

    @Test func `one whose link is lost is connected to again, one that is disconnected is not`() async throws {
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        try await reported.until { $0.count >= 1 }
        await bench.dropLink()
        await hear(bench.strap, -50)
        await settle()
        try await reported.until { $0.count >= 2 }
        await hear(bench.lamp, -70)
        try await bench.strap.disconnect()
        await settle()
        try await reported.until { $0 == [bench.strap.id, bench.strap.id, bench.lamp.id] }
        // Connected explicitly, it counts again as one of the links.
        try await bench.strap.connect()
        try await reported.until { $0.count >= 4 }
        loop.cancel()
    }

    @Test func `a link that exists is adopted at once`() async throws {
        await bench.backend.set([
            KnownPeripheral(id: bench.lamp.id, advertisement: Advertisement(), isConnected: true)
        ])
        try await bench.strap.connect()
        let loop = start(limit: 2)
        try await reported.until { $0 == [bench.lamp.id] }
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        try await reported.until { $0 == [bench.lamp.id, bench.strap.id] }
        #expect(await bench.backend.calls(.connect) == [.connect(bench.strap.id), .connect(bench.lamp.id)])
        loop.cancel()
    }

    @Test func `an attempt that fails is repeated after a pause`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)), .succeed)
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        await bench.clock.sleepers(1, for: .milliseconds(500))
        bench.clock.advance(by: .milliseconds(500))
        await settle()
        try await reported.until { $0 == [bench.strap.id] }
        loop.cancel()
    }

    @Test func `a scan that fails ends it, and so does the shutdown`() async throws {
        await bench.backend.script(.startDiscovery, .fail(Bench.error(.busy)), .succeed)
        await expectError(.busy) { try await start().value }
        let loop = start()
        await bench.backend.asked(.startDiscovery, 2)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await loop.value }
    }

    @Test func `a link that another program ends is made again, though this machine ended it`() async throws {
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        try await reported.until { $0.count >= 1 }
        let elsewhere = BLEError(.disconnected, "bluetoothctl", disconnectReason: .local)
        await bench.backend.emit(.linkEnded(bench.strap.id, elsewhere))
        await hear(bench.strap, -50)
        await settle()
        try await reported.until { $0.count >= 2 }
        loop.cancel()
    }

    @Test func `one that the program disconnects itself is left alone, also if it was no choice`() async throws {
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await hear(bench.lamp, -60)
        await settle()
        try await reported.until { $0.count >= 1 }
        try await bench.lamp.connect()
        try await bench.lamp.disconnect()
        try await reported.until { $0 == [bench.strap.id, bench.lamp.id] }
        await bench.dropLink()
        await hear(bench.lamp, -40)
        await hear(bench.strap, -70)
        await settle()
        try await reported.until { $0.last == bench.strap.id }
        #expect(await bench.backend.count(.connect) == 3)
        loop.cancel()
    }

    @Test func `a policy that maintains links does not connect past the limit, nor after the loop`() async throws {
        var configuration = Central.Configuration.quiet(clock: bench.clock)
        configuration.connectionPolicy = .maintained()
        let backend = ScriptedBackend()
        await backend.set(Bench.database)
        let central = try await Central(backend: backend, configuration: configuration)
        await backend.script(.connect, .hold)
        let loop = Task {
            for try await _ in central.autoConnections(matching: .any) {}
        }
        await backend.asked(.startDiscovery)
        await backend.emit(.advertisementReceived("strap", Advertisement(rssi: -50)))
        await settle()
        await backend.asked(.connect)
        loop.cancel()
        await expectError(.cancelled) { try await loop.value }
        await until { await central.peripheral("strap").connectionState == .disconnected }
        bench.clock.advance(by: .seconds(60))
        await bench.settle()
        #expect(await backend.count(.connect) == 1)
        await central.shutDown()
    }

    @Test func `what came and went leaves nothing behind`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        let loop = start()
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        await bench.backend.asked(.connect)
        await bench.backend.emit(.peripheralRemoved(bench.strap.id))
        await until { await bench.central.linkCount == 0 }
        loop.cancel()
    }

    @Test func `attempts, failures, links and their ends are events of one stream`() async throws {
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        let told = SharedValue<[String]>([])
        let events = bench.central.autoConnections(matching: .any, limit: 2).events
        let loop = Task {
            for try await (peripheral, event) in events { told.change { $0.append(text(peripheral, event)) } }
        }
        await bench.backend.asked(.startDiscovery)
        await hear(bench.strap, -50)
        await settle()
        try await told.until { $0.last == "strap connectFailed 0.5 seconds" }
        await bench.clock.sleepers(for: .milliseconds(500))
        bench.clock.advance(by: .milliseconds(500))
        await settle()
        try await told.until { $0.last == "strap connected" }
        await hear(bench.lamp, -60)
        await settle()
        try await told.until { $0.last == "lamp connected" }
        await bench.dropLink()
        try await told.until { $0.last == "strap disconnected" }
        #expect(
            told.value == [
                "strap connecting", "strap connectFailed 0.5 seconds", "strap connecting", "strap connected",
                "lamp connecting", "lamp connected", "strap disconnected",
            ])
        loop.cancel()
    }
}
