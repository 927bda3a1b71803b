import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

@testable import BLEBlueZ

/// The facts that the doctor reads from a bus.
@Suite(.startsProcesses, .hangLimit)
struct BusExaminationTests {
    private let world: BlueZWorld
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws { world = try await BlueZWorld() }

    private func facts(scans: Bool = true, clock: any Clock<Duration> = ContinuousClock()) async -> DoctorFacts {
        await Doctor.facts(
            .address(world.bus.address), scans: scans, SystemFiles(root: "/nonexistent"),
            BusExamination(timeout: HangLimit.step, clock: clock))
    }

    @Test func `a healthy daemon is seen as it is`() async throws {
        let facts = await facts()
        #expect(facts.bus == .reachable)
        #expect(facts.daemon == .answers)
        let adapter = try #require(facts.adapters.first)
        #expect(facts.adapters.count == 1)
        #expect(adapter.id == "hci0")
        #expect(adapter.version == BlueZVersion(5, 66))
        #expect(adapter.isPowered)
        #expect(!adapter.isDiscovering)
        #expect(adapter.isExperimental == false)
        #expect(adapter.interfaces.isSuperset(of: [BlueZ.gattManager, BlueZ.advertisingManager]))
        #expect(adapter.freeAdvertisements == 5)
        #expect(adapter.scan == .starts(after: .zero))
        #expect(adapter.links == [])
        #expect(await daemon.isDiscovering == false)
        #expect(Doctor.findings(facts).contains { $0.level == .problem } == false)
    }

    @Test func `a scan is only tried where it is wanted and possible`() async throws {
        #expect(await facts(scans: false).adapters.first?.scan == .notTried)
        await daemon.setPowered(false)
        let adapter = try #require(await facts().adapters.first)
        #expect(!adapter.isPowered)
        #expect(adapter.scan == .notTried)
        #expect(await daemon.calls["StartDiscovery"] == nil)
    }

    @Test func `links and other programs' scans are seen`() async throws {
        let strap = await world.radio.add(.heartRateStrap(name: "Strap"))
        let central = try await world.makeCentral()
        for try await found in central.discoveryEvents(staleAfter: nil) {
            guard case .found(let discovery) = found else { continue }
            try await discovery.peripheral.connect()
            let adapter = try #require(await facts().adapters.first)
            #expect(adapter.isDiscovering)
            #expect(adapter.scan == .starts(after: .zero))
            #expect(adapter.links == [AdapterFacts.Link(address: strap.id.rawValue, name: "Strap")])
            break
        }
        await central.shutDown()
    }

    @Test func `a scan that is busy is tried again for a while`() async throws {
        let clock = ManualClock()
        await daemon.fail("StartDiscovery", .bluez("InProgress", "Operation already in progress"))
        async let examined = facts(clock: clock)
        await clock.sleepers(1)
        clock.advance(by: .seconds(1))
        #expect(await examined.adapters.first?.scan == .starts(after: .seconds(1)))
    }

    @Test func `a scan that stays busy is stuck`() async throws {
        let clock = ManualClock()
        async let examined = facts(clock: clock)
        for _ in 0..<12 {
            await daemon.fail("StartDiscovery", .bluez("InProgress", "Operation already in progress"))
            await clock.sleepers(1)
            await daemon.fail("StartDiscovery", .bluez("InProgress", "Operation already in progress"))
            clock.advance(by: .seconds(1))
        }
        #expect(await examined.adapters.first?.scan == .busy(for: .seconds(12)))
    }

    @Test func `a scan that fails says how`() async throws {
        await daemon.fail("StartDiscovery", .bluez("Failed", "Input/output error"))
        #expect(await facts().adapters.first?.scan == .fails("org.bluez.Error.Failed: Input/output error"))
    }

    @Test func `a daemon that is gone, refuses or fails is distinguished`() async throws {
        await daemon.fail("GetManagedObjects", .bus("AccessDenied", "no"))
        #expect(await facts().daemon == .refused)
        await daemon.fail("GetManagedObjects", .bus("Failed", "broken"))
        #expect(await facts().daemon == .silent("broken"))
        await daemon.kill()
        #expect(await facts().daemon == .absent)
        world.bus.stop()
        guard case .unreachable = await facts().bus else {
            Issue.record("a bus that is gone is there")
            return
        }
    }
}
