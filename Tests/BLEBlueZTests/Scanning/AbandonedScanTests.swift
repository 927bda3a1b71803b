import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BlueZTestSupport
import Logging
import Testing
import Waiting

@testable import BLEBlueZ

/// Scans that a central leaves behind at its shutdown, on a connection that another central uses.
@Suite(.startsProcesses, .hangLimit)
struct AbandonedScanTests {
    private let world: BlueZWorld
    private let battery: SimulatedPeripheral
    private let stack: BlueZStack
    private let clock = ManualClock()
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws {
        world = try await BlueZWorld()
        battery = await world.radio.add(.battery())
        stack = world.makeStack()
    }

    /// Runs a body while another role keeps the connection open.
    private func withHost(_ body: () async throws -> Void) async throws {
        let host = try await stack.join(
            BlueZStack.Role(kind: .peripheral, logger: Logger(label: "test"), clock: ContinuousClock()) { _ in })
        do {
            try await body()
        } catch {
            await stack.leave(host)
            throw error
        }
        await stack.leave(host)
    }

    private func makeCentral(
        _ clock: any Clock<Duration> = ContinuousClock(), _ stack: BlueZStack? = nil
    ) async throws -> (central: Central, backend: BlueZCentral) {
        let backend = BlueZCentral(stack ?? self.stack)
        return (try await Central(backend: backend, configuration: .quiet(clock: clock)), backend)
    }

    /// Starts a scan, of which bluetoothd carries a call out, but does not answer it.
    private func start(
        _ backend: BlueZCentral, _ filter: DiscoveryFilter = DiscoveryFilter(),
        hangsAfter call: String = "StartDiscovery"
    ) async -> Task<Void, any Error> {
        await daemon.hang("after \(call)")
        let start = Task { try await backend.startDiscovery(filter) }
        await daemon.untilHung()
        return start
    }

    /// Shuts a central down that gives up the wait for the end of its scan.
    private func abandon(_ central: Central) async {
        let shutdown = Task { await central.shutDown() }
        await clock.sleepers(1, for: BlueZCentral.leaving)
        clock.advance(by: BlueZCentral.leaving)
        await shutdown.value
    }

    private func hear(_ strengths: [Int], _ central: Central, _ criteria: DiscoveryCriteria = .any) async throws {
        var events = central.discoveryEvents(
            matching: .id(battery.id) && criteria, duplicates: true, staleAfter: nil
        ).makeAsyncIterator()
        _ = try await events.advertisement()
        for strength in strengths {
            var advertisement = PeripheralDefinition.battery().advertisement
            advertisement.rssi = strength
            await battery.setAdvertisement(advertisement)
            while try await events.advertisement().rssi != strength {}
        }
    }

    @Test func `a first start that is answered after the shutdown does not end the next central's scan`() async throws {
        try await withHost {
            let (former, backend) = try await makeCentral(clock)
            let start = await start(backend)
            #expect(await daemon.isDiscovering)
            await abandon(former)
            await expectError(.shutDown) { try await start.value }
            #expect(await daemon.isDiscovering)
            await daemon.stopHanging()
            let (central, next) = try await makeCentral()
            let scan = Task { try await next.startDiscovery(DiscoveryFilter()) }
            await until { await next.scan.changeCount == 1 }
            await daemon.release()
            try await scan.value
            #expect(await daemon.isDiscovering)
            #expect(await daemon.calls["StopDiscovery"] == nil)
            try await hear([-51, -52], central)
            await central.shutDown()
            await until { await !daemon.isDiscovering }
        }
    }

    // MARK: The program's own connection

    @Test func `on the program's own connection, a start that is answered after the shutdown is ended`() async throws {
        let own = BlueZStack(adapter: nil, address: world.bus.address(over: .existing))
        let (former, backend) = try await makeCentral(clock, own)
        let start = await start(backend)
        await abandon(former)
        await expectError(.shutDown) { try await start.value }
        #expect(await daemon.isDiscovering)
        await daemon.stopHanging()
        await daemon.release()
        await until { await !daemon.isDiscovering }
        let (central, _) = try await makeCentral(ContinuousClock(), own)
        try await hear([-51, -52], central)
        await central.shutDown()
        #expect(await !daemon.isDiscovering)
    }

    @Test func `on the program's own connection, the scan of a central that is released ends`() async throws {
        let own = BlueZStack(adapter: nil, address: world.bus.address(over: .existing))
        func scan(_ strength: Int) async throws {
            let (central, _) = try await makeCentral(ContinuousClock(), own)
            try await hear([strength], central)
            #expect(await daemon.isDiscovering)
        }
        for strength in [-51, -52] {
            try await scan(strength)
            await until { await !daemon.isDiscovering }
            await until { await !own.isWanted }
        }
    }

