import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Testing

/// Radios of a central that hear nothing, or come and go.
@Suite(.hangLimit) struct RadioHealthTests {
    /// A central with two radios, and a battery that only the first one hears.
    private func world(
        restart: Radio.Restart = .scan, failures: Int = 0
    ) async throws -> (central: Central, radio: SimulatedRadio, clock: ManualClock, battery: SimulatedPeripheral) {
        let clock = ManualClock()
        let radio = SimulatedRadio(clock: clock)
        await radio.addAdapter("hci1")
        let battery = await radio.add(.battery())
        await battery.setStrength(-60, adapter: "hci0")
        await battery.setStrength(nil, adapter: "hci1")
        var second = Radio(
            name: "hci1", backend: StubbornBackend(.simulated(radio, adapter: "hci1"), failures: failures))
        second.restart = restart
        let central = try await Central(
            radios: [.simulated(radio, adapter: "hci0"), second], configuration: .quiet(clock: clock))
        return (central, radio, clock, battery)
    }

    private func text(_ event: RadioEvent) -> String {
        switch event {
        case .appeared(let radio): "\(radio) appeared"
        case .gone(let radio, let state): "\(radio) \(state)"
        case .scanFailed(let radio, let error): "\(radio) \(error.code)"
        case .silent(let radio, let time): "\(radio) silent \(time)"
        case .restarting(let radio, let part): "\(radio) restart \(part)"
        case .healed(let radio): "\(radio) healed"
        case .slotsChanged(let radio, let free): "\(radio) slots \(free ?? -1)"
        }
    }

    /// The events of the radios, as text, as they arrive.
    private func record(_ central: Central) async -> SharedValue<[String]> {
        let told = SharedValue<[String]>([])
        let events = await central.radioEvents()
        Task {
            for try await event in events {
                let text = text(event)
                told.change { $0.append(text) }
            }
        }
        return told
    }

    private func scan(_ central: Central, _ radio: SimulatedRadio) -> Task<Void, any Error> {
        Task(executorPreference: radio.taskExecutor) { for try await _ in central.discoveryEvents(staleAfter: nil) {} }
    }

    @Test func `a radio that is silent while another hears has its scan restarted, and heals`() async throws {
        let (central, radio, clock, battery) = try await world()
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(85))
        #expect(told.value == [])
        #expect(await central.radios.map(\.isScanning) == [true, true])
        let fault = await radio.delay(.scan, .next(1), by: .seconds(1))
        await clock.run(for: .seconds(10))
        try await told.until { $0.count == 2 }
        #expect(told.value == ["hci1 silent 90.0 seconds", "hci1 restart scan"])
        #expect(await fault.count == 1)
        let radios = await central.radios
        #expect(radios.map(\.name) == ["hci0", "hci1"])
        #expect(radios.map(\.isScanning) == [true, true])
        #expect(radios.map(\.isSilent) == [false, true])
        #expect(radios.map { $0.age != nil } == [true, false])
        await battery.setStrength(-50, adapter: "hci1")
        await clock.run(for: .seconds(5))
        try await told.until { $0.last == "hci1 healed" }
        #expect(await central.radios.map(\.isSilent) == [false, false])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an adapter is powered off and on only if that is allowed, after its scan`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio)
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(200))
        try await told.until { $0.count == 5 }
        #expect(
            told.value == [
                "hci1 silent 90.0 seconds", "hci1 restart scan", "hci1 restart radio", "hci1 poweredOff",
                "hci1 appeared",
            ])
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `an adapter that does not come on again is powered on again and again`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let told = await record(central)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await clock.run(for: .seconds(10))
        try await told.until { $0.last == "hci1 appeared" }
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `a central that ends during a restart leaves the adapter on`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        let end = Task(executorPreference: radio.taskExecutor) { await central.shutDown() }
        await clock.run(for: .seconds(6))
        await end.value
        scan.cancel()
        let other = try await Central(
            backend: .simulated(radio, adapter: "hci1"), configuration: .quiet(clock: clock))
        #expect(await other.adapterState == .poweredOn)
        await other.shutDown()
    }

    @Test func `an adapter that the program switches off during a restart stays off`() async throws {
        let (central, radio, clock, _) = try await world(restart: .radio, failures: 3)
        let scan = scan(central, radio)
        await clock.run(for: .seconds(182))
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        let off = Task(executorPreference: radio.taskExecutor) {
            try await central.setPowered(false, adapter: "hci1")
        }
        await clock.run(for: .seconds(300))
        try await off.value
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        try await central.setPowered(true, adapter: "hci1")
        await clock.run(for: .seconds(1))
        #expect(await central.radios.map(\.isScanning) == [true, true])
        scan.cancel()
        await central.shutDown()
    }

    @Test func `radios that go and come are told, and a scan for some services watches none`() async throws {
        let (central, radio, clock, _) = try await world()
        let told = await record(central)
        let scan = Task(executorPreference: radio.taskExecutor) {
            let events = central.discoveryEvents(matching: .service(BluetoothUUID(0x180F)), staleAfter: nil)
            for try await _ in events {}
        }
        await clock.run(for: .seconds(300))
        #expect(told.value == [])
        await radio.setPowered(false, adapter: "hci1")
        try await told.until { $0 == ["hci1 poweredOff"] }
        #expect(await central.radios.map(\.state) == [.poweredOn, .poweredOff])
        await radio.setPowered(true, adapter: "hci1")
        try await told.until { $0 == ["hci1 poweredOff", "hci1 appeared"] }
        scan.cancel()
        await central.shutDown()
    }

    @Test func `the events of radios end with the central, and at once for one radio`() async throws {
        let (central, radio, clock, _) = try await world()
        var events = await central.radioEvents().makeAsyncIterator()
        await central.shutDown()
        await #expect(throws: BLEError.self) { _ = try await events.next() }
        let one = try await Central(
            radios: [.simulated(radio, adapter: "hci0")], configuration: .quiet(clock: clock))
        var none = await one.radioEvents().makeAsyncIterator()
        #expect(try await none.next() == nil)
        #expect(await one.radios.isEmpty)
        await one.shutDown()
    }
}

