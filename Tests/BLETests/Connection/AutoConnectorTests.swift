import Testing

@testable import BLE

@Suite struct AutoConnectorTests {
    private typealias Step = AutoConnector<Peripheral.ID>.Step
    private let strap: Peripheral.ID = "strap"
    private let lamp: Peripheral.ID = "lamp"
    private let lock: Peripheral.ID = "lock"

    private func connector(limit: Int = 1) -> AutoConnector<Peripheral.ID> {
        AutoConnector(
            limit: limit, settling: .seconds(1),
            backoff: Backoff(initial: .seconds(2), factor: 2, maximum: .seconds(60)))
    }

    private func step(_ connector: inout AutoConnector<Peripheral.ID>, _ now: Duration) -> Step {
        connector.next(now: now)
    }

    private func up(_ connector: inout AutoConnector<Peripheral.ID>, _ id: Peripheral.ID) -> Bool {
        connector.linkUp(id)
    }

    @Test func `the strongest is connected to, after a pause for stronger ones`() {
        var connector = connector()
        #expect(step(&connector, .zero) == .idle)
        _ = connector.found(strap, rssi: -70)
        #expect(step(&connector, .seconds(3)) == .wait(until: .seconds(4)))
        _ = connector.found(lamp, rssi: -40)
        _ = connector.found(lock, rssi: -50)
        #expect(step(&connector, .seconds(3.5)) == .wait(until: .seconds(4)))
        #expect(step(&connector, .seconds(4)) == .connect(lamp))
        #expect(step(&connector, .seconds(9)) == .idle)
    }

    @Test func `there are no more links than allowed, and only one attempt at a time`() {
        var connector = connector(limit: 2)
        for (id, rssi) in [(strap, -70), (lamp, -40), (lock, -50)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        #expect(step(&connector, .seconds(2)) == .idle)
        #expect(up(&connector, lamp) == true)
        #expect(up(&connector, lamp) == false)
        _ = connector.next(now: .seconds(2))
        #expect(step(&connector, .seconds(3)) == .connect(lock))
        #expect(up(&connector, lock) == true)
        #expect(step(&connector, .seconds(9)) == .idle)
        connector.linkEnded(lamp, isRequested: false)
        // It must be discovered again first.
        #expect(step(&connector, .seconds(10)) == .wait(until: .seconds(11)))
        #expect(step(&connector, .seconds(11)) == .connect(strap))
    }

    @Test func `one that was disconnected by hand is left alone until it is connected by hand`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.linkUp(lamp)
        connector.linkEnded(lamp, isRequested: true)
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(strap))
        connector.attemptCancelled(strap)
        connector.attemptFailed(strap, now: .seconds(2))
        #expect(step(&connector, .seconds(99)) == .idle)
        connector.lost(lamp)
        _ = connector.found(lamp, rssi: -30)
        #expect(step(&connector, .seconds(200)) == .idle)
        _ = connector.linkUp(lamp)
        connector.linkEnded(lamp, isRequested: false)
        _ = connector.found(lamp, rssi: -30)
        _ = connector.next(now: .seconds(300))
        #expect(step(&connector, .seconds(301)) == .connect(lamp))
    }

    @Test func `a failure pauses its peripheral only, longer each time`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        connector.attemptFailed(lamp, now: .seconds(10))
        #expect(step(&connector, .seconds(10)) == .wait(until: .seconds(11)))
        #expect(step(&connector, .seconds(11)) == .connect(strap))
        connector.attemptFailed(strap, now: .seconds(11.5))
        #expect(step(&connector, .seconds(11.5)) == .wait(until: .seconds(12)))
        #expect(step(&connector, .seconds(12)) == .wait(until: .seconds(13)))
        #expect(step(&connector, .seconds(13)) == .connect(lamp))
        connector.attemptFailed(lamp, now: .seconds(13))
        connector.lost(strap)
        #expect(step(&connector, .seconds(14)) == .wait(until: .seconds(17)))
    }

    @Test func `a peripheral with a link comes first, and must be discovered again once the link has ended`() {
        var connector = connector()
        _ = connector.found(strap, rssi: -20)
        _ = connector.found(lamp, rssi: nil)
        #expect(step(&connector, .zero) == .connect(lamp))
        _ = connector.linkUp(lamp)
        connector.linkEnded(lamp, isRequested: false)
        _ = connector.next(now: .seconds(5))
        #expect(step(&connector, .seconds(6)) == .connect(strap))
    }

    @Test func `one that was only known by its link, and cannot be connected to, does not stand in the way`() {
        var connector = connector()
        _ = connector.found(lamp, rssi: nil)
        _ = connector.found(strap, rssi: -50)
        #expect(step(&connector, .zero) == .connect(lamp))
        connector.attemptFailed(lamp, now: .seconds(1))
        _ = connector.next(now: .seconds(9))
        #expect(step(&connector, .seconds(10)) == .connect(strap))
    }

    @Test func `links of others do not count`() {
        var connector = connector()
        #expect(up(&connector, lock) == false)
        connector.linkEnded(lock, isRequested: true)
        _ = connector.found(lock, rssi: -50)
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lock))
    }

    @Test func `while the adapter is off nothing is tried, and no failure counts`() {
        var connector = connector()
        _ = connector.found(strap, rssi: -30)
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(strap))
        connector.adapterChanged(isOn: false)
        connector.attemptFailed(strap, now: .seconds(1))
        #expect(step(&connector, .seconds(2)) == .idle)
        connector.adapterChanged(isOn: true)
        #expect(step(&connector, .seconds(3)) == .idle)
        _ = connector.found(strap, rssi: -30)
        _ = connector.found(lamp, rssi: -40)
        _ = connector.next(now: .seconds(4))
        #expect(step(&connector, .seconds(5)) == .connect(strap))
    }
}
