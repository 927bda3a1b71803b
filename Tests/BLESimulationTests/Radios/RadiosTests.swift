import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

/// A central with several radios, which are adapters of one simulated radio.
@Suite(.hangLimit) struct RadiosTests {
    private static let level = Characteristic<[UInt8]>(BluetoothUUID(0x2A19))

    /// A world with two radios, and a lamp that the second one hears better.
    func worldWithBattery(
        _ strengths: [Int?] = [-70, -50], pairing: SimulatedPairing = .justWorks
    ) async throws -> (SimulatedWorld, Peripheral, SimulatedPeripheral) {
        let world = try await SimulatedWorld(adapters: strengths.count)
        let grip = await world.radio.add(.battery(), pairing: pairing)
        for (number, strength) in strengths.enumerated() {
            await grip.setStrength(strength, adapter: "hci\(number)")
        }
        try await listen(world, for: .seconds(5))
        return (world, world.central.peripheral(grip.id), grip)
    }

    /// Scans for some time. Returns the radio of the last advertisement.
    @discardableResult
    private func listen(_ world: SimulatedWorld, for time: Duration) async throws -> String? {
        let central = world.central
        let last = Task(executorPreference: world.radio.taskExecutor) {
            var last: String?
            for try await event in central.discoveryEvents(duplicates: true, staleAfter: nil) {
                if case .found(let found) = event { last = found.radio }
                if case .updated(let found) = event { last = found.radio }
            }
            return last
        }
        await world.clock.run(for: time)
        last.cancel()
        return try? await last.value
    }

    /// Runs `body` while time passes.
    private func passing<Value: Sendable>(
        _ world: SimulatedWorld, for time: Duration = .seconds(30),
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task(executorPreference: world.radio.taskExecutor) { try await body() }
        await world.clock.run(for: time)
        return try await task.value
    }

    private func radios(_ paths: [RadioPath]) -> [String] { paths.filter { $0.obstacle == nil }.map(\.radio) }

    // MARK: Attempts

    /// Each turn lets the former attempt go one step further before the next one begins.
    @Test(arguments: 0..<32)
    func `a connect does not wait for an attempt that ends between two of its steps`(_ turns: Int) async throws {
        let (world, battery, grip) = try await worldWithBattery()
        let (radios, id, executor) = (world.central.backend, battery.id, world.radio.taskExecutor)
        await grip.hold(.connect, .next(1))
        let former = Task(executorPreference: executor) { try await radios.connect(id) }
        await world.clock.run(for: .seconds(1))
        let connect = Task(executorPreference: executor) {
            let end = Task(executorPreference: executor) { try await radios.disconnect(id) }
            for _ in 0..<turns { await Task.yield() }
            let isEnded = SharedValue(false)
            let next = Task(executorPreference: executor) {
                try? await radios.connect(id)
                isEnded.change { $0 = true }
            }
            try await end.value
            return (isEnded, next)
        }
        await world.clock.run(for: .seconds(60))
        let (isEnded, next) = try await connect.value
        #expect(isEnded.value)
        next.cancel()
        await #expect(throws: (any Error).self) { try await former.value }
    }

    // MARK: Services

    @Test func `services are compared with those of the last link of the same radio`() async throws {
        let (world, battery, grip) = try await worldWithBattery()
        var events = await battery.connectionEvents().makeAsyncIterator()
        var told: [Bool] = []
        for (number, radio) in ["hci1", "hci0", "hci1", "hci1", "hci0"].enumerated() {
            if number == 1 { await grip.setServices([.battery(level: 5), .battery(level: 6)]) }
            try await battery.setRadios([radio])
            try await passing(world) {
                try await battery.connect()
                #expect(await battery.radio == radio)
                try await battery.disconnect()
            }
            told.append(false)
            loop: while let event = try await events.next() {
                switch event {
                case .servicesChanged: told[number] = true
                case .disconnected: break loop
                default: continue
                }
            }
        }
        #expect(told == [false, false, true, false, false])
        await world.central.shutDown()
    }

    // MARK: Discovery

