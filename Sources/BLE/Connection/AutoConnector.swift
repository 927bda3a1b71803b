/// Decides which of the peripherals, or devices, in range to connect to next: the strongest that is neither blocked nor
/// in its pause after a failure, one at a time, up to a limit.
package struct AutoConnector<ID: Hashable & Comparable & Sendable>: Sendable {
    /// What to do next.
    package enum Step: Equatable {
        case connect(ID)
        /// Ask again at this time.
        case wait(until: Duration)
        /// Wait for an event.
        case idle
    }

    private struct Failure {
        var count: Int
        var retry: Duration
    }

    /// The maximum number of links.
    private let limit: Int
    /// How long to keep listening after the first candidate, for a stronger one.
    private let settling: Duration
    private let backoff: Backoff
    /// The peripherals in range, with their signal strength in dBm. Nil for one with a link of another program.
    private var inRange: [ID: Int?] = [:]
    private var linked: Set<ID> = []
    private var attempt: ID?
    private var isAdapterOn = true
    private var failures: [ID: Failure] = [:]
    /// The peripherals that were disconnected by this program, until it connects to them again itself.
    private var blocked: Set<ID> = []
    /// The time since which there has been a candidate.
    private var candidateSince: Duration?

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

    package mutating func lost(_ id: ID) {
        inRange[id] = nil
        failures[id] = nil
    }

    /// Records a new link. Returns false if it is known already, or if the peripheral does not meet the criteria as far
    /// as is known.
    package mutating func linkUp(_ id: ID) -> Bool {
        guard attempt == id || inRange[id] != nil || blocked.contains(id) else { return false }
        if attempt == id { attempt = nil }
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

    /// Records that this program cancelled an attempt.
    package mutating func attemptCancelled(_ id: ID) {
        if attempt == id || inRange[id] != nil { blocked.insert(id) }
    }

    /// Records a failed attempt. Returns the pause before the next one, nil if none follows by itself.
    @discardableResult package mutating func attemptFailed(_ id: ID, now: Duration) -> Duration? {
        if attempt == id { attempt = nil }
        guard !blocked.contains(id), isAdapterOn else { return nil }
        // One that was only known by its link must be heard.
        if case .some(.none) = inRange[id] { inRange[id] = nil }
        let count = (failures[id]?.count ?? 0) + 1
        let pause = backoff.pause(afterFailures: count)
        failures[id] = Failure(count: count, retry: now + pause)
        return pause
    }

    // MARK: The next step

    /// Whether an attempt is in progress.
    package func isAttempting(_ id: ID) -> Bool { attempt == id }

    /// Returns what to do next. Takes time proportional to the number of peripherals in range.
    package mutating func next(now: Duration) -> Step {
        guard isAdapterOn, attempt == nil, linked.count < limit else {
            candidateSince = nil
            return .idle
        }
        let candidates = inRange.filter { !linked.contains($0.key) && !blocked.contains($0.key) }
        let ready = candidates.filter { failures[$0.key].map { $0.retry <= now } ?? true }
        guard !ready.isEmpty else {
            candidateSince = nil
            return candidates.keys.compactMap { failures[$0]?.retry }.min().map { .wait(until: $0) } ?? .idle
        }
        let since = candidateSince ?? now
        candidateSince = since
        // One with a link is the nearest of all: there is nothing stronger to wait for.
        let strongest = ready.max { ($0.value ?? .max, $1.key) < ($1.value ?? .max, $0.key) }!
        guard strongest.value == nil || now >= since + settling else { return .wait(until: since + settling) }
        attempt = strongest.key
        candidateSince = nil
        return .connect(strongest.key)
    }
}
