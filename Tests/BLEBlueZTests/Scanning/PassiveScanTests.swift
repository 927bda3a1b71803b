import BLE
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

@testable import BLEBlueZ

/// Passive scans, with a daemon that offers them and with one that does not.
@Suite(.startsProcesses, .hangLimit)
struct PassiveScanTests {
    private let world: BlueZWorld
    private var daemon: FakeBlueZ { world.daemon }

    init() async throws {
        world = try await BlueZWorld()
        _ = await world.radio.add(beacon("Near", 0x004C))
        _ = await world.radio.add(beacon("Other", 0x0059))
    }

    private func beacon(_ name: String, _ company: UInt16) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(localName: name, rssi: -50, manufacturerData: [company: [1]]),
            advertisingInterval: .milliseconds(20), services: [])
    }

    private func withCentral(_ check: (Central) async throws -> Void) async throws {
        let central = try await world.makeCentral()
        do {
            try await check(central)
            await central.shutDown()
        } catch {
            await central.shutDown()
            throw error
        }
    }

    /// The names of the first discoveries, as many as given.
    private func names(_ central: Central, _ criteria: DiscoveryCriteria, _ count: Int) async throws -> Set<String> {
        var names: Set<String> = []
        for try await found in central.discoveries(matching: criteria) {
            names.insert(found.advertisement.localName ?? "")
            if names.count == count { break }
        }
        return names
    }

    @Test func `a passive scan hears without a discovery session, and ends with its loop`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            let names = try await names(central, .passive, 2)
            #expect(names == ["Near", "Other"])
            #expect(await daemon.calls["StartDiscovery"] == nil)
            await until { await daemon.calls["UnregisterMonitor"] != nil }
        }
    }

    @Test func `of the discovered peripherals, the company's are reported`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            let names = try await names(central, .manufacturer(0x0059) && .passive, 1)
            #expect(names == ["Other"])
        }
    }

    @Test func `every advertisement is a sign of life`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            var count = 0
            for try await event in central.discoveryEvents(
                matching: .name("Near") && .passive, duplicates: true, staleAfter: HangLimit.step)
            {
                if case .lost = event { Issue.record("a peripheral that advertises is lost") }
                count += 1
                if count == 20 { break }
            }
        }
    }

    @Test func `an active scan takes over while it lasts`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            var passive = central.discoveryEvents(matching: .passive, duplicates: true).makeAsyncIterator()
            _ = try await passive.next()
            #expect(await daemon.isDiscovering == false)
            _ = try await names(central, .any, 2)
            #expect(await daemon.calls["StartDiscovery"] == 1)
            await until { await !daemon.isDiscovering }
            _ = try await passive.next()
            await until { await daemon.calls["RegisterMonitor"] == 2 }
        }
    }

    @Test func `a daemon without it is a clear error`() async throws {
        try await withCentral { central in
            let error = await #expect(throws: BLEError.self) { _ = try await names(central, .passive, 1) }
            #expect(error?.code == .notSupported)
            #expect(error?.remedy?.contains("--experimental") == true)
            _ = try await names(central, .any, 1)
        }
    }

    @Test func `a monitor that is released at once is an error, though it was registered`() async throws {
        await daemon.offerMonitors(refusing: true)
        try await withCentral { central in
            let error = await #expect(throws: BLEError.self) { _ = try await names(central, .passive, 1) }
            #expect(error?.code == .notSupported)
            #expect(error?.remedy == "Scan actively.")
            #expect(await daemon.calls["RegisterMonitor"] == 1)
        }
    }

    @Test func `a scan that is released later ends with an error`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            var events = central.discoveryEvents(matching: .passive, duplicates: true).makeAsyncIterator()
            _ = try await events.next()
            let release = Task { await daemon.releaseMonitors() }
            let error = await #expect(throws: BLEError.self) { while try await events.next() != nil {} }
            #expect(error?.code == .notSupported)
            await release.value
        }
    }

    @Test func `a passive scan goes on when the adapter is on again`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            var events = central.discoveryEvents(matching: .passive, duplicates: true).makeAsyncIterator()
            _ = try await events.next()
            try await central.setPowered(false)
            await until { await daemon.calls["UnregisterMonitor"] != nil }
            try await central.setPowered(true)
            await until { await daemon.calls["RegisterMonitor"] == 2 }
            _ = try await events.next()
        }
    }

    @Test func `a passive scan comes back with bluetoothd`() async throws {
        await daemon.offerMonitors()
        try await withCentral { central in
            var events = central.discoveryEvents(matching: .passive, duplicates: true).makeAsyncIterator()
            _ = try await events.next()
            await daemon.kill()
            try await daemon.start()
            while try await events.next() != nil {
                if await daemon.calls["RegisterMonitor"] == 2 { break }
            }
        }
    }

    // MARK: Patterns

    @Test(arguments: [Set<UInt16>(), [0x004C, 0x0059], Set(0...100)])
    func `patterns are flags, and the companies that are looked for`(_ companies: Set<UInt16>) {
        let monitors = AdvertisementPattern.monitors(for: DiscoveryFilter(manufacturers: companies, isPassive: true))
        #expect(monitors.allSatisfy { (1...7).contains($0.count) })
        let all = monitors.flatMap(\.self)
        #expect(Set(all).count == all.count)
        #expect(all.count { $0.type == 1 && $0.bytes.count == 1 } == 16)
        #expect(all.count { $0.type == 0xFF } == min(companies.count, 14))
        #expect(all.contains(AdvertisementPattern(type: 0xFF, bytes: [0x4C, 0x00])) == (companies.count == 2))
    }
}
