import Testing

@testable import BLE

/// A choice as an object, because an expectation cannot change a value.
private final class Chooser {
    private var choice: RadioChoice

    init(_ choice: RadioChoice) { self.choice = choice }

    var count: Int { choice.count }
    func source(of id: Peripheral.ID) -> Int? { choice.source(of: id) }
    func holder(of id: Peripheral.ID) -> Int? { choice.holder(of: id) }
    func paths(to id: Peripheral.ID, _ states: [RadioChoice.RadioState], now: Duration) -> [RadioChoice.Path] {
        choice.paths(to: id, states, now: now)
    }

    @discardableResult
    func didReceive(_ id: Peripheral.ID, rssi: Int?, on radio: Int, now: Duration) -> Bool {
        choice.didReceive(id, rssi: rssi, on: radio, now: now)
    }
    func scanBegan(on radio: Int) { choice.scanBegan(on: radio) }
    func didRemove(_ id: Peripheral.ID, on radio: Int) -> Bool { choice.didRemove(id, on: radio) }
    @discardableResult func didLose(_ radio: Int) -> [Peripheral.ID] { choice.didLose(radio) }
    func setRadios(_ radios: Set<Int>?, for id: Peripheral.ID) { choice.setRadios(radios, for: id) }
    func setBonded(_ isBonded: Bool, _ id: Peripheral.ID, on radio: Int) { choice.setBonded(isBonded, id, on: radio) }
    func beginConnecting(_ id: Peripheral.ID, on radio: Int) -> Bool { choice.beginConnecting(id, on: radio) }
    func endConnecting(_ id: Peripheral.ID, on radio: Int, isLinked: Bool, hasFailed: Bool, now: Duration) {
        choice.endConnecting(id, on: radio, isLinked: isLinked, hasFailed: hasFailed, now: now)
    }
    func begun(_ id: Peripheral.ID) -> Set<Int> { choice.begun(id) }
    func didDisconnect(_ id: Peripheral.ID, on radio: Int) { choice.didDisconnect(id, on: radio) }
    func linkIsDown(_ id: Peripheral.ID, on radio: Int) { choice.linkIsDown(id, on: radio) }
    @discardableResult func linkEnded(_ id: Peripheral.ID, on radio: Int) -> Bool { choice.linkEnded(id, on: radio) }
}

/// The choice among radios, in virtual time: seconds are arguments.
struct RadioChoiceTests {
    private static let strap: Peripheral.ID = "F0:F1:F2:F3:F4:F5"
    private static let on = RadioChoice.RadioState()

    /// A choice that has heard the strap on each radio, once a second, with these strengths.
    private func choice(
        _ strengths: [Int?], seconds: ClosedRange<Int> = 0...20, rules: RadioChoice.Rules = RadioChoice.Rules()
    ) -> Chooser {
        let choice = Chooser(RadioChoice(radios: strengths.count, rules: rules))
        for second in seconds {
            for (radio, strength) in strengths.enumerated() where strength != nil {
                choice.didReceive(Self.strap, rssi: strength, on: radio, now: .seconds(second))
            }
        }
        return choice
    }

    private func order(_ choice: Chooser, _ states: [RadioChoice.RadioState], at second: Int = 20) -> [Int] {
        choice.paths(to: Self.strap, states, now: .seconds(second)).filter { $0.obstacle == nil }.map(\.radio)
    }

    // MARK: What is heard

    @Test func `strengths are smoothed`() {
        let choice = choice([-60])
        #expect(choice.paths(to: Self.strap, [Self.on], now: .seconds(20))[0].rssi == -60)
        choice.didReceive(Self.strap, rssi: -90, on: 0, now: .seconds(21))
        let path = choice.paths(to: Self.strap, [Self.on], now: .seconds(23))[0]
        #expect(path.rssi == -69)
        #expect(path.age == .seconds(2))
        choice.didReceive(Self.strap, rssi: nil, on: 0, now: .seconds(24))
        #expect(choice.paths(to: Self.strap, [Self.on], now: .seconds(24))[0].rssi == -69)
    }

    @Test func `the first radio that hears a peripheral is its source until another is much stronger`() {
        let choice = choice([-70, -60])
        #expect(choice.source(of: Self.strap) == 0)
        #expect(!choice.didReceive(Self.strap, rssi: -60, on: 1, now: .seconds(21)))
        for second in 22...40 {
            choice.didReceive(Self.strap, rssi: -70, on: 0, now: .seconds(second))
            choice.didReceive(Self.strap, rssi: -53, on: 1, now: .seconds(second))
        }
        #expect(choice.source(of: Self.strap) == 1)
        // The radio that was the source before needs 6 dB more: at 17 dB it stays, at 23 it is the source again.
        for (strength, source) in [(-36, 1), (-30, 0)] {
            for second in 41...70 {
                choice.didReceive(Self.strap, rssi: strength, on: 0, now: .seconds(second))
                choice.didReceive(Self.strap, rssi: -53, on: 1, now: .seconds(second))
            }
            #expect(choice.source(of: Self.strap) == source)
        }
    }