    @Test func `an advertisement names its radio, and each radio that hears a peripheral has a path`() async throws {
        let (world, battery, _) = try await worldWithBattery()
        #expect(world.central.radioNames == ["hci0", "hci1"])
        let paths = await battery.radioPaths
        #expect(paths.map(\.radio) == ["hci1", "hci0"])
        #expect(paths.map(\.rssi) == [-50, -70])
        #expect(paths.allSatisfy { $0.age ?? .seconds(9) <= .seconds(1) && $0.obstacle == nil && $0.interval != nil })
        await world.central.shutDown()
    }

    @Test func `only the source's advertisements are passed on, and another is the source when it is silent`()
        async throws
    {
        let (world, battery, grip) = try await worldWithBattery([-60, -55])
        #expect(try await listen(world, for: .seconds(5)) == nil)
        let heard = Task(executorPreference: world.radio.taskExecutor) {
            var radios: [String] = []
            for try await event in world.central.discoveryEvents(duplicates: true, staleAfter: nil) {
                guard case .updated(let found) = event, let radio = found.radio else { continue }
                if radio != radios.last { radios.append(radio) }
                if radios.count == 2 { break }
            }
            return radios
        }
        await world.clock.run(for: .seconds(5))
        await grip.setStrength(nil, adapter: "hci0")
        await world.clock.run(for: .seconds(10))
        #expect(try await heard.value == ["hci0", "hci1"])
        #expect(await battery.radioPaths.map(\.radio) == ["hci1", "hci0"])
        await world.central.shutDown()
    }

    @Test func `a central with one radio is one with its backend`() async throws {
        let radio = SimulatedRadio(clock: ManualClock())
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci0")], configuration: .quiet(clock: radio.clock))
        #expect(central.radioNames == [])
        let peripheral = central.peripheral("F0:F1:F2:F3:F4:F5")
        #expect(await peripheral.radioPaths == [])
        #expect(await peripheral.radio == nil)
        try await peripheral.setRadios(nil)
        await expectError(.invalidArgument) { try await peripheral.setRadios(["hci0"]) }
        await central.shutDown()
    }

    // MARK: Links

    @Test func `a link is made with the radio that hears the peripheral best`() async throws {
        let (world, battery, _) = try await worldWithBattery()
        #expect(await battery.radio == nil)
        try await passing(world) { try await battery.connect() }
        #expect(await battery.radio == "hci1")
        #expect(try await passing(world) { try await battery.read(Self.level) } == [90])
        let obstacles = await battery.radioPaths.map { "\($0.radio) \($0.obstacle?.rawValue ?? "-")" }
        #expect(obstacles == ["hci1 -", "hci0 heldByAnother"])
        try await passing(world) { try await battery.disconnect() }
        #expect(await battery.radio == nil)
        await world.central.shutDown()
    }

    @Test func `another radio is tried when one fails`() async throws {
        let (world, battery, grip) = try await worldWithBattery()
        await grip.fail(.connect, .next(1))
        try await passing(world) { try await battery.connect() }
        #expect(await battery.radio == "hci0")
        #expect(await grip.isConnected)
        await world.central.shutDown()
    }

    @Test func `a radio that gets no answer leaves time for another`() async throws {
        let (world, battery, grip) = try await worldWithBattery([-70, -40])
        // It is out of range since its last advertisement.
        await grip.setStrength(nil, adapter: "hci1")
        let start = world.clock.now
        let connected = Task(executorPreference: world.radio.taskExecutor) {
            try await battery.connect(timeout: .seconds(10))
            return start.duration(to: world.clock.now)
        }
        await world.clock.run(for: .seconds(10))
        #expect(try await connected.value == .seconds(5))
        #expect(await battery.radio == "hci0")
        await world.central.shutDown()
    }

    @Test func `a radio that does not know the peripheral takes no time from one that does`() async throws {
        let (world, battery, grip) = try await worldWithBattery([-60, nil])
        await grip.setStrength(nil, adapter: "hci0")
        let connected = Task(executorPreference: world.radio.taskExecutor) {
            try await battery.connect(timeout: .seconds(20))
        }
        await world.clock.run(for: .seconds(8))
        await grip.setStrength(-60, adapter: "hci0")
        await world.clock.run(for: .seconds(1))
        try await connected.value
        #expect(await battery.radio == "hci0")
        await world.central.shutDown()
    }