/// A simulated adapter that cannot be powered on the first times.
private actor StubbornBackend: CentralBackend {
    private let base: SimulatedBackend
    private var failures: Int

    nonisolated var unownedExecutor: UnownedSerialExecutor { base.unownedExecutor }
    nonisolated var clock: any Clock<Duration> { base.clock }
    nonisolated var taskExecutor: (any TaskExecutor)? { base.taskExecutor }
    nonisolated var isCurrent: Bool { base.isCurrent }

    init(_ base: SimulatedBackend, failures: Int) { (self.base, self.failures) = (base, failures) }

    func setPowered(_ isPowered: Bool, adapter: String?) async throws(BLEError) {
        if isPowered, failures > 0 {
            failures -= 1
            throw BLEError(.failed, "not now")
        }
        try await base.setPowered(isPowered, adapter: adapter)
    }

    func start(_ context: CentralContext) async throws(BLEError) { try await base.start(context) }
    func shutDown() async { await base.shutDown() }
    func adapterState() -> AdapterState { base.assumeIsolated { $0.adapterState() } }
    func adapters() async throws(BLEError) -> [Adapter] { try await base.adapters() }
    func knownPeripherals() -> [KnownPeripheral] { base.assumeIsolated { $0.knownPeripherals() } }
    func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) { try await base.startDiscovery(filter) }
    func stopDiscovery() async throws(BLEError) { try await base.stopDiscovery() }
    func connect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await base.connect(peripheral) }
    func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) { try await base.disconnect(peripheral) }
    func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        try await base.discoverServices(peripheral)
    }
    func start(
        _ operation: AttributeOperation, on attribute: AttributeID,
        completion: @escaping @Sendable (Result<[UInt8], BLEError>) -> Void
    ) -> @Sendable () -> Void {
        base.assumeIsolated { $0.start(operation, on: attribute, completion: completion) }
    }
    func startNotifications(
        of characteristic: AttributeID, deliver: @escaping @Sendable ([UInt8]) -> Void
    ) async throws(BLEError) { try await base.startNotifications(of: characteristic, deliver: deliver) }
    func stopNotifications(of characteristic: AttributeID) async throws(BLEError) {
        try await base.stopNotifications(of: characteristic)
    }
}