    // MARK: Refusals

    @Test func `a start that is refused is not repeated after the shutdown`() async throws {
        try await withHost {
            let (former, backend) = try await makeCentral(clock)
            try await daemon.refuse("StartDiscovery", with: "org.bluez.Error.InProgress", "", count: 100)
            let start = Task { try await backend.startDiscovery(DiscoveryFilter()) }
            await until { await daemon.calls["StartDiscovery"] ?? 0 > 0 }
            let shutdown = Task { await former.shutDown() }
            await expectError(.shutDown) { try await start.value }
            await shutdown.value
            try await stack.discoveryEnd().wait()
            let starts = await daemon.calls["StartDiscovery"]
            #expect(await stack.discovery.isAtRest)
            #expect(await daemon.calls["StopDiscovery"] ?? 0 > 0)
            #expect(await daemon.calls["StartDiscovery"] == starts)
        }
    }

    @Test func `a start that is given up serves the next one`() async throws {
        let (central, backend) = try await makeCentral()
        let start = await start(backend)
        start.cancel()
        await expectError(.cancelled) { try await start.value }
        #expect(await daemon.isDiscovering)
        await daemon.stopHanging()
        let next = Task { try await backend.startDiscovery(DiscoveryFilter(transport: .any)) }
        await until { await backend.scan.changeCount == 1 }
        await daemon.release()
        try await next.value
        #expect(await daemon.calls["StartDiscovery"] == 1)
        #expect(await daemon.calls["SetDiscoveryFilter"] == 2)
        #expect(await daemon.isDiscovering)
        await central.shutDown()
    }

    @Test func `a start that is given up, and no other, leaves no session`() async throws {
        let (central, backend) = try await makeCentral()
        let start = await start(backend)
        start.cancel()
        await expectError(.cancelled) { try await start.value }
        await daemon.release()
        await until { await !daemon.isDiscovering }
        await central.shutDown()
    }

    @Test func `a passive start that is given up leaves no monitor`() async throws {
        await daemon.offerMonitors()
        let (central, backend) = try await makeCentral()
        let start = await start(backend, DiscoveryFilter(isPassive: true), hangsAfter: "RegisterMonitor")
        start.cancel()
        await expectError(.cancelled) { try await start.value }
        await until { await daemon.calls["UnregisterMonitor"] == 1 }
        await daemon.release()
        #expect(await !backend.isListening)
        await central.shutDown()
    }

    @Test func `a passive change that hangs leaves no monitor behind, and the next central's alone`() async throws {
        await daemon.offerMonitors()
        try await withHost {
            let (former, backend) = try await makeCentral(clock)
            try await backend.startDiscovery(DiscoveryFilter(isPassive: true))
            let filter = DiscoveryFilter(services: [BluetoothUUID(0x180F)], isPassive: true)
            let change = await start(backend, filter, hangsAfter: "RegisterMonitor")
            await former.shutDown()
            await until { await daemon.calls["UnregisterMonitor"] == 2 }
            await daemon.stopHanging()
            let (central, next) = try await makeCentral()
            let scan = Task { try await next.startDiscovery(DiscoveryFilter(isPassive: true)) }
            await until { await next.scan.changeCount == 1 }
            await daemon.release()
            await expectError(.shutDown) { try await change.value }
            try await scan.value
            // The monitor that is left is that of the next central.
            #expect(await daemon.calls["UnregisterMonitor"] == 2)
            #expect(await next.isListening)
            try await hear([-30, -40], central, .passive)
            await central.shutDown()
            await until { await daemon.calls["UnregisterMonitor"] == daemon.calls["RegisterMonitor"] }
        }
    }

    @Test func `a passive change that fails leaves the earlier scan, and each is unregistered once`() async throws {
        await daemon.offerMonitors()
        try await withHost {
            let (central, backend) = try await makeCentral()
            try await backend.startDiscovery(DiscoveryFilter(isPassive: true))
            try await daemon.refuse("RegisterMonitor", with: "org.bluez.Error.Failed", "")
            let filter = DiscoveryFilter(services: [BluetoothUUID(0x180F)], isPassive: true)
            await #expect(throws: BLEError.self) { try await backend.startDiscovery(filter) }
            #expect(await backend.isListening)
            let unregistered = await daemon.calls["UnregisterMonitor"] ?? 0
            try await hear([-30, -40], central, .passive)
            await central.shutDown()
            await until { await daemon.calls["UnregisterMonitor"] ?? 0 > unregistered }
        }
    }
}