    @Test func `when the other radio has failed, the best gets the time that is left`() async throws {
        let (world, battery, grip) = try await worldWithBattery([-70, -40])
        await grip.setStrength(nil, adapter: "hci1")
        let connected = Task(executorPreference: world.radio.taskExecutor) {
            try await battery.connect(timeout: .seconds(20))
        }
        await world.clock.run(for: .seconds(4))
        await grip.fail(.connect, .next(1))
        await world.clock.run(for: .seconds(4))
        #expect(await battery.radio == "hci1")
        #expect(await !grip.isConnected)
        await grip.setStrength(-40, adapter: "hci1")
        await world.clock.run(for: .seconds(1))
        try await connected.value
        #expect(await battery.radio == "hci1")
        await world.central.shutDown()
    }

    @Test func `the link of another program is used, whatever another radio hears`() async throws {
        let (world, battery, grip) = try await worldWithBattery([-50, -80])
        let other = try await world.makeCentral(adapter: "hci1")
        try await passing(world) {
            _ = try await other.first(matching: .id(grip.id), timeout: .seconds(10))
            try await other.peripheral(grip.id).connect()
            try await battery.connect()
        }
        #expect(await battery.radio == "hci1")
        // The other one, which is the source, has not even tried.
        #expect(await battery.radioPaths.first { $0.radio == "hci0" }?.score == -44)
        await other.shutDown()
        await world.central.shutDown()
    }

    @Test func `a peripheral that is found because it has a link names the radio of the link`() async throws {
        let (world, battery, _) = try await worldWithBattery([nil, -50])
        try await passing(world) { try await battery.connect() }
        let found = try await passing(world) {
            try await world.central.first(matching: .id(battery.id), timeout: .seconds(10))
        }
        #expect(found.radio == "hci1")
        await world.central.shutDown()
    }

    @Test func `a disconnect ends an attempt, whatever radio remains`() async throws {
        let (world, battery, grip) = try await worldWithBattery()
        for adapter in ["hci0", "hci1"] { await grip.setStrength(nil, adapter: adapter) }
        let attempt = Task(executorPreference: world.radio.taskExecutor) { try await battery.connect() }
        await world.clock.run(for: .seconds(1))
        try await passing(world, for: .seconds(1)) { try await battery.disconnect() }
        await expectError(.connectionCancelled) { try await attempt.value }
        for (adapter, strength) in [("hci0", -60), ("hci1", -60)] {
            await grip.setStrength(strength, adapter: adapter)
        }
        await world.clock.run(for: .seconds(30))
        #expect(await !grip.isConnected)
        #expect(await battery.radio == nil)
        await world.central.shutDown()
    }

    @Test func `a cancelled attempt leaves no link with any radio`() async throws {
        let (world, battery, grip) = try await worldWithBattery()
        for adapter in ["hci0", "hci1"] { await grip.setStrength(nil, adapter: adapter) }
        let attempt = Task(executorPreference: world.radio.taskExecutor) { try await battery.connect() }
        await world.clock.run(for: .seconds(7))
        attempt.cancel()
        await expectError(.cancelled) { try await attempt.value }
        for adapter in ["hci0", "hci1"] { await grip.setStrength(-60, adapter: adapter) }
        await world.clock.run(for: .seconds(30))
        #expect(await !grip.isConnected)
        // It can be connected to again.
        try await passing(world) { try await battery.connect() }
        #expect(await grip.isConnected)
        await world.central.shutDown()
        #expect(await !grip.isConnected)
    }

    enum End: String, CaseIterable { case poweredOff, unplugged, outOfRange }

