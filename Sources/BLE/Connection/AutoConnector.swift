/// Decides which of the peripherals, or devices, in range to connect to next: the strongest that is neither blocked nor
/// in a pause, one at a time, up to a limit. Those that were released, or failed last, come after the others. But after
/// each failure of one that was tried for the first time, the one whose turn is longest ago is next: ever new addresses
/// that accept no link do not keep it waiting.
package struct AutoConnector<ID: Hashable & Comparable & Sendable>: Sendable {
    /// What to do next.
    package enum Step: Equatable {
        case connect(ID)
        /// Ask again at this time.
        case wait(until: Duration)
        /// Wait for an event.
        case idle
    }

    private struct Attempt {
        let id: ID
        /// Whether the peripheral had no turn before.
        let isFirst: Bool
        /// Whether it is given up for another peripheral.
        var isReleased = false
    }

    /// A release, or a failed attempt, after which others come first.
    private struct Turn {
        /// A number that increases with each turn.
        let number: Int
        /// When the peripheral is a candidate again.
        let end: Duration
        /// The number of failures in a row.
        var failureCount = 0
    }

    /// The maximum number of links.
    private let limit: Int
    /// How long to keep listening after the first candidate, for a stronger one.
    private let settling: Duration
    private let backoff: Backoff
    /// The peripherals in range, with their signal strength in dBm. Nil for one with a link of another program.
    private var inRange: [ID: Int?] = [:]
    private var linked: Set<ID> = []
    private var attempt: Attempt?
    private var isAdapterOn = true
    private var failures: [ID: Turn] = [:]
    /// The peripherals that were disconnected by this program, until it connects to them again itself.
    private var blocked: Set<ID> = []
    /// The last releases, also of peripherals out of range: they are not the first when they are heard again.
    private var released: [ID: Turn] = [:]
    private var lastTurn = 0
    /// The turn of the last attempt if it was the first of its peripheral, and failed.
    private var failedFirst: Int?
    /// The time since which there has been a candidate.
    private var candidateSince: Duration?

    /// The number of peripherals whose release, or failure, is remembered.
    private static var maximumTurns: Int { 1024 }

    package init(limit: Int, settling: Duration, backoff: Backoff = .standard) {
        (self.limit, self.settling, self.backoff) = (max(1, limit), settling, backoff)
    }

    // MARK: Events

    /// Records whether the adapter is on. While it is off, nothing is tried, and what was in range must be heard again.
    package mutating func adapterChanged(isOn: Bool) {
        isAdapterOn = isOn
        if !isOn { (inRange, failures) = ([:], [:]) }
    }

    /// Records a peripheral in range. Returns true if it was not in range before.
    package mutating func found(_ id: ID, rssi: Int?) -> Bool {
        inRange.updateValue(rssi, forKey: id) == nil
    }

    /// Records a peripheral that is no longer in range. Its failures are remembered: it may be back soon.
    package mutating func lost(_ id: ID) { inRange[id] = nil }

    /// Records a new link. Returns false if it is known already, or if the peripheral does not meet the criteria as far
    /// as is known.
    package mutating func linkUp(_ id: ID) -> Bool {
        guard isAttempting(id) || inRange[id] != nil || blocked.contains(id) || released[id] != nil else {
            return false
        }
        if isAttempting(id) { attempt = nil }
        failures[id] = nil
        blocked.remove(id)
        return linked.insert(id).inserted
    }

    /// Records the end of a link. Returns false if the link is not known.
    ///
    /// - Parameter isRequested: whether this program ended it.
    @discardableResult package mutating func linkEnded(_ id: ID, isRequested: Bool) -> Bool {
        guard linked.remove(id) != nil else { return false }
        // It must be heard again first: it may be out of range.
        inRange[id] = nil
        if isRequested { blocked.insert(id) }
        return true
    }

    /// Records the end of a link that this program did not ask for.
    ///
    /// - Parameter isEarly: whether it counts as a failed attempt: the peripheral comes after the others, and the pause
    ///   grows with each such end in a row. One that accepts links only to drop them could keep others waiting.
    package mutating func linkEnded(_ id: ID, isEarly: Bool, now: Duration) {
        guard linkEnded(id, isRequested: false) else { return }
        guard isEarly else {
            released[id]?.failureCount = 0
            return
        }
        let count = (released[id]?.failureCount ?? 0) + 1
        released[id] = turn(end: now + backoff.pause(afterFailures: count), failureCount: count)
        Self.removeOldest(of: &released)
    }

    /// Records that this program ends, or has ended, a link or an attempt to give its place to another. Ignores a
    /// peripheral of which nothing is known here: it may not meet the criteria.
    ///
    /// - Parameter end: when the peripheral is a candidate again, after those that were released earlier or never.
    package mutating func release(_ id: ID, until end: Duration) {
        guard isKnown(id) else { return }
        blocked.remove(id)
        if isAttempting(id) { attempt?.isReleased = true }
        released[id] = turn(end: end)
        Self.removeOldest(of: &released)
    }

    private func isKnown(_ id: ID) -> Bool {
        isAttempting(id) || linked.contains(id) || inRange[id] != nil || blocked.contains(id) || turn(of: id) != nil
    }

    private mutating func turn(end: Duration, failureCount: Int = 0) -> Turn {
        lastTurn += 1
        return Turn(number: lastTurn, end: end, failureCount: failureCount)
    }

    private static func removeOldest(of turns: inout [ID: Turn]) {
        guard turns.count > maximumTurns else { return }
        if let oldest = turns.min(by: { $0.value.number < $1.value.number })?.key { turns[oldest] = nil }
    }

    /// Records the beginning of the attempt that ``next(now:)`` has decided on. Returns false if it must not be made,
    /// because its peripheral was released, or has a link, since then.
    package mutating func attemptBegins(_ id: ID) -> Bool {
        guard let attempt, attempt.id == id else { return false }
        if attempt.isReleased { self.attempt = nil }
        return !attempt.isReleased
    }

    /// Records that the attempt that ``next(now:)`` has decided on is not made. Its peripheral must be heard again.
    package mutating func attemptWithdrawn(_ id: ID) {
        if isAttempting(id) { attempt = nil }
        inRange[id] = nil
    }

    /// Records that this program cancelled an attempt.
    package mutating func attemptCancelled(_ id: ID) {
        if let attempt, attempt.id == id, attempt.isReleased { return }
        if isAttempting(id) || inRange[id] != nil { blocked.insert(id) }
    }

    /// Records a failed attempt. Returns the pause before the next one, nil if none follows by itself.
    @discardableResult package mutating func attemptFailed(_ id: ID, now: Duration) -> Duration? {
        let ended = isAttempting(id) ? attempt : nil
        if ended != nil { attempt = nil }
        guard !blocked.contains(id), isAdapterOn else { return nil }
        // That it was cancelled is not its failure.
        if ended?.isReleased == true, let end = released[id]?.end { return max(.zero, end - now) }
        // One that was only known by its link must be heard.
        if case .some(.none) = inRange[id] { inRange[id] = nil }
        let count = (failures[id]?.failureCount ?? 0) + 1
        let pause = backoff.pause(afterFailures: count)
        failures[id] = turn(end: now + pause, failureCount: count)
        if ended?.isFirst == true { failedFirst = lastTurn }
        Self.removeOldest(of: &failures)
        return pause
    }

    // MARK: The next step

    /// Whether a peripheral in range has no link because of the limit.
    package var isAnyWaiting: Bool {
        linked.count >= limit && inRange.keys.contains { !linked.contains($0) && !blocked.contains($0) }
    }

    /// Whether an attempt is in progress.
    package func isAttempting(_ id: ID) -> Bool { attempt?.id == id }

    /// Returns what to do next. Takes time proportional to the number of peripherals in range.
    package mutating func next(now: Duration) -> Step {
        guard isAdapterOn, attempt == nil, linked.count < limit else {
            candidateSince = nil
            return .idle
        }
        let candidates = inRange.filter { !linked.contains($0.key) && !blocked.contains($0.key) }
        let ready = candidates.filter { pauseEnd(of: $0.key).map { $0 <= now } ?? true }
        guard let best = longestAgo(ready) ?? ready.min(by: { precedence(of: $0) < precedence(of: $1) }) else {
            candidateSince = nil
            return candidates.keys.compactMap { pauseEnd(of: $0) }.min().map { .wait(until: $0) } ?? .idle
        }
        let since = candidateSince ?? now
        candidateSince = since
        // One with a link is the nearest of all: there is nothing stronger to wait for.
        guard best.value == nil || now >= since + settling else { return .wait(until: since + settling) }
        attempt = Attempt(id: best.key, isFirst: turn(of: best.key) == nil)
        (candidateSince, failedFirst) = (nil, nil)
        return .connect(best.key)
    }

    /// When a peripheral may be connected to again. Nil if it was neither released nor failed last.
    private func pauseEnd(of id: ID) -> Duration? {
        let ends = [failures[id]?.end, released[id]?.end].compactMap { $0 }
        return ends.max()
    }

    /// The number of a peripheral's last turn. Nil if it had none.
    private func turn(of id: ID) -> Int? {
        [released[id]?.number, failures[id]?.number].compactMap { $0 }.max()
    }

    /// After the failure of one that was tried for the first time: of those whose turns are longer ago, the first. One
    /// with a link comes before it.
    private func longestAgo(_ candidates: [ID: Int?]) -> (key: ID, value: Int?)? {
        guard let failedFirst, candidates.values.allSatisfy({ $0 != nil }) else { return nil }
        let earlier = candidates.filter { turn(of: $0.key).map { $0 < failedFirst } ?? false }
        return earlier.min { precedence(of: $0) < precedence(of: $1) }
    }

    /// Lower is earlier: those that had no turn, then those whose release or failure is longest ago; among those
    /// without a turn the strongest.
    private func precedence(of candidate: (key: ID, value: Int?)) -> (Int, Int, ID) {
        let (id, rssi) = candidate
        return (turn(of: id) ?? 0, -(rssi ?? .max), id)
    }
}