    @Test func `a source that is silent for longer than its interval is replaced`() {
        let choice = choice([-50, -80])
        // One and a half of a second, and two seconds.
        #expect(!choice.didReceive(Self.strap, rssi: -80, on: 1, now: .milliseconds(23_500)))
        #expect(choice.didReceive(Self.strap, rssi: -80, on: 1, now: .milliseconds(23_501)))
        #expect(choice.source(of: Self.strap) == 1)
    }

    @Test func `a source that hears a peripheral now and then gives way to a radio that hears it often`() {
        let choice = Chooser(RadioChoice(radios: 2))
        #expect(choice.didReceive(Self.strap, rssi: -60, on: 0, now: .zero))
        let passed = (1...12).filter {
            choice.didReceive(Self.strap, rssi: -60, on: 1, now: .seconds($0) - .milliseconds(500))
        }
        #expect(passed == Array(5...12))
        #expect(choice.source(of: Self.strap) == 1)
    }

    @Test func `a slow peripheral's advertisement is passed on if the next would be too late`() {
        let choice = Chooser(RadioChoice(radios: 2))
        for second in [0, 6] {
            #expect(choice.didReceive(Self.strap, rssi: -60, on: 0, now: .seconds(second)))
            #expect(!choice.didReceive(Self.strap, rssi: -60, on: 1, now: .seconds(second)))
        }
        // The source has missed the one at 12 s, and both hear the next.
        #expect(choice.didReceive(Self.strap, rssi: -60, on: 1, now: .seconds(12)))
        #expect(choice.source(of: Self.strap) == 0)
        #expect(choice.didReceive(Self.strap, rssi: -60, on: 0, now: .seconds(18)))
        #expect(!choice.didReceive(Self.strap, rssi: -60, on: 1, now: .seconds(18)))
    }

    @Test func `the interval is the longest of the last gaps, without those between two scans`() {
        let choice = Chooser(RadioChoice(radios: 1))
        func interval() -> Duration? {
            choice.paths(to: Self.strap, [Self.on], now: .zero)[0].interval
        }
        var now = Duration.zero
        func hear(after gap: Duration) {
            now += gap
            choice.didReceive(Self.strap, rssi: -60, on: 0, now: now)
        }
        hear(after: .zero)
        #expect(interval() == nil)
        hear(after: .seconds(5))
        for _ in 0..<16 { hear(after: .seconds(1)) }
        #expect(interval() == .seconds(5))
        for _ in 0..<16 { hear(after: .seconds(1)) }
        #expect(interval() == .seconds(1))
        choice.scanBegan(on: 0)
        hear(after: .seconds(60))
        #expect(interval() == .seconds(1))
        hear(after: .seconds(2))
        #expect(interval() == .seconds(2))
        // It was away.
        hear(after: .seconds(901))
        #expect(interval() == nil)
    }

    @Test func `a radio that goes is no source, and what only it has heard is forgotten`() {
        let choice = choice([-50, -80])
        choice.didReceive("AA:AA:AA:AA:AA:AA", rssi: -50, on: 0, now: .seconds(20))
        #expect(choice.didLose(0) == [])
        #expect(choice.source(of: Self.strap) == 1)
        #expect(choice.didReceive(Self.strap, rssi: -80, on: 1, now: .seconds(21)))
        #expect(choice.count == 1)
    }

    @Test func `a peripheral is removed when the last radio has forgotten it`() {
        let choice = choice([-50, -80])
        #expect(!choice.didRemove(Self.strap, on: 0))
        #expect(choice.source(of: Self.strap) == 1)
        #expect(choice.didRemove(Self.strap, on: 1))
        #expect(choice.didRemove(Self.strap, on: 1))
        #expect(choice.count == 0)
    }

    @Test func `the memory is bounded, and forgets what was not heard for longest`() {
        var rules = RadioChoice.Rules()
        rules.peripheralLimit = 100
        let choice = choice([-60], rules: rules)
        for number in 0..<10_000 {
            choice.didReceive(Peripheral.ID(rawValue: "private \(number)"), rssi: -60, on: 0, now: .seconds(30))
            if number % 20 == 0 { choice.didReceive(Self.strap, rssi: -60, on: 0, now: .seconds(30)) }
            #expect(choice.count <= 100)
        }
        #expect(choice.source(of: Self.strap) == 0)
        #expect(choice.source(of: "private 0") == nil)
    }

