/// Which radios hear nothing although they scan, and when each is restarted.
///
/// Radios are numbers from 0. The value has no clock and no radios: it takes what happens, and when, and returns what
/// to do. An advertisement costs it a comparison. Docs/Radios.md has the rules as a table.
package struct RadioWatchdog: Sendable {
    /// The numbers of the rules.
    package struct Rules: Sendable {
        /// How long a radio that scans may hear nothing.
        package var silence = Duration.seconds(90)
        /// The pauses between the restarts of a radio that stays silent.
        package var pauses = Backoff(initial: .seconds(90), factor: 2, maximum: .seconds(1800))

        package init() {}
    }

    /// What to do.
    package enum Action: Hashable, Sendable {
        /// A radio has become silent. It has heard nothing for so long.
        case tell(radio: Int, silence: Duration)
        case restart(radio: Int, Radio.Restart)
    }

    private struct Watched {
        let restart: Radio.Restart
        var isScanning = false
        /// When it has heard something for the last time. Nil if it never has.
        var heard: Duration?
        /// When it has heard something, or began to scan.
        var last = Duration.zero
        var isSilent = false
        /// The number of restarts since it has heard something.
        var restarts = 0
        /// When it may be restarted next. Meaningless unless it is silent.
        var next = Duration.zero
    }

    private let rules: Rules
    private var watched: [Watched]

    /// - Parameter restarts: for each radio, what may be restarted.
    package init(_ restarts: [Radio.Restart], rules: Rules = Rules()) {
        self.rules = rules
        watched = restarts.map { Watched(restart: $0) }
    }

    /// Whether a radio scans and has heard nothing for too long.
    package func isSilent(_ radio: Int) -> Bool { watched[radio].isSilent && watched[radio].isScanning }

    /// The time since a radio has heard something. Nil if it never has.
    package func age(of radio: Int, now: Duration) -> Duration? { watched[radio].heard.map { now - $0 } }

    /// Records that a radio scans. One that was silent stays so until it hears something.
    package mutating func scanBegan(on radio: Int, now: Duration) {
        guard !watched[radio].isScanning else { return }
        watched[radio].isScanning = true
        watched[radio].last = now
        watched[radio].next = max(watched[radio].next, now + rules.silence)
    }

    package mutating func scanEnded(on radio: Int) { watched[radio].isScanning = false }

    /// Records an advertisement. Returns whether a silence has ended.
    package mutating func didReceive(on radio: Int, now: Duration) -> Bool {
        (watched[radio].heard, watched[radio].last) = (now, now)
        guard watched[radio].isSilent else { return false }
        (watched[radio].isSilent, watched[radio].restarts) = (false, 0)
        return true
    }

    /// When ``check(now:hasLinks:)`` is due. Nil if no radio scans.
    package var nextCheck: Duration? {
        watched.lazy.filter(\.isScanning).map { $0.isSilent ? $0.next : $0.last + rules.silence }.min()
    }

    /// Returns what is to be done.
    ///
    /// - Parameter hasLinks: whether a radio has links, which a restart of the radio would end. Then only its scan is
    ///   restarted.
    package mutating func check(now: Duration, hasLinks: (Int) -> Bool) -> [Action] {
        var actions: [Action] = []
        for radio in watched.indices where watched[radio].isScanning {
            if !watched[radio].isSilent {
                guard now - watched[radio].last >= rules.silence else { continue }
                watched[radio].isSilent = true
                watched[radio].next = now
                actions.append(.tell(radio: radio, silence: now - watched[radio].last))
            }
            guard now >= watched[radio].next else { continue }
            // If no radio hears anything, there is probably nothing to hear.
            let isAlone = !watched.contains { $0.isScanning && $0.heard.map { now - $0 < rules.silence } == true }
            guard !isAlone else {
                watched[radio].next = now + rules.silence
                continue
            }
            watched[radio].restarts += 1
            watched[radio].next = now + rules.pauses.pause(afterFailures: watched[radio].restarts)
            let isFirst = watched[radio].restarts == 1
            let part = isFirst || hasLinks(radio) ? Radio.Restart.scan : watched[radio].restart
            actions.append(.restart(radio: radio, part))
        }
        return actions
    }
}