    @Test(arguments: End.allCases)
    func `a maintained link moves when its radio goes, and back when only that is left`(_ end: End) async throws {
        let (world, strap, grip) = try await worldWithBattery()
        let values = Task(executorPreference: world.radio.taskExecutor) {
            var all: [UInt8] = []
            for try await value in try await strap.notifications(Self.level) {
                all += value
                if all.last == 9 { break }
            }
            return all
        }
        try await passing(world) { try await strap.setConnectionPolicy(.maintained()) }
        await world.clock.run(for: .seconds(1))
        #expect(await strap.radio == "hci1")
        await grip.notify([1], from: BluetoothUUID(0x2A19))
        func leave(_ adapter: String, _ isThere: Bool) async {
            switch end {
            case .poweredOff: await world.radio.setPowered(isThere, adapter: adapter)
            case .unplugged: await world.radio.setPresent(isThere, adapter: adapter)
            case .outOfRange: await grip.setStrength(isThere ? -60 : nil, adapter: adapter)
            }
        }
        await leave("hci1", false)
        await world.clock.run(for: .seconds(30))
        #expect(await strap.radio == "hci0")
        #expect(await world.central.adapterState == .poweredOn)
        await grip.notify([2], from: BluetoothUUID(0x2A19))
        await leave("hci1", true)
        await world.clock.run(for: .seconds(30))
        #expect(await strap.radio == "hci0")
        await leave("hci0", false)
        await world.clock.run(for: .seconds(60))
        #expect(await strap.radio == "hci1")
        await grip.notify([9], from: BluetoothUUID(0x2A19))
        await world.clock.run(for: .seconds(1))
        #expect(try await values.value == [1, 2, 9])
        await world.central.shutDown()
        #expect(await !grip.isConnected)
    }

    // MARK: Bonds and wishes

    @Test func `a paired peripheral is connected to only by the radio that has its keys`() async throws {
        let (world, battery, grip) = try await worldWithBattery()
        try await passing(world) {
            try await battery.pair()
            try await battery.disconnect()
        }
        // Louder elsewhere.
        await grip.setStrength(-20, adapter: "hci0")
        await grip.setStrength(-80, adapter: "hci1")
        try await listen(world, for: .seconds(5))
        try await passing(world) { try await battery.connect() }
        #expect(await battery.radio == "hci1")
        try await passing(world) { try await battery.disconnect() }
        await world.radio.setPowered(false, adapter: "hci1")
        await expectError(.poweredOff) { try await passing(world) { try await battery.connect() } }
        #expect(await Set(battery.radioPaths.map(\.obstacle)) == [.off, .keysElsewhere])
        try await battery.setRadios(["hci0"])
        await expectError(.invalidArgument) { try await passing(world) { try await battery.connect() } }
        try await battery.setRadios(nil)
        await world.radio.setPowered(true, adapter: "hci1")
        try await passing(world) { try await battery.unpair() }
        try await listen(world, for: .seconds(5))
        try await passing(world) { try await battery.connect() }
        #expect(await battery.radio == "hci0")
        await world.central.shutDown()
    }

    @Test func `a radio that is off keeps its keys, also for a central that is new`() async throws {
        let (world, battery, _) = try await worldWithBattery()
        try await passing(world) {
            try await battery.pair()
            try await battery.disconnect()
        }
        await world.central.shutDown()
        let central = try await Central(
            radios: ["hci0", "hci1"].map { [radio = world.radio] in .simulated(radio, adapter: $0) },
            configuration: .quiet(clock: world.clock))
        await world.radio.setPowered(false, adapter: "hci1")
        await expectError(.poweredOff) {
            try await passing(world) {
                _ = try await central.first(matching: .id(battery.id), timeout: .seconds(10))
                try await central.peripheral(battery.id).connect()
            }
        }
        await central.shutDown()
    }

    @Test func `a peripheral keeps to the radios that are set for it`() async throws {
        let (world, battery, _) = try await worldWithBattery()
        await expectError(.invalidArgument) { try await battery.setRadios(["hci7"]) }
        await expectError(.invalidArgument) { try await battery.setRadios([]) }
        try await battery.setRadios(["hci0"])
        try await passing(world) { try await battery.connect() }
        #expect(await battery.radio == "hci0")
        await world.central.shutDown()
    }
}
