import Testing

@testable import BLE

@Suite struct DiscoveryTrackerTests {
    private let strap = Peripheral.ID(rawValue: "strap")
    private let lamp = Peripheral.ID(rawValue: "lamp")
    private let advertisement = Advertisement(localName: "Strap", rssi: -50)

    private func tracker(
        _ criteria: DiscoveryCriteria = .any, duplicates: Bool = false, staleAfter: Duration? = .seconds(8)
    ) -> DiscoveryTracker {
        DiscoveryTracker(criteria: criteria, duplicates: duplicates, staleAfter: staleAfter)
    }

    @Test func `the first advertisement of each peripheral is a find`() {
        var tracker = tracker()
        #expect(tracker.record(strap, advertisement, now: .zero) == .found)
        #expect(tracker.record(lamp, advertisement, now: .zero) == .found)
        #expect(tracker.record(strap, advertisement, now: .zero) == nil)
    }

    @Test(arguments: [
        Advertisement(localName: "Belt", rssi: -50), Advertisement(localName: "Strap", rssi: -50, txPower: 4),
        Advertisement(localName: "Strap", rssi: -50, serviceUUIDs: [BluetoothUUID(0x180F)]),
        Advertisement(localName: "Strap", rssi: -50, manufacturerData: [0xFFFF: [1]]),
        Advertisement(localName: "Strap", rssi: -50, serviceData: [BluetoothUUID(0x180F): [90]]),
        Advertisement(localName: "Strap", rssi: -50, appearance: 0x0341), Advertisement(rssi: -50),
    ])
    func `a peripheral that says something new is updated once`(_ new: Advertisement) {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(tracker.record(strap, new, now: .zero) == .updated)
        #expect(tracker.record(strap, new, now: .zero) == nil)
    }