    // MARK: The way to a peripheral

    @Test func `the strongest radio is tried first, and then the next`() {
        #expect(order(choice([-80, -40, -60]), [Self.on, Self.on, Self.on]) == [1, 2, 0])
    }

    @Test func `the source is preferred to a radio that is a little stronger`() {
        #expect(order(choice([-60, -56]), [Self.on, Self.on]) == [0, 1])
        #expect(order(choice([-60, -52]), [Self.on, Self.on]) == [1, 0])
    }

    @Test func `a radio that hears a peripheral comes before a stronger one that has not heard it lately`() {
        let choice = choice([-40, nil])
        for second in 50...60 { choice.didReceive(Self.strap, rssi: -90, on: 1, now: .seconds(second)) }
        #expect(order(choice, [Self.on, Self.on], at: 60) == [1, 0])
    }

    @Test func `a radio that has a link already comes first, if it may have one`() {
        let choice = choice([-40, nil, -60])
        #expect(order(choice, [Self.on, .init(isLinked: true), Self.on]) == [1, 0, 2])
        choice.setRadios([0, 2], for: Self.strap)
        #expect(order(choice, [Self.on, .init(isLinked: true), Self.on]) == [0, 2])
    }

    @Test func `a radio is known to have begun an attempt until a disconnect, the end of a link, or its loss`() {
        let choice = choice([-50, -60])
        func attempt(_ radio: Int, isLinked: Bool) {
            #expect(choice.beginConnecting(Self.strap, on: radio))
            choice.endConnecting(Self.strap, on: radio, isLinked: isLinked, hasFailed: !isLinked, now: .seconds(20))
        }
        attempt(0, isLinked: false)
        attempt(1, isLinked: true)
        #expect(choice.begun(Self.strap) == [0, 1])
        choice.didDisconnect(Self.strap, on: 0)
        #expect(choice.begun(Self.strap) == [1])
        #expect(choice.holder(of: Self.strap) == 1)
        // Without a link, the choice is free, and a disconnect still goes to it.
        choice.linkIsDown(Self.strap, on: 1)
        #expect(choice.holder(of: Self.strap) == nil)
        #expect(choice.begun(Self.strap) == [1])
        attempt(0, isLinked: true)
        choice.didLose(1)
        #expect(choice.begun(Self.strap) == [0])
        choice.didDisconnect(Self.strap, on: 0)
        #expect(choice.begun(Self.strap) == [])
        #expect(choice.holder(of: Self.strap) == nil)
        attempt(1, isLinked: true)
        choice.linkEnded(Self.strap, on: 1)
        #expect(choice.begun(Self.strap) == [])
    }

    @Test func `a radio without a slot is excluded, and one with a single slot counts a little less`() {
        let choice = choice([-60, -64])
        #expect(order(choice, [.init(freeSlots: 0), Self.on]) == [1])
        #expect(order(choice, [.init(freeSlots: 1), Self.on]) == [0, 1])
        #expect(order(self.choice([-64, -60]), [.init(freeSlots: 1), .init(freeSlots: 3)]) == [1, 0])
        #expect(order(choice, [.init(isOn: false), Self.on]) == [1])
        let paths = choice.paths(to: Self.strap, [.init(isOn: false), .init(freeSlots: 0)], now: .seconds(20))
        #expect(paths.map(\.obstacle) == [.off, .noSlot])
    }

    @Test func `a radio may be set or excluded for a peripheral`() {
        let choice = choice([-80, -40, -60])
        choice.setRadios([0], for: Self.strap)
        #expect(order(choice, [Self.on, Self.on, Self.on]) == [0])
        choice.setRadios([0, 2], for: Self.strap)
        #expect(order(choice, [Self.on, Self.on, Self.on]) == [2, 0])
        choice.setRadios(nil, for: Self.strap)
        #expect(order(choice, [Self.on, Self.on, Self.on]) == [1, 2, 0])
    }

    // MARK: What goes wrong elsewhere

    /// habluetooth#628.
    @Test func `a bonded peripheral goes to a radio that has its keys, or to none`() {
        let choice = choice([-90, -40])
        choice.setBonded(true, Self.strap, on: 0)
        #expect(order(choice, [Self.on, Self.on]) == [0])
        #expect(order(choice, [.init(isOn: false), Self.on]) == [])
        let paths = choice.paths(to: Self.strap, [.init(isOn: false), Self.on], now: .seconds(20))
        #expect(Set(paths.map(\.obstacle)) == [.off, .keysElsewhere])
        // The radio does not lose the keys while it is gone.
        choice.didLose(0)
        #expect(order(choice, [Self.on, Self.on]) == [0])
        choice.setBonded(false, Self.strap, on: 0)
        #expect(order(choice, [Self.on, Self.on]) == [1, 0])
    }

