import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralDiscoveryTests {
    typealias Events = DiscoveryEvents.Iterator

    let bench: Bench
    var strap: Peripheral { bench.strap }
    let advertisement = Advertisement(localName: "Strap", rssi: -50, serviceUUIDs: [Bench.battery])

    init() async throws { bench = try await Bench() }

    /// Reports an advertisement of a peripheral, as from the radio.
    func hear(_ peripheral: Peripheral, _ advertisement: Advertisement) async {
        await bench.backend.emit(.advertisementReceived(peripheral.id, advertisement))
    }

    /// A task that reads the next event of a peripheral. When this returns, the backend has been asked for the scan.
    func scanning(
        _ criteria: DiscoveryCriteria = .any, asked count: Int = 1
    ) async -> Task<DiscoveryEvent?, any Error> {
        let task = Task { [bench] in
            var events = bench.central.discoveryEvents(matching: criteria).makeAsyncIterator()
            var event = try await events.next()
            while case .waiting? = event { event = try await events.next() }
            return event
        }
        await bench.backend.asked(.startDiscovery, count)
        return task
    }

    func found(_ event: DiscoveryEvent?) -> Peripheral? {
        if case .found(let discovery) = event { discovery.peripheral } else { nil }
    }

    func updated(_ event: DiscoveryEvent?) -> Discovery? {
        if case .updated(let discovery) = event { discovery } else { nil }
    }

    func lost(_ event: DiscoveryEvent?) -> Peripheral? {
        if case .lost(let peripheral) = event { peripheral } else { nil }
    }

    // MARK: Sharing

    @Test func `a scan starts when it is read and stops when it is left`() async throws {
        let scan = bench.central.discoveries(matching: .service(Bench.battery))
        #expect(await bench.backend.calls == [.start])
        let reader = Task {
            for try await discovery in scan { return discovery.peripheral as Peripheral? }
            return nil
        }
        await bench.backend.asked(.startDiscovery)
        await hear(strap, advertisement)
        #expect(try await reader.value == strap)
        await bench.backend.asked(.stopDiscovery)
        #expect(
            await bench.backend.calls
                == [.start, .startDiscovery(DiscoveryFilter(services: [Bench.battery])), .stopDiscovery])
    }

    @Test func `scans are united, narrowed again, and stopped after the last`() async throws {
        let first = await scanning(.service(Bench.battery))
        let second = await scanning(.service(Bench.vendor), asked: 2)
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        await bench.backend.asked(.startDiscovery, 3)
        #expect(await bench.backend.count(.stopDiscovery) == 0)
        second.cancel()
        await expectError(.cancelled) { try await second.value }
        await bench.backend.asked(.stopDiscovery)
        #expect(
            await bench.backend.calls(.startDiscovery, .stopDiscovery) == [
                .startDiscovery(DiscoveryFilter(services: [Bench.battery], tolerance: .milliseconds(5))),
                .startDiscovery(
                    DiscoveryFilter(services: [Bench.battery, Bench.vendor], tolerance: .milliseconds(5))),
                .startDiscovery(DiscoveryFilter(services: [Bench.vendor], tolerance: .milliseconds(5))),
                .stopDiscovery,
            ])
    }

    @Test func `scans that want the same share one start`() async throws {
        let first = await scanning()
        let second = await scanning()
        await bench.clock.sleepers(2)  // Both check for silent peripherals.
        await hear(strap, advertisement)
        #expect(try await found(first.value) == strap)
        await until {
            await hear(strap, advertisement)
            return await bench.backend.count(.stopDiscovery) == 1
        }
        #expect(try await found(second.value) == strap)
        #expect(
            await bench.backend.calls(.startDiscovery)
                == [.startDiscovery(DiscoveryFilter(tolerance: .milliseconds(5)))])
    }

    @Test func `the scan that tolerates least decides for all`() async throws {
        let patient = Task { [central = bench.central] in
            for try await _ in central.discoveryEvents(staleAfter: nil, tolerance: .milliseconds(100)) {}
        }
        await bench.backend.asked(.startDiscovery, 1)
        let hasty = Task { [central = bench.central] in for try await _ in central.discoveries() {} }
        await bench.backend.asked(.startDiscovery, 2)
        hasty.cancel()
        await bench.backend.asked(.startDiscovery, 3)
        patient.cancel()
        await bench.backend.asked(.stopDiscovery)
        #expect(
            await bench.backend.calls(.startDiscovery)
                == [.milliseconds(100), .zero, .milliseconds(100)].map {
                    .startDiscovery(DiscoveryFilter(tolerance: $0))
                })
    }

    @Test func `each scan hears what meets its own criteria`() async throws {
        let vendor = await scanning(.service(Bench.vendor))
        let strong = await scanning(DiscoveryCriteria(minimumRSSI: -60), asked: 2)
        await hear(bench.lamp, Advertisement(rssi: -90, serviceUUIDs: [Bench.vendor]))
        await hear(strap, advertisement)
        #expect(try await found(vendor.value) == bench.lamp)
        #expect(try await found(strong.value) == strap)
    }

    // MARK: Events

    @Test func `a peripheral is found once, then updated when it says something new`() async throws {
        let reader = Task { [bench] in
            var events: Events = bench.central.discoveryEvents().makeAsyncIterator()
            return [try await events.next(), try await events.next(), try await events.next()]
        }
        await bench.backend.asked(.startDiscovery)
        await hear(strap, advertisement)
        await hear(strap, advertisement)
        var stronger = advertisement
        stronger.rssi = -30
        await hear(strap, stronger)
        var renamed = stronger
        renamed.localName = "Belt"
        await hear(strap, renamed)
        await hear(bench.lamp, advertisement)
        let events = try await reader.value
        #expect(found(events[0]) == strap)
        #expect(updated(events[1])?.advertisement == renamed)
        #expect(found(events[2]) == bench.lamp)
    }

    @Test func `with duplicates, every advertisement is reported`() async throws {
        let reader = Task { [bench] in
            var events: Events = bench.central.discoveryEvents(duplicates: true).makeAsyncIterator()
            return [try await events.next(), try await events.next()]
        }
        await bench.backend.asked(.startDiscovery)
        await hear(strap, advertisement)
        await hear(strap, advertisement)
        let events = try await reader.value
        #expect(found(events[0]) == strap)
        #expect(updated(events[1])?.advertisement == advertisement)
    }

    /// The events after the first one, of a scan that has found the strap and checks for silent peripherals.
    func watching(staleAfter: Duration = .seconds(8)) async throws -> Events {
        var events = bench.central.discoveryEvents(staleAfter: staleAfter).makeAsyncIterator()
        let radio = Task {
            await bench.backend.asked(.startDiscovery)
            await hear(strap, advertisement)
        }
        #expect(try await found(events.next()) == strap)
        await radio.value
        await bench.clock.sleepers(1)
        return events
    }

    @Test func `a silent peripheral is lost`() async throws {
        var events = try await watching()
        bench.clock.advance(by: .seconds(8))
        #expect(try await lost(events.next()) == strap)
        await hear(strap, advertisement)
        #expect(try await found(events.next()) == strap)
    }

    @Test func `a peripheral that goes on saying the same is not lost`() async throws {
        var events = try await watching()
        for _ in 0..<2 {
            bench.clock.advance(by: .seconds(7))
            await bench.clock.sleepers(1)
            await hear(strap, advertisement)
        }
        await hear(bench.lamp, advertisement)
        #expect(try await found(events.next()) == bench.lamp)
    }
}
