import BLETestSupport
import Testing
import Waiting

@testable import BLE

@Suite struct ScanningTests {
    private static let heartRate = BluetoothUUID(0x180D)
    private static let battery = BluetoothUUID(0x180F)

    @Test(
        arguments: [
            ([], nil),
            ([.any], DiscoveryFilter()),
            ([.service(heartRate)], DiscoveryFilter(services: [heartRate])),
            ([.service(heartRate), .service(battery)], DiscoveryFilter(services: [heartRate, battery])),
            ([.service(heartRate), .service(heartRate)], DiscoveryFilter(services: [heartRate])),
            ([.service(heartRate), .any], DiscoveryFilter()),
            ([DiscoveryCriteria(minimumRSSI: -60)], DiscoveryFilter(minimumRSSI: -60)),
            (
                [DiscoveryCriteria(minimumRSSI: -60), DiscoveryCriteria(minimumRSSI: -80)],
                DiscoveryFilter(minimumRSSI: -80)
            ),
            ([DiscoveryCriteria(minimumRSSI: -60), .any], DiscoveryFilter()),
            (
                [DiscoveryCriteria(services: [heartRate], minimumRSSI: -60), .service(battery)],
                DiscoveryFilter(services: [heartRate, battery])
            ),
            (
                [DiscoveryCriteria(services: [heartRate], minimumRSSI: -60), DiscoveryCriteria(minimumRSSI: -70)],
                DiscoveryFilter(minimumRSSI: -70)
            ),
            // The filter has the narrowest of several service conditions.
            (
                [.service(heartRate) && DiscoveryCriteria(services: [heartRate, battery]) && .rssi(atLeast: -60)],
                DiscoveryFilter(services: [heartRate], minimumRSSI: -60)
            ),
            ([.rssi(atLeast: -60) && .rssi(-90...(-50))], DiscoveryFilter(minimumRSSI: -60)),
            ([.serviceData(battery), .service(battery)], DiscoveryFilter()),
            (
                [.name("x") && .service(battery), .manufacturer(1) && .service(battery)],
                DiscoveryFilter(services: [battery])
            ),
            ([.transport(.classic)], DiscoveryFilter(transport: .classic)),
            ([.transport(.classic) && .transport(.any)], DiscoveryFilter(transport: .classic)),
            ([.transport(.classic), .any], DiscoveryFilter(transport: .any)),
            ([.transport(.any), .transport(.any)], DiscoveryFilter(transport: .any)),
            // The filter is passive only if all scans are.
            ([.passive], DiscoveryFilter(isPassive: true)),
            ([.passive, .any], DiscoveryFilter()),
            ([.passive && .transport(.any)], DiscoveryFilter(transport: .any)),
            (
                [.passive && .manufacturer(1), .passive && .manufacturer(2, [3])],
                DiscoveryFilter(manufacturers: [1, 2], isPassive: true)
            ),
            ([.passive && .manufacturer(1), .passive], DiscoveryFilter(isPassive: true)),
            ([.manufacturer(1)], DiscoveryFilter()),
        ] as [([DiscoveryCriteria], DiscoveryFilter?)])
    func `the backend's filter serves all scans`(_ scans: [DiscoveryCriteria], _ filter: DiscoveryFilter?) {
        var scanning = Scanning()
        for (token, criteria) in scans.enumerated() {
            let tracker = DiscoveryTracker(criteria: criteria, duplicates: false, staleAfter: nil)
            let (_, producer) = BoundedStream.make(of: DiscoveryEvent.self, policy: .dropOldest(capacity: 1))
            scanning.add(Scanning.Scan(tracker, Scanning.Sink(producer)), token)
        }
        #expect(scanning.wanted == filter)
    }

    @Test(
        arguments: [
            (nil, false, .seconds(30)), (.seconds(8), false, .seconds(2)), (.seconds(120), false, .seconds(30)),
            (.seconds(120), true, .milliseconds(500)), (.seconds(1), true, .milliseconds(250)),
        ] as [(Duration?, Bool, Duration)])
    func `a tolerance is a quarter of what may be silent, and at most half a second while that is learned`(
        _ staleAfter: Duration?, _ learns: Bool, _ tolerance: Duration
    ) {
        let (_, producer) = BoundedStream.make(of: DiscoveryEvent.self, policy: .dropOldest(capacity: 1))
        let tracker = DiscoveryTracker(
            criteria: .any, duplicates: false, staleAfter: staleAfter, learnsIntervals: learns)
        let scan = Scanning.Scan(tracker, Scanning.Sink(producer), tolerance: .seconds(30))
        #expect(scan.tolerance == tolerance)
        let small = Scanning.Scan(tracker, Scanning.Sink(producer), tolerance: .milliseconds(5))
        #expect(small.tolerance == .milliseconds(5))
    }

    private func scan(_ criteria: DiscoveryCriteria = .any) -> Scanning.Scan {
        let (_, producer) = BoundedStream.make(of: DiscoveryEvent.self, policy: .dropOldest(capacity: 1))
        return Scanning.Scan(
            DiscoveryTracker(criteria: criteria, duplicates: false, staleAfter: nil), Scanning.Sink(producer))
    }

