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

    @Test func `links that end early are made after others, and with growing pauses`() {
        var connector = connector()
        var now = Duration.zero
        for pause in [2, 4, 8] {
            _ = connector.found(strap, rssi: -30)
            while connector.next(now: now) != .connect(strap) { now += .seconds(1) }
            _ = connector.linkUp(strap)
            #expect(!connector.isAnyWaiting)
            connector.linkEnded(strap, isEarly: true, now: now)
            _ = connector.found(strap, rssi: -30)
            #expect(connector.next(now: now) == .wait(until: now + .seconds(pause)))
        }
        _ = connector.found(lamp, rssi: -90)
        now += .seconds(100)
        _ = connector.next(now: now)
        #expect(connector.next(now: now + .seconds(1)) == .connect(lamp))
        _ = connector.linkUp(lamp)
        #expect(connector.isAnyWaiting)
        connector.linkEnded(lamp, isEarly: false, now: now)
        #expect(connector.next(now: now + .seconds(9)) == .wait(until: now + .seconds(10)))
        #expect(connector.next(now: now + .seconds(10)) == .connect(strap))
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

    @Test func `one that is released comes back after its pause, and after those in range that had no turn`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40), (lock, -50)] { _ = connector.found(id, rssi: rssi) }
        /// Connects to the next one, releases it, and hears it again.
        func turn(_ now: Duration) -> Step {
            _ = connector.next(now: now)
            let step = connector.next(now: now + .seconds(1))
            guard case .connect(let id) = step else { return step }
            _ = connector.linkUp(id)
            connector.linkEnded(id, isRequested: true)
            connector.release(id, until: now + .seconds(11))
            _ = connector.found(id, rssi: -20)
            return step
        }
        let steps = (0..<3).map { turn(.seconds($0 * 2)) }
        #expect(steps == [.connect(lamp), .connect(lock), .connect(strap)])
        #expect(step(&connector, .seconds(6)) == .wait(until: .seconds(11)))
        let later = (10..<13).map { turn(.seconds($0 * 2)) }
        #expect(later == [.connect(lamp), .connect(lock), .connect(strap)])
    }

    @Test func `one that is released and then disconnected by hand is left alone`() {
        var connector = connector()
        _ = connector.found(lamp, rssi: -40)
        _ = connector.linkUp(lamp)
        connector.linkEnded(lamp, isRequested: true)
        connector.release(lamp, until: .seconds(5))
        // Connected by hand before it was heard, it counts.
        #expect(up(&connector, lamp))
        connector.linkEnded(lamp, isRequested: true)
        _ = connector.found(lamp, rssi: -40)
        #expect(step(&connector, .seconds(99)) == .idle)
        connector.release(lamp, until: .seconds(100))
        #expect(step(&connector, .seconds(99)) == .wait(until: .seconds(100)))
    }

    @Test(arguments: [Duration.zero, .seconds(1)])
    func `one that is heard again after its pause comes after those that had no turn`(_ pause: Duration) {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        _ = connector.linkUp(lamp)
        connector.linkEnded(lamp, isRequested: true)
        connector.release(lamp, until: .seconds(1) + pause)
        #expect(step(&connector, .seconds(5)) == .wait(until: .seconds(6)))
        _ = connector.found(lamp, rssi: -20)
        #expect(step(&connector, .seconds(6)) == .connect(strap))
        // Connected by hand, it counts as one of the links.
        connector.attemptFailed(strap, now: .seconds(7))
        connector.lost(lamp)
        #expect(up(&connector, lamp))
    }

    @Test func `the last 1024 releases are remembered`() {
        var connector = connector()
        let ids = (0...1024).map { Peripheral.ID(rawValue: "\($0)") }
        for id in ids {
            _ = connector.found(id, rssi: -50)
            connector.release(id, until: .zero)
            connector.lost(id)
        }
        #expect(ids.filter { up(&connector, $0) } == Array(ids.dropFirst()))
    }

    @Test func `those that failed come after those that did not, the one that failed last at the end`() {
        var connector = connector(limit: 9)
        for (id, rssi) in [(strap, -50), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        connector.attemptFailed(lamp, now: .seconds(2))
        _ = connector.next(now: .seconds(2))
        #expect(step(&connector, .seconds(3)) == .connect(strap))
        connector.attemptFailed(strap, now: .seconds(10))
        _ = connector.found(lock, rssi: -80)
        // The first failure of the strap is the turn of the lamp.
        _ = connector.next(now: .seconds(20))
        #expect(step(&connector, .seconds(21)) == .connect(lamp))
        connector.attemptFailed(lamp, now: .seconds(22))
        _ = connector.next(now: .seconds(40))
        #expect(step(&connector, .seconds(41)) == .connect(lock))
        _ = connector.linkUp(lock)
        _ = connector.next(now: .seconds(42))
        #expect(step(&connector, .seconds(43)) == .connect(strap))
        // A link makes good for the failures.
        _ = connector.linkUp(strap)
        connector.linkEnded(strap, isRequested: false)
        _ = connector.found(strap, rssi: -90)
        _ = connector.next(now: .seconds(44))
        #expect(step(&connector, .seconds(45)) == .connect(strap))
    }

    @Test func `ever new ones that accept no link leave every second attempt to those that had a turn`() {
        var connector = connector()
        for id in [lamp, strap] {
            _ = connector.found(id, rssi: -60)
            _ = connector.linkUp(id)
            connector.linkEnded(id, isRequested: true)
            connector.release(id, until: .seconds(1))
            _ = connector.found(id, rssi: -60)
        }
        var attempts: [String] = []
        for number in 0..<6 {
            // Stronger, with another address each time.
            let (next, now) = (Peripheral.ID(rawValue: "stranger \(number)"), Duration.seconds(100 * (number + 1)))
            _ = connector.found(next, rssi: -20)
            _ = connector.next(now: now)
            guard case .connect(let id) = connector.next(now: now + .seconds(1)) else { continue }
            attempts.append(id.rawValue)
            connector.attemptFailed(id, now: now + .seconds(2))
            connector.lost(next)
        }
        #expect(attempts == ["stranger 0", "lamp", "stranger 2", "strap", "stranger 4", "lamp"])
    }

    @Test func `the failures of one that is lost and found are remembered`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        #expect(connector.attemptFailed(lamp, now: .seconds(2)) == .seconds(2))
        connector.lost(lamp)
        _ = connector.found(lamp, rssi: -30)
        _ = connector.next(now: .seconds(9))
        #expect(step(&connector, .seconds(10)) == .connect(strap))
        _ = connector.linkUp(strap)
        connector.linkEnded(strap, isRequested: false)
        _ = connector.next(now: .seconds(20))
        #expect(step(&connector, .seconds(21)) == .connect(lamp))
        #expect(connector.attemptFailed(lamp, now: .seconds(21)) == .seconds(4))
    }

    @Test func `a release of one that is none of the candidates does not make it one of them`() {
        var connector = connector()
        connector.release(lamp, until: .seconds(1))
        #expect(!up(&connector, lamp))
        _ = connector.found(strap, rssi: -50)
        connector.release(strap, until: .seconds(1))
        connector.lost(strap)
        #expect(up(&connector, strap))
    }

    @Test func `an attempt is not begun if its peripheral is released, or has a link, since the decision`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        connector.release(lamp, until: .seconds(60))
        let beginsReleased = connector.attemptBegins(lamp)
        #expect(!beginsReleased)
        _ = connector.next(now: .seconds(1))
        #expect(step(&connector, .seconds(2)) == .connect(strap))
        let begins = connector.attemptBegins(strap)
        #expect(begins)
        #expect(up(&connector, strap))
        let beginsLinked = connector.attemptBegins(strap)
        #expect(!beginsLinked)
    }

    @Test func `an attempt that a release cancels is followed by its pause`() {
        var connector = connector()
        for (id, rssi) in [(strap, -70), (lamp, -40)] { _ = connector.found(id, rssi: rssi) }
        _ = connector.next(now: .zero)
        #expect(step(&connector, .seconds(1)) == .connect(lamp))
        connector.attemptCancelled(lamp)
        connector.release(lamp, until: .seconds(61))
        #expect(connector.attemptFailed(lamp, now: .seconds(1)) == .seconds(60))
        _ = connector.next(now: .seconds(1))
        #expect(step(&connector, .seconds(2)) == .connect(strap))
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
