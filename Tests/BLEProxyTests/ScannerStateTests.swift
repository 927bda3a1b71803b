import BLE
import BLEESPHome
import BLESimulation
import BLETestSupport
import BLETesting
import Loop
import Testing

/// What a central makes of a proxy's words about its scanner and its slots, in virtual time.
@Suite(.hangLimit)
struct ScannerStateTests {
    private let clock = ManualClock()
    private let proxy: RawProxy
    private let central: Central

    init() async throws {
        let (here, there) = try StreamSocket.pair()
        proxy = RawProxy(there, features: [.connections, .rawAdvertisements, .scannerState])
        let radio = Radio.esphome(name: "attic", key: nil) { (_) throws(LoopError) in here }
        central = try await Central(severalRadios: [radio], configuration: .quiet(clock: clock))
    }

    private func send(_ state: ScannerState) {
        proxy.send(.scannerState(state, mode: .active, configured: .active))
    }

    private func hear() {
        // Flags.
        let raw = RawAdvertisement(address: 0xF0F1_F2F3_F4F5, rssi: -50, addressType: 1, data: [2, 1, 6])
        proxy.send(.advertisements([raw]))
    }

    /// The events of a scan, as text, as they arrive.
    private func scan() -> (task: Task<Void, any Error>, events: SharedValue<[String]>) {
        let events = SharedValue<[String]>([])
        let task = Task { [central] in
            for try await event in central.discoveryEvents(staleAfter: nil) {
                switch event {
                case .found: events.change { $0.append("found") }
                case .waiting(let error): events.change { $0.append("\(error.code)") }
                case .updated, .lost: break
                }
            }
        }
        return (task, events)
    }

    /// Lets 10 s pass once the session waits for that.
    private func passTenSeconds() async {
        await clock.sleepers(for: .seconds(10))
        clock.advance(by: .seconds(10))
    }

    /// Lets the second pass after which a scanner counts as running again.
    private func passProof() async {
        await clock.sleepers(for: .seconds(1))
        clock.advance(by: .seconds(1))
    }

    private func subscriptions(_ count: Int) async throws {
        try await proxy.received.until { $0.filter { $0 == .subscribeAdvertisements(flags: 1) }.count == count }
    }

    @Test func `a scan of a proxy that another client uses says so, and goes on when it is free`() async throws {
        let (task, events) = scan()
        try await subscriptions(1)
        await passTenSeconds()
        try await events.until { $0 == ["busy"] }
        #expect(await !central.isScanning)
        #expect(await central.radios.map(\.isScanning) == [false])
        #expect(await central.radios.first?.scanObstacle?.code == .busy)
        #expect(try await central.adapters().map(\.isDiscovering) == [false])
        // A scan that begins now is told as well, and one that must find something says what it has waited for.
        let (other, othersEvents) = scan()
        try await othersEvents.until { $0 == ["busy"] }
        try await subscriptions(2)
        send(.running)
        hear()
        try await events.until { $0 == ["busy", "found"] }
        try await othersEvents.until { $0 == ["busy", "found"] }
        await passProof()
        await until { await central.isScanning }
        #expect(await central.radios.map(\.isScanning) == [true])
        for task in [task, other] { task.cancel() }
        await central.shutDown()
    }

    @Test func `a scanner that fails is told and started again`() async throws {
        let told = SharedValue<[String]>([])
        let radioEvents = await central.radioEvents()
        let telling = Task {
            for try await event in radioEvents {
                switch event {
                case .scanFailed(let radio, let error): told.change { $0.append("\(radio) \(error.code)") }
                case .healed(let radio): told.change { $0.append("\(radio) healed") }
                default: break
                }
            }
        }
        let (task, events) = scan()
        try await subscriptions(1)
        send(.running)
        hear()
        try await events.until { $0 == ["found"] }
        send(.failed)
        try await events.until { $0 == ["found", "failed"] }
        #expect(await !central.isScanning)
        for _ in 0..<3 { await passTenSeconds() }
        try await subscriptions(2)
        let modes = proxy.received.value.filter { $0 == .setScannerMode(.active) }
        #expect(modes.count == 2)
        send(.running)
        await passProof()
        try await told.until { $0 == ["attic failed", "attic healed"] }
        await until { await central.isScanning }
        for task in [task, telling] { task.cancel() }
        await central.shutDown()
    }

    @Test func `the mode of the scan is the proxy's`() async throws {
        let passive = Task { [central] in
            for try await _ in central.discoveryEvents(matching: .passive, staleAfter: nil) {}
        }
        try await proxy.received.until { $0.contains(.setScannerMode(.passive)) }
        try await subscriptions(1)
        proxy.send(.scannerState(.running, mode: .passive, configured: .passive))
        let active = Task { [central] in for try await _ in central.discoveryEvents(staleAfter: nil) {} }
        try await proxy.received.until { $0.contains(.setScannerMode(.active)) }
        for task in [passive, active] { task.cancel() }
        try await proxy.received.until { $0.contains(.unsubscribeAdvertisements) }
        await central.shutDown()
    }

    @Test func `a slot is free when the proxy says so, and not before`() async throws {
        let slots = SharedValue<[Int?]>([])
        let radioEvents = await central.radioEvents()
        let telling = Task {
            for try await event in radioEvents {
                if case .slotsChanged(_, let free) = event { slots.change { $0.append(free) } }
            }
        }
        let address: UInt64 = 0xF0F1_F2F3_F4F5
        func allocated(_ addresses: [UInt64]) {
            proxy.send(.slots(ProxySlots(free: UInt32(3 - addresses.count), limit: 3, allocated: addresses)))
        }
        let (task, events) = scan()
        try await subscriptions(1)
        send(.running)
        hear()
        try await events.until { $0 == ["found"] }
        allocated([1, 2])
        try await slots.until { $0 == [1] }
        let strap = central.peripheral("F0:F1:F2:F3:F4:F5")
        let attempt = Task { try await strap.connect(timeout: .seconds(600)) }
        try await slots.until { $0 == [1, 0] }
        allocated([1, 2, address])
        proxy.send(.connection(address: address, isConnected: false, mtu: 0, error: 0x3E))
        await expectError(.connectionFailed) { try await attempt.value }
        #expect(await central.radios.first?.freeSlots == 0)
        #expect(await strap.radioPaths.first?.obstacle == .noSlot)
        await expectError(.busy) { try await strap.connect(timeout: .seconds(600)) }
        allocated([1, 2])
        try await slots.until { $0 == [1, 0, 1] }
        #expect(await strap.radioPaths.first?.obstacle == nil)
        for task in [task, telling] { task.cancel() }
        await central.shutDown()
    }
}