    /// ha-ef-ble#445.
    @Test func `a radio that is 28 dB stronger is chosen however many attempts it makes`() {
        let choice = choice([-40, -68])
        for number in 0..<10 { #expect(choice.beginConnecting(Peripheral.ID(rawValue: "\(number)"), on: 0)) }
        #expect(order(choice, [Self.on, Self.on]) == [0, 1])
        // Of two that are about the same, the one that is not busy is chosen.
        #expect(order(self.choice([-60, -62]), [Self.on, Self.on]) == [0, 1])
        let even = self.choice([-60, -62])
        for number in 0..<2 { #expect(even.beginConnecting(Peripheral.ID(rawValue: "\(number)"), on: 0)) }
        #expect(order(even, [Self.on, Self.on]) == [1, 0])
        for number in 0..<2 {
            even.endConnecting(
                Peripheral.ID(rawValue: "\(number)"), on: 0, isLinked: false, hasFailed: false, now: .zero)
        }
        #expect(order(even, [Self.on, Self.on]) == [0, 1])
    }

    /// habluetooth#602.
    @Test func `a radio that is set for a peripheral is kept, whatever another hears`() {
        let choice = choice([nil, -30])
        choice.setRadios([0], for: Self.strap)
        #expect(order(choice, [Self.on, Self.on]) == [0])
        // Not even failures send it elsewhere.
        for _ in 0..<10 {
            #expect(choice.beginConnecting(Self.strap, on: 0))
            choice.endConnecting(Self.strap, on: 0, isLinked: false, hasFailed: true, now: .seconds(20))
        }
        #expect(order(choice, [Self.on, Self.on]) == [0])
    }

    /// core#176516.
    @Test func `no two radios hold a peripheral`() {
        let choice = choice([-50, -60])
        #expect(choice.beginConnecting(Self.strap, on: 0))
        #expect(!choice.beginConnecting(Self.strap, on: 1))
        #expect(order(choice, [Self.on, Self.on]) == [0])
        choice.endConnecting(Self.strap, on: 0, isLinked: true, hasFailed: false, now: .seconds(20))
        #expect(!choice.beginConnecting(Self.strap, on: 1))
        #expect(choice.holder(of: Self.strap) == 0)
        // The link of another program, over another radio, is not this one.
        #expect(!choice.linkEnded(Self.strap, on: 1))
        #expect(choice.holder(of: Self.strap) == 0)
        #expect(choice.linkEnded(Self.strap, on: 0))
        #expect(choice.beginConnecting(Self.strap, on: 1))
        choice.endConnecting(Self.strap, on: 1, isLinked: true, hasFailed: false, now: .seconds(20))
        #expect(choice.didLose(1) == [Self.strap])
        #expect(choice.holder(of: Self.strap) == nil)
    }

    /// bleak-esphome#438.
    @Test func `failures count against a radio, do not exclude it, and are forgotten`() {
        let choice = choice([-50, -66])
        func fail(at second: Int) {
            #expect(choice.beginConnecting(Self.strap, on: 0))
            choice.endConnecting(Self.strap, on: 0, isLinked: false, hasFailed: true, now: .seconds(second))
        }
        for _ in 0..<100 { fail(at: 20) }
        #expect(order(choice, [Self.on, Self.on], at: 20) == [1, 0])
        #expect(order(choice, [Self.on], at: 20) == [0])
        for second in 21...330 {
            for (radio, strength) in [-50, -66].enumerated() {
                choice.didReceive(Self.strap, rssi: strength, on: radio, now: .seconds(second))
            }
        }
        #expect(order(choice, [Self.on, Self.on], at: 320) == [1, 0])
        #expect(order(choice, [Self.on, Self.on], at: 321) == [0, 1])
        // They do not outweigh a radio that is much stronger.
        let uneven = self.choice([-40, -75])
        for _ in 0..<100 {
            #expect(uneven.beginConnecting(Self.strap, on: 0))
            uneven.endConnecting(Self.strap, on: 0, isLinked: false, hasFailed: true, now: .seconds(20))
        }
        #expect(order(uneven, [Self.on, Self.on]) == [0, 1])
        // A link forgets them at once.
        fail(at: 330)
        fail(at: 330)
        fail(at: 330)
        #expect(order(choice, [Self.on, Self.on], at: 330) == [1, 0])
        #expect(choice.beginConnecting(Self.strap, on: 0))
        choice.endConnecting(Self.strap, on: 0, isLinked: true, hasFailed: false, now: .seconds(331))
        choice.linkEnded(Self.strap, on: 0)
        #expect(order(choice, [Self.on, Self.on], at: 331) == [0, 1])
    }
}