    @Test func `a peripheral whose name among the keys is another is updated once`() {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .zero)
        for identity in ["watch", "phone", nil] {
            #expect(tracker.record(strap, advertisement, identity: identity, now: .zero) == .updated)
            #expect(tracker.record(strap, advertisement, identity: identity, now: .zero) == nil)
        }
    }

    @Test(arguments: [-30, nil]) func `signal strength alone is nothing new`(_ rssi: Int?) {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(tracker.record(strap, Advertisement(localName: "Strap", rssi: rssi), now: .zero) == nil)
    }

    @Test func `with duplicates every advertisement is an update`() {
        var tracker = tracker(duplicates: true)
        #expect(tracker.record(strap, advertisement, now: .zero) == .found)
        #expect(tracker.record(strap, advertisement, now: .zero) == .updated)
        #expect(tracker.record(strap, advertisement, now: .zero) == .updated)
    }

    @Test func `advertisements that do not meet the criteria are ignored, and do not prevent the loss of a peripheral`()
    {
        var tracker = tracker(DiscoveryCriteria(minimumRSSI: -80))
        #expect(tracker.record(strap, Advertisement(rssi: -90), now: .zero) == nil)
        #expect(tracker.removeStale(now: .seconds(60)) { _ in false } == [])
        #expect(tracker.record(strap, Advertisement(rssi: -70), now: .zero) == .found)
        #expect(tracker.record(strap, Advertisement(rssi: -90), now: .seconds(5)) == nil)
        #expect(tracker.removeStale(now: .seconds(8)) { _ in false } == [strap])
    }

    @Test func `a peripheral is lost when it has been silent for the whole interval`() {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .seconds(1))
        #expect(tracker.removeStale(now: .seconds(1)) { _ in false } == [])
        #expect(tracker.removeStale(now: .milliseconds(8_999)) { _ in false } == [])
        #expect(tracker.removeStale(now: .seconds(9)) { _ in false } == [strap])
    }

    @Test func `a repeated advertisement is a sign of life`() {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .zero)
        _ = tracker.record(strap, advertisement, now: .seconds(7))
        #expect(tracker.removeStale(now: .seconds(14)) { _ in false } == [])
        #expect(tracker.removeStale(now: .seconds(15)) { _ in false } == [strap])
    }

    @Test func `a peripheral is lost once, and found again`() {
        var tracker = tracker()
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(tracker.removeStale(now: .seconds(8)) { _ in false } == [strap])
        #expect(tracker.removeStale(now: .seconds(9)) { _ in false } == [])
        #expect(tracker.record(strap, advertisement, now: .seconds(10)) == .found)
    }

    @Test func `those with a link are not lost, the others in the order of their last sign`() {
        var tracker = tracker()
        let ids = (0..<5).map { Peripheral.ID(rawValue: "\($0)") }
        for (index, id) in ids.enumerated() { _ = tracker.record(id, advertisement, now: .seconds(5 - index)) }
        #expect(tracker.removeStale(now: .seconds(60)) { $0 == ids[2] } == [ids[4], ids[3], ids[1], ids[0]])
        // The one with a link counts as seen at that time.
        #expect(tracker.removeStale(now: .seconds(67)) { _ in false } == [])
        #expect(tracker.removeStale(now: .seconds(68)) { _ in false } == [ids[2]])
    }

    @Test func `without an interval, no peripheral is lost`() {
        var tracker = tracker(staleAfter: nil)
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(tracker.removeStale(now: .seconds(1_000_000)) { _ in false } == [])
    }

    @Test func `only a reported peripheral can be removed, and is found again`() {
        var tracker = tracker(DiscoveryCriteria(minimumRSSI: -80))
        _ = tracker.record(lamp, Advertisement(rssi: -90), now: .zero)
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(tracker.removed(lamp) == false)
        #expect(tracker.removed(strap) == true)
        #expect(tracker.removed(strap) == false)
        #expect(tracker.record(strap, advertisement, now: .zero) == .found)
    }

    // MARK: Learned intervals

    private func learning() -> DiscoveryTracker {
        DiscoveryTracker(criteria: .any, duplicates: false, staleAfter: .seconds(120), learnsIntervals: true)
    }

    private func lost(_ tracker: inout DiscoveryTracker, at second: Int) -> [Peripheral.ID] {
        tracker.removeStale(now: .seconds(second)) { _ in false }
    }

    @Test func `a peripheral is lost after one and a half of its longest gap and 2 s`() {
        var tracker = learning()
        for second in [0, 1, 11, 12] { _ = tracker.record(strap, advertisement, now: .seconds(second)) }
        for second in [0, 60] { _ = tracker.record(lamp, advertisement, now: .seconds(second)) }
        // 12 + 1.5 × 10 + 2
        #expect(lost(&tracker, at: 28) == [])
        #expect(lost(&tracker, at: 29) == [strap])
        // 60 + 1.5 × 60 + 2
        #expect(lost(&tracker, at: 151) == [])
        #expect(lost(&tracker, at: 152) == [lamp])
    }

    @Test func `a peripheral whose interval is short has at least the time that another radio may need`() {
        var tracker = DiscoveryTracker(
            criteria: .any, duplicates: false, staleAfter: .seconds(120), learnsIntervals: true,
            minimumPatience: .seconds(8))
        for second in [0, 1, 2] { _ = tracker.record(strap, advertisement, now: .seconds(second)) }
        #expect(lost(&tracker, at: 9) == [])
        #expect(lost(&tracker, at: 10) == [strap])
    }

    @Test func `a peripheral whose interval is not known has that time, too`() {
        var tracker = DiscoveryTracker(
            criteria: .any, duplicates: false, staleAfter: .seconds(2), learnsIntervals: true,
            minimumPatience: .seconds(8))
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(lost(&tracker, at: 7) == [])
        #expect(lost(&tracker, at: 8) == [strap])
    }

    @Test func `before the second advertisement, the given time counts`() {
        var tracker = learning()
        _ = tracker.record(strap, advertisement, now: .zero)
        #expect(lost(&tracker, at: 119) == [])
        #expect(lost(&tracker, at: 120) == [strap])
    }

    @Test func `the last gaps count, and none in which the scan has waited`() {
        var tracker = learning()
        var second = 0
        func hear(after gap: Int) {
            second += gap
            _ = tracker.record(strap, advertisement, now: .seconds(second))
        }
        hear(after: 0)
        hear(after: 100)
        for _ in 0..<32 { hear(after: 1) }
        // Without the gap of 100 s: 1.5 × 1 + 2.
        #expect(tracker.removeStale(now: .seconds(second + 3)) { _ in false } == [])
        tracker.interrupt()
        hear(after: 500)
        hear(after: 1)
        #expect(lost(&tracker, at: second + 3) == [])
        #expect(lost(&tracker, at: second + 4) == [strap])
    }
}
