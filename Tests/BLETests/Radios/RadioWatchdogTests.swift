import Testing

@testable import BLE

/// Radios that hear nothing, in virtual time.
@Suite struct RadioWatchdogTests {
    /// Two radios that have begun to scan at 0, of which the first hears something each second.
    private struct Pair {
        var watchdog: RadioWatchdog
        var links: Set<Int> = []
        /// What is done, by time in seconds.
        var done: [(Int, RadioWatchdog.Action)] = []

        init(_ restarts: [Radio.Restart] = [.scan, .scan]) {
            watchdog = RadioWatchdog(restarts)
            for radio in restarts.indices { watchdog.scanBegan(on: radio, now: .zero) }
        }

        /// Lets time pass from after one second to another.
        mutating func pass(from start: Int, to end: Int, hearing radios: [Int] = [0]) {
            for second in (start + 1)...end {
                let now = Duration.seconds(second)
                for radio in radios { _ = watchdog.didReceive(on: radio, now: now) }
                guard let next = watchdog.nextCheck, next <= now else { continue }
                done += watchdog.check(now: now, hasLinks: links.contains).map { (second, $0) }
            }
        }

        func check(_ expected: [(Int, RadioWatchdog.Action)], sourceLocation: SourceLocation = #_sourceLocation) {
            #expect(done.map(\.0) == expected.map(\.0), sourceLocation: sourceLocation)
            #expect(done.map(\.1) == expected.map(\.1), sourceLocation: sourceLocation)
        }
    }

    @Test func `a radio that hears nothing for 90 s while another does is told and restarted with growing pauses`() {
        var pair = Pair()
        pair.pass(from: 0, to: 800)
        pair.check([
            (90, .tell(radio: 1, silence: .seconds(90))), (90, .restart(radio: 1, .scan)),
            (180, .restart(radio: 1, .scan)), (360, .restart(radio: 1, .scan)), (720, .restart(radio: 1, .scan)),
        ])
        #expect(pair.watchdog.isSilent(1))
        #expect(!pair.watchdog.isSilent(0))
        #expect(pair.watchdog.age(of: 0, now: .seconds(801)) == .seconds(1))
        #expect(pair.watchdog.age(of: 1, now: .seconds(801)) == nil)
    }

    @Test func `pauses are at most 1800 s`() {
        var pair = Pair()
        pair.pass(from: 0, to: 10_000)
        let times = pair.done.dropFirst().map(\.0)
        #expect(Array(zip(times.dropFirst(), times).map { $0 - $1 }.suffix(3)) == [1800, 1800, 1800])
    }

    @Test func `the radio itself is restarted only where it is allowed, after its scan`() {
        var pair = Pair([.scan, .radio])
        pair.pass(from: 0, to: 400)
        pair.check([
            (90, .tell(radio: 1, silence: .seconds(90))), (90, .restart(radio: 1, .scan)),
            (180, .restart(radio: 1, .radio)), (360, .restart(radio: 1, .radio)),
        ])
    }

    @Test func `a radio with links is not restarted itself`() {
        var pair = Pair([.scan, .radio])
        pair.links = [1]
        pair.pass(from: 0, to: 200)
        pair.check([
            (90, .tell(radio: 1, silence: .seconds(90))), (90, .restart(radio: 1, .scan)),
            (180, .restart(radio: 1, .scan)),
        ])
    }

    @Test func `if no radio hears anything, it is only told, until one does`() {
        var pair = Pair()
        pair.pass(from: 0, to: 500, hearing: [])
        pair.check([
            (90, .tell(radio: 0, silence: .seconds(90))), (90, .tell(radio: 1, silence: .seconds(90))),
        ])
        pair.pass(from: 500, to: 600, hearing: [1])
        pair.check([
            (90, .tell(radio: 0, silence: .seconds(90))), (90, .tell(radio: 1, silence: .seconds(90))),
            (540, .restart(radio: 0, .scan)),
        ])
    }

    @Test func `one radio alone is only told`() {
        var pair = Pair([.radio])
        pair.pass(from: 0, to: 1000, hearing: [])
        pair.check([(90, .tell(radio: 0, silence: .seconds(90)))])
    }

    @Test func `a radio that hears again is healed, and its next silence counts from the beginning`() {
        var pair = Pair()
        pair.pass(from: 0, to: 200)
        let hasEnded = (1...2).map { _ in pair.watchdog.didReceive(on: 1, now: .seconds(200)) }
        #expect(hasEnded == [true, false])
        #expect(!pair.watchdog.isSilent(1))
        pair.done = []
        pair.pass(from: 200, to: 400)
        pair.check([
            (290, .tell(radio: 1, silence: .seconds(90))), (290, .restart(radio: 1, .scan)),
            (380, .restart(radio: 1, .scan)),
        ])
    }

    @Test func `a radio that does not scan is not silent, and has its time again when it scans`() {
        var pair = Pair()
        pair.watchdog.scanEnded(on: 1)
        pair.pass(from: 0, to: 300)
        pair.check([])
        pair.watchdog.scanBegan(on: 1, now: .seconds(300))
        // It was asked again for what it does.
        pair.watchdog.scanBegan(on: 1, now: .seconds(350))
        pair.pass(from: 300, to: 395)
        pair.check([(390, .tell(radio: 1, silence: .seconds(90))), (390, .restart(radio: 1, .scan))])
        // Its restart is no new beginning.
        pair.watchdog.scanEnded(on: 1)
        #expect(!pair.watchdog.isSilent(1))
        pair.watchdog.scanBegan(on: 1, now: .seconds(396))
        #expect(pair.watchdog.isSilent(1))
        pair.done = []
        pair.pass(from: 396, to: 490)
        pair.check([(486, .restart(radio: 1, .scan))])
        pair.watchdog.scanEnded(on: 0)
        pair.watchdog.scanEnded(on: 1)
        #expect(pair.watchdog.nextCheck == nil)
    }
}
