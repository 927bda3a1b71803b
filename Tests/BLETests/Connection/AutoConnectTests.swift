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

    @Test func `a place that is released goes to the next in range, and comes back after the pause`() async throws {
        let world = try await SimulatedWorld()
        func add(_ rssi: Int, _ onRead: CharacteristicDefinition.ReadHandler? = nil) async -> Peripheral {
            let level = CharacteristicDefinition(Bench.level.uuid, .read, value: [1], onRead: onRead)
            let definition = PeripheralDefinition(
                advertisement: Advertisement(rssi: rssi),
                services: [ServiceDefinition(Bench.battery, characteristics: [level])])
            return world.central.peripheral(await world.radio.add(definition).id)
        }
        let strong = await add(-40)
        // It is connected, and does not answer.
        let isAsked = SharedValue(false)
        let silent = await add(-50) { request throws(ATTError) in
            isAsked.change { $0 = true }
            try? await request.clock.sleep(for: .seconds(100_000))
            throw .unlikelyError
        }
        let (weak, last) = (await add(-60), await add(-70))
        let connections = world.central.autoConnections(matching: .any, limit: 2)
        let loop = Task { [reported] in
            for try await peripheral in connections { reported.change { $0.append(peripheral.id) } }
        }
        try await world.asTimePasses { try await reported.until { $0 == [strong.id, silent.id] } }
        let reading = Task { try await silent.read(Bench.level) }
        try await isAsked.until { $0 }
        try await connections.release(silent, for: .seconds(600))
        await expectError(.disconnected) { try await reading.value }
        // Its place, and only this one.
        try await world.asTimePasses { try await reported.until { $0.count == 3 } }
        #expect(reported.value.last == weak.id)
        #expect(await strong.connectionState == .connected)
        #expect(await silent.connectionState == .disconnected)
        // The strongest comes after the one that had no turn, and the silent one later than both.
        try await connections.release(strong, for: .seconds(5))
        try await world.asTimePasses { try await reported.until { $0.count == 4 } }
        #expect(reported.value.last == last.id)
        try await connections.release(weak, for: .seconds(600))
        try await world.asTimePasses(inSleepsOfAtMost: .seconds(10)) { try await reported.until { $0.count == 5 } }
        #expect(reported.value.last == strong.id)
        loop.cancel()
        await expectError(.cancelled) { try await loop.value }
        await world.central.shutDown()
    }

    @Test func `one that cannot be connected to gives its place back while it is tried, until the pause ends`()
        async throws
    {
        await bench.backend.script(.connect, .hold, .succeed)
        let connections = bench.central.autoConnections(matching: .any, limit: 2)
        let told = SharedValue<[String]>([])
        let loop = Task {
            for try await (peripheral, event) in connections.events {
                told.change { $0.append(text(peripheral, event)) }
            }
        }
        await bench.backend.asked(.startDiscovery)
        await hear(bench.lamp, -40)
        await hear(bench.strap, -50)
        await settle()
        await bench.backend.asked(.connect)
        try await connections.release(bench.lamp)
        await settle()
        try await told.until { $0.last == "strap connected" }
        #expect(
            told.value == [
                "lamp connecting", "lamp connectFailed 30.0 seconds", "strap connecting", "strap connected",
            ])
        // A second of the pause has passed.
        await bench.clock.sleepers(1, for: .seconds(29))
        bench.clock.advance(by: .seconds(30))
        await hear(bench.lamp, -40)
        await settle()
        try await told.until { $0.last == "lamp connected" }
        loop.cancel()
    }

    @Test func `of the times at which something is due, it sleeps until the earliest only`() async throws {
        let connections = bench.central.autoConnections(matching: .any)
        let loop = Task { [reported] in
            for try await peripheral in connections { reported.change { $0.append(peripheral.id) } }
        }
        await bench.backend.asked(.startDiscovery)
        /// Connects to a peripheral, releases it, hears it again, and waits for the end of its pause.
        func release(_ peripheral: Peripheral, for pause: Duration, _ expected: Duration) async throws {
            await hear(peripheral, -50)
            await settle()
            try await reported.until { $0.last == peripheral.id }
            try await connections.release(peripheral, for: pause)
            await hear(peripheral, -50)
            await bench.clock.sleepers(1, for: expected)
            // The check for silent peripherals, which settling has woken, sleeps again.
            await bench.clock.sleepers(1, for: .seconds(1))
        }
        let century = Duration.seconds(100 * 365 * 86_400)
        try await release(bench.strap, for: .seconds(Int64.max), century)
        let count = bench.clock.sleeperCount
        try await release(bench.lamp, for: .seconds(600), .seconds(600))
        await until { bench.clock.sleeperCount == count }
        try await release(bench.central.peripheral("third"), for: .seconds(500), .seconds(500))
        await until { bench.clock.sleeperCount == count }
        loop.cancel()
        await expectError(.cancelled) { try await loop.value }
    }

    @Test func `a strong one that accepts no links does not keep others waiting`() async throws {
        let world = try await SimulatedWorld()
        func add(_ rssi: Int) async -> SimulatedPeripheral {
            await world.radio.add(PeripheralDefinition(advertisement: Advertisement(rssi: rssi), services: []))
        }
        let silent = await add(-40)
        await silent.setAcceptsLinks(false)
        var willing: [SimulatedPeripheral] = []
        for number in 0..<8 { willing.append(await add(-50 - number)) }
        let told = SharedValue<[String]>([])
        let events = world.central.autoConnections(matching: .any, limit: 2).events
        let loop = Task {
            for try await (peripheral, event) in events { told.change { $0.append(text(peripheral, event)) } }
        }
        for (number, peripheral) in willing.enumerated() {
            try await world.asTimePasses { try await told.until { $0.contains("\(peripheral.id) connected") } }
            // As long as there are others, one that is lost makes room for the next.
            guard number > 0 else { continue }
            let lost = willing[number - 1]
            await lost.setAdvertising(false)
            await lost.dropLink()
        }
        #expect(told.value.count { $0 == "\(silent.id) connecting" } == 1)
        // It is tried again when no other is left.
        try await world.asTimePasses { try await told.until { $0.count { $0 == "\(silent.id) connecting" } == 2 } }
        loop.cancel()
        await expectError(.cancelled) { try await loop.value }
        await world.central.shutDown()
    }

    @Test func `a peripheral of another central is not released`() async throws {
        let connections = bench.central.autoConnections(matching: .any)
        let other = try await SimulatedWorld()
        let stranger = other.central.peripheral(bench.strap.id)
        await expectError(.invalidArgument) { try await connections.release(stranger) }
        await other.central.shutDown()
    }
}
