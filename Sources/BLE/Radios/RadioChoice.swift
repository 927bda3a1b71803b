/// What several radios hear of each peripheral, and which of them a link is made with.
///
/// Radios are numbers from 0. The value has no clock and no radios: it takes what was heard, when, and in which state
/// the radios are, and returns decisions. An advertisement costs one look-up, however many peripherals are heard, and
/// the number of remembered peripherals is bounded. Docs/Radios.md has the rules as a table.
package struct RadioChoice: Sendable {
    /// The numbers of the rules.
    package struct Rules: Sendable {
        /// The weight of a new strength in the smoothed one.
        package var smoothing = 0.3
        /// How much stronger another radio must be heard to become the source of a peripheral's advertisements, in dB.
        package var hysteresis = 16.0
        /// What is added to that for the radio that was the source before, in dB.
        package var returnMargin = 6.0
        /// The strength assumed of a radio that does not report any, in dBm.
        package var unknownStrength = -100.0
        /// What a radio may be silent beyond one and a half of its longest gap before another becomes the source.
        package var slack = Duration.seconds(2)
        /// How long a radio may be silent whose gaps are not known yet.
        package var unknownInterval = Duration.seconds(10)
        /// The longest time in which no radio's advertisement is passed on of a peripheral that one hears more often.
        package var longestSilence = Duration.seconds(7)
        /// The longest gap. After a longer one, gaps are learned anew.
        package var longestGap = Duration.seconds(900)
        /// What the source counts more when a link is made, in dB.
        package var sourceBonus = 6.0
        /// What an attempt in progress on a radio counts less, in dB, and the most that attempts count together.
        package var connecting = (each: 6.0, most: 12.0)
        /// What a failed attempt counts less, in dB, and the most that failures count together.
        package var failure = (each: 8.0, most: 24.0)
        /// How long failures count after the last one.
        package var failureMemory = Duration.seconds(300)
        /// What a radio with a single free slot counts less, in dB.
        package var lastSlot = 6.0
        /// The maximum number of peripherals that are remembered because they were heard.
        package var peripheralLimit = 8192

        package init() {}
    }

    /// The state of a radio, for a decision.
    package struct RadioState: Sendable {
        /// Whether it can make links now.
        package var isOn: Bool
        /// The number of further links that it can make. Nil if it does not say so.
        package var freeSlots: Int?
        /// Whether it has a link to the peripheral, such as that of another program.
        package var isLinked: Bool

        package init(isOn: Bool = true, freeSlots: Int? = nil, isLinked: Bool = false) {
            (self.isOn, self.freeSlots, self.isLinked) = (isOn, freeSlots, isLinked)
        }
    }

    /// A radio's way to a peripheral, as the decision sees it.
    package struct Path: Hashable, Sendable {
        /// The number of the radio.
        package var radio: Int
        /// The smoothed strength, in dBm. Nil if the radio has not heard the peripheral, or reports no strength.
        package var rssi: Double?
        /// The time since the last advertisement. Nil if there was none.
        package var age: Duration?
        /// The longest of the last gaps between advertisements. Nil before the second.
        package var interval: Duration?
        /// The number of further links that the radio can make. Nil if it does not say so.
        package var freeSlots: Int?
        /// The strength with what counts for and against the radio, in dBm.
        package var score: Double
        /// Whether the radio has heard the peripheral for the last time longer ago than it should.
        package var isStale: Bool
        /// Whether the radio has a link to the peripheral, such as that of another program.
        package var isLinked: Bool
        /// Why no link is made with the radio. Nil if one may be made.
        package var obstacle: RadioPath.Obstacle?
    }

    /// What one radio has heard of one peripheral.
    private struct Heard {
        let radio: Int
        var strength: Double?
        var at: Duration
        /// The scan of the radio during which that was. A gap between two scans is not the peripheral's.
        var scan: Int
        private var learned = LearnedInterval()

        var interval: Duration? { learned.value }

        init(_ radio: Int, _ strength: Double?, at now: Duration, scan: Int) {
            (self.radio, self.strength, at, self.scan) = (radio, strength, now, scan)
        }

        mutating func hear(_ strength: Double?, at now: Duration, scan: Int, _ rules: Rules) {
            if let strength {
                self.strength = self.strength.map { $0 + rules.smoothing * (strength - $0) } ?? strength
            }
            defer { (at, self.scan) = (now, scan) }
            let gap = now - at
            guard scan == self.scan, gap > .zero else { return }
            guard gap <= rules.longestGap else {
                learned = LearnedInterval()
                return
            }
            learned.add(gap)
        }

        /// How long the radio may be silent before another becomes the source.
        func patience(_ rules: Rules) -> Duration {
            learned.patience(slack: rules.slack) ?? rules.unknownInterval
        }
    }

    /// What is known of a peripheral that was heard.
    private struct Sighting {
        /// The radio whose advertisements are passed on, and the one before it.
        var source: Int
        var formerSource: Int?
        /// Those of the radios that have heard it, in the order in which they first did.
        var heard: [Heard]
        /// When an advertisement was passed on for the last time, of whichever radio.
        var passed: Duration

        func position(of radio: Int) -> Int? { heard.firstIndex { $0.radio == radio } }
    }

    private struct Failures {
        var count: Int
        var last: Duration
    }

    private struct Hold {
        let radio: Int
        var isLinked: Bool
    }

    private struct PathKey: Hashable {
        let peripheral: Peripheral.ID
        let radio: Int
    }

    package let rules: Rules
    /// The peripherals that were heard since the last turnover, and those before. A turnover forgets the latter: so no
    /// advertisement has to look for the peripheral that was silent for longest.
    private var recent: [Peripheral.ID: Sighting] = [:]
    private var former: [Peripheral.ID: Sighting] = [:]
    /// The number of scans that each radio has begun.
    private var scans: [Int]
    /// The radio that has a link to a peripheral, or makes one.
    private var holds: [Peripheral.ID: Hold] = [:]
    /// The radios that may have a link to a peripheral, or go on with an attempt: those on which one was begun since
    /// the last disconnect.
    private var begun: [Peripheral.ID: Set<Int>] = [:]
    private var connecting: [Int]
    private var failures: [PathKey: Failures] = [:]
    /// The radios with keys of a peripheral.
    private var bonds: [Peripheral.ID: Set<Int>] = [:]
    private var limits: [Peripheral.ID: Set<Int>] = [:]

    package init(radios: Int, rules: Rules = Rules()) {
        self.rules = rules
        scans = Array(repeating: 0, count: radios)
        connecting = Array(repeating: 0, count: radios)
    }

    /// The number of peripherals that are remembered because they were heard.
    package var count: Int { recent.count + former.count }

    // MARK: Advertisements

    /// Records an advertisement. Returns whether it is passed on: whether the radio is the peripheral's source now, or
    /// nothing was passed on for too long.
    package mutating func didReceive(_ id: Peripheral.ID, rssi: Int?, on radio: Int, now: Duration) -> Bool {
        let strength = rssi.map(Double.init)
        let scan = scans[radio]
        guard let index = recent.index(forKey: id) else {
            let known = former.removeValue(forKey: id)
            if recent.count >= max(1, rules.peripheralLimit / 2) { (former, recent) = (recent, [:]) }
            guard var sighting = known else {
                recent[id] = Sighting(
                    source: radio, heard: [Heard(radio, strength, at: now, scan: scan)], passed: now)
                return true
            }
            let isPassed = Self.record(&sighting, radio, strength, now, scan, rules)
            recent[id] = sighting
            return isPassed
        }
        return Self.record(&recent.values[index], radio, strength, now, scan, rules)
    }

    private static func record(
        _ sighting: inout Sighting, _ radio: Int, _ strength: Double?, _ now: Duration, _ scan: Int, _ rules: Rules
    ) -> Bool {
        let position: Int
        if let known = sighting.position(of: radio) {
            position = known
            sighting.heard[known].hear(strength, at: now, scan: scan, rules)
        } else {
            position = sighting.heard.count
            sighting.heard.append(Heard(radio, strength, at: now, scan: scan))
        }
        let silence = now - sighting.passed
        sighting.passed = now
        guard sighting.source != radio else { return true }
        if let source = sighting.position(of: sighting.source).map({ sighting.heard[$0] }) {
            let own = sighting.heard[position]
            // A radio that hears the peripheral often does not wait for one that hears it now and then.
            let isSilent = now - source.at > min(source.patience(rules), own.patience(rules))
            let margin = rules.hysteresis + (sighting.formerSource == radio ? rules.returnMargin : 0)
            let strengths = [own, source].map { $0.strength ?? rules.unknownStrength }
            guard isSilent || strengths[0] >= strengths[1] + margin else {
                // This radio's next one may be too late.
                if silence + (own.interval ?? rules.longestSilence / 2) > rules.longestSilence { return true }
                sighting.passed = now - silence
                return false
            }
            sighting.formerSource = sighting.source
        }
        sighting.source = radio
        return true
    }

    /// Records that a radio begins to scan. The time since its last scan is no peripheral's interval.
    package mutating func scanBegan(on radio: Int) { scans[radio] += 1 }

    /// Records that a radio's system has forgotten a peripheral. Returns whether no radio knows it any longer.
    package mutating func didRemove(_ id: Peripheral.ID, on radio: Int) -> Bool {
        failures[PathKey(peripheral: id, radio: radio)] = nil
        guard var sighting = recent[id] ?? former[id] else { return true }
        Self.forget(radio, &sighting)
        let isForgotten = sighting.heard.isEmpty
        if recent[id] != nil { recent[id] = isForgotten ? nil : sighting }
        if former[id] != nil { former[id] = isForgotten ? nil : sighting }
        return isForgotten
    }

    /// Removes what a radio has heard. The strongest of the others is the source from then on.
    private static func forget(_ radio: Int, _ sighting: inout Sighting) {
        sighting.heard.removeAll { $0.radio == radio }
        if sighting.formerSource == radio { sighting.formerSource = nil }
        guard sighting.source == radio else { return }
        sighting.source = sighting.heard.max { $0.strength ?? -200 < $1.strength ?? -200 }?.radio ?? radio
    }

    /// Records that a radio is off or gone: it is no peripheral's source any longer, and has no link. Returns the
    /// peripherals whose links have ended with it.
    package mutating func didLose(_ radio: Int) -> [Peripheral.ID] {
        func forget(_ sighting: Sighting) -> Sighting? {
            var sighting = sighting
            Self.forget(radio, &sighting)
            return sighting.heard.isEmpty ? nil : sighting
        }
        recent = recent.compactMapValues(forget)
        former = former.compactMapValues(forget)
        failures = failures.filter { $0.key.radio != radio }
        for id in begun.filter({ $0.value.contains(radio) }).keys { removeBegun(id, on: radio) }
        let ended = holds.filter { $0.value.radio == radio && $0.value.isLinked }.map(\.key).sorted()
        for id in ended { holds[id] = nil }
        return ended
    }

    /// The radio whose advertisements of a peripheral are passed on.
    package func source(of id: Peripheral.ID) -> Int? { (recent[id] ?? former[id])?.source }

    // MARK: Wishes

    /// Sets which radios may have a link to a peripheral. Nil for all.
    package mutating func setRadios(_ radios: Set<Int>?, for id: Peripheral.ID) { limits[id] = radios }

    /// Records whether a radio has keys of a peripheral. What has keys goes only to radios that have them.
    package mutating func setBonded(_ isBonded: Bool, _ id: Peripheral.ID, on radio: Int) {
        var radios = bonds[id] ?? []
        if isBonded { radios.insert(radio) } else { radios.remove(radio) }
        bonds[id] = radios.isEmpty ? nil : radios
    }

    /// The radios that have keys of a peripheral.
    package func bonds(of id: Peripheral.ID) -> Set<Int> { bonds[id] ?? [] }

    // MARK: Links

    /// The radio that has a link to a peripheral, or makes one.
    package func holder(of id: Peripheral.ID) -> Int? { holds[id]?.radio }

    /// Whether a radio has links, or makes one.
    package func hasLinks(on radio: Int) -> Bool { holds.values.contains { $0.radio == radio } }

    /// Whether a radio makes a link to a peripheral, or has not ended an attempt yet.
    package func isConnecting(_ id: Peripheral.ID) -> Bool { holds[id].map { !$0.isLinked } ?? false }

    /// The radios that may have a link to a peripheral, or go on with an attempt.
    package func begun(_ id: Peripheral.ID) -> Set<Int> { begun[id] ?? [] }

    /// Begins an attempt to connect. Returns false if there is a link or an attempt: no two radios hold one peripheral.
    package mutating func beginConnecting(_ id: Peripheral.ID, on radio: Int) -> Bool {
        guard holds[id] == nil else { return false }
        holds[id] = Hold(radio: radio, isLinked: false)
        begun[id, default: []].insert(radio)
        connecting[radio] += 1
        return true
    }

    /// Ends an attempt.
    ///
    /// - Parameters:
    ///   - isLinked: whether there is a link.
    ///   - hasFailed: whether the attempt counts as a failure. One that was cancelled does not.
    package mutating func endConnecting(
        _ id: Peripheral.ID, on radio: Int, isLinked: Bool, hasFailed: Bool, now: Duration
    ) {
        connecting[radio] -= 1
        let key = PathKey(peripheral: id, radio: radio)
        if isLinked {
            holds[id] = Hold(radio: radio, isLinked: true)
            failures[key] = nil
        } else {
            holds[id] = nil
        }
        guard hasFailed else { return }
        if failures.count >= rules.peripheralLimit { failures.removeAll(keepingCapacity: true) }
        failures[key] = Failures(count: failureCount(key, now) + 1, last: now)
    }

    /// Records that a link has ended. Returns whether that is the central's: false for the link of another program over
    /// another radio.
    package mutating func linkEnded(_ id: Peripheral.ID, on radio: Int) -> Bool {
        guard let hold = holds[id] else { return true }
        guard hold.radio == radio else { return false }
        // The attempt in progress ends by itself.
        if hold.isLinked { (holds[id], begun[id]) = (nil, nil) }
        return true
    }

    /// Records that a disconnect has ended a radio's link to a peripheral, or its attempt.
    package mutating func didDisconnect(_ id: Peripheral.ID, on radio: Int) {
        removeBegun(id, on: radio)
        if let hold = holds[id], hold.isLinked, hold.radio == radio { holds[id] = nil }
    }

    /// Records that a radio has no link to a peripheral, although it may still make one, until a disconnect.
    package mutating func linkIsDown(_ id: Peripheral.ID, on radio: Int) {
        if let hold = holds[id], hold.isLinked, hold.radio == radio { holds[id] = nil }
    }

    private mutating func removeBegun(_ id: Peripheral.ID, on radio: Int) {
        begun[id]?.remove(radio)
        if begun[id]?.isEmpty == true { begun[id] = nil }
    }

    private func failureCount(_ key: PathKey, _ now: Duration) -> Int {
        guard let failures = failures[key], now - failures.last <= rules.failureMemory else { return 0 }
        return failures.count
    }

    // MARK: The way to a peripheral

    /// The ways to a peripheral, the best first: those without obstacle before the others, those with a link already,
    /// those that are heard before those that have become silent, and then by score.
    package func paths(to id: Peripheral.ID, _ states: [RadioState], now: Duration) -> [Path] {
        let sighting = recent[id] ?? former[id]
        let bonds = bonds[id]
        return states.indices.map { radio in
            let heard = sighting?.heard.first { $0.radio == radio }
            let state = states[radio]
            var score = heard?.strength ?? rules.unknownStrength
            if sighting?.source == radio { score += rules.sourceBonus }
            score -= min(Double(connecting[radio]) * rules.connecting.each, rules.connecting.most)
            let failed = failureCount(PathKey(peripheral: id, radio: radio), now)
            score -= min(Double(failed) * rules.failure.each, rules.failure.most)
            if state.freeSlots == 1 { score -= rules.lastSlot }
            return Path(
                radio: radio, rssi: heard?.strength, age: heard.map { now - $0.at }, interval: heard?.interval,
                freeSlots: state.freeSlots, score: score,
                isStale: heard.map { now - $0.at > $0.patience(rules) } ?? true, isLinked: state.isLinked,
                obstacle: obstacle(to: id, radio, state, bonds))
        }.sorted { Self.rank($0) > Self.rank($1) }
    }

    private func obstacle(
        to id: Peripheral.ID, _ radio: Int, _ state: RadioState, _ bonds: Set<Int>?
    ) -> RadioPath.Obstacle? {
        if let hold = holds[id] { return hold.radio == radio ? nil : .heldByAnother }
        if limits[id]?.contains(radio) == false { return .notAllowed }
        if bonds?.contains(radio) == false { return .keysElsewhere }
        if !state.isOn { return .off }
        if let slots = state.freeSlots, slots <= 0 { return .noSlot }
        return nil
    }

    /// Radios of equal rank come in the order of their numbers.
    private static func rank(_ path: Path) -> (Int, Int, Double, Int) {
        let heard = path.age == nil ? 0 : path.isStale ? 1 : 2
        return (path.obstacle == nil ? 1 : 0, path.isLinked ? 3 : heard, path.score, -path.radio)
    }
}