    /// Applies the pending changes and returns them.
    private func change(_ scanning: inout Scanning) -> [Scanning.Change] {
        guard scanning.beginChanging() else { return [] }
        defer { scanning.endChanging() }
        var changes: [Scanning.Change] = []
        while let (change, mark) = scanning.nextChange() {
            changes.append(change)
            _ = scanning.changed(change, mark: mark)
        }
        return changes
    }

    @Test func `the backend is called only if its filter changes`() async throws {
        var scanning = Scanning()
        let (first, second) = (scan(), scan())
        scanning.add(first, 1)
        #expect(change(&scanning) == [.start(DiscoveryFilter())])
        try await first.started.wait()
        // The backend's scan already serves this one, so it starts immediately.
        scanning.add(second, 2)
        #expect(change(&scanning) == [])
        try await second.started.wait()
        scanning.remove(1)
        #expect(change(&scanning) == [])
        scanning.remove(2)
        #expect(change(&scanning) == [.stop])
        #expect(change(&scanning) == [])
    }

    @Test func `one task at a time changes the backend's scan, and a change is repeated after an interruption`() {
        var scanning = Scanning()
        scanning.add(scan(), 1)
        let begun = scanning.beginChanging()
        let again = scanning.beginChanging()
        #expect(begun && !again)
        guard let (change, mark) = scanning.nextChange() else { return #expect(Bool(false), "a change was expected") }
        scanning.interrupt(BLEError(.poweredOff, "off"))
        _ = scanning.changed(change, mark: mark)
        #expect(scanning.nextChange()?.change == .start(DiscoveryFilter()))
        scanning.endChanging()
    }

    @Test func `after a filter change fails, the backend is stopped once`() {
        var scanning = Scanning()
        scanning.add(scan(.service(BluetoothUUID(0x180D))), 1)
        _ = change(&scanning)
        scanning.add(scan(), 2)
        let begun = scanning.beginChanging()
        guard begun, let (change, _) = scanning.nextChange() else {
            return #expect(Bool(false), "a change was expected")
        }
        #expect(change == .start(DiscoveryFilter()))
        scanning.changeFailed(change)
        scanning.finish(BLEError(.scanFailed, "refused"))
        #expect(scanning.nextChange()?.change == .stop)
        scanning.changeFailed(.stop)
        #expect(scanning.nextChange() == nil)
        scanning.endChanging()
    }

    @Test func `a search scans without a filter, and an interruption ends it`() async throws {
        let strap = Peripheral.ID(rawValue: "strap")
        var scanning = Scanning()
        let found = scanning.beginSearch(1, for: strap)
        #expect(scanning.wanted == DiscoveryFilter())
        scanning.interrupt(BLEError(.poweredOff, "off"))
        await expectError(.poweredOff) { try await found.wait() }
        scanning.endSearch(1, for: strap)
        #expect(scanning.wanted == nil)
    }

    @Test func `a scan that waits on is told each further reason once, also with the same code`() {
        let told = SharedValue<[String]>([])
        let sink = Scanning.Sink { event in
            if case .waiting(let error) = event { told.change { $0.append(error.message) } }
        } finish: { _ in
        }
        var scanning = Scanning()
        let tracker = DiscoveryTracker(criteria: .any, duplicates: false, staleAfter: nil)
        scanning.add(Scanning.Scan(tracker, sink), 1)
        _ = change(&scanning)
        let (lost, key) = (BLEError(.bluetoothLost, "lost"), BLEError(.bluetoothLost, "another key"))
        scanning.interrupt(lost)
        for obstacle in [lost, key, lost, key] { scanning.keepWaiting(for: obstacle) }
        #expect(told.value == ["lost", "another key"])
        // It is off, and then lost again: not what alternates, but what happens.
        scanning.interrupt(BLEError(.poweredOff, "off"))
        scanning.interrupt(lost)
        #expect(told.value == ["lost", "another key", "off", "lost"])
        _ = change(&scanning)
        scanning.interrupt(lost)
        #expect(told.value == ["lost", "another key", "off", "lost", "lost"])
    }

    @Test func `each scan gets the reason of its wait once, also one that begins between two interruptions`()
        async throws
    {
        let told = SharedValue<[String]>([])
        func scan(_ name: String) -> Scanning.Scan {
            let sink = Scanning.Sink { event in
                if case .waiting(let error) = event { told.change { $0.append("\(name): \(error.code)") } }
            } finish: { _ in
            }
            return Scanning.Scan(DiscoveryTracker(criteria: .any, duplicates: false, staleAfter: nil), sink)
        }
        var scanning = Scanning()
        let off = BLEError(.poweredOff, "off")
        scanning.add(scan("first"), 1)
        _ = change(&scanning)
        scanning.interrupt(off)
        scanning.interrupt(off)
        #expect(told.value == ["first: poweredOff"])
        // The adapter is on again, and off before the second scan has begun.
        let second = scan("second")
        scanning.add(second, 2)
        let begun = scanning.beginChanging()
        #expect(begun)
        scanning.interrupt(off)
        try await second.started.wait()
        #expect(told.value == ["first: poweredOff", "second: poweredOff"])
        scanning.endChanging()
        _ = change(&scanning)
        scanning.interrupt(off)
        #expect(told.value.count == 4)
    }
}
