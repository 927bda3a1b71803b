/// Decides which of the peripherals, or devices, in range to connect to next: the strongest that is neither blocked nor
/// in its pause after a failure, one at a time, up to a limit. At the limit, a much stronger one may take the place of
/// the weakest.
package struct AutoConnector<ID: Hashable & Comparable & Sendable>: Sendable {
    /// What to do next.
    package enum Step: Equatable {
        case connect(ID)
        /// End this link, for a stronger one.
        case replace(ID)
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
    /// By how much a candidate must be stronger than a link to take its place, in dB. Nil if none does.
    private let margin: Int?
    /// How long to keep listening after the first candidate, for a stronger one.
    private let settling: Duration
    private let backoff: Backoff
    /// The peripherals in range, with their signal strength in dBm. Nil for one with a link of another program.
    private var inRange: [ID: Int?] = [:]
    private var linked: Set<ID> = []
    private var attempt: ID?
    /// The link that ends for a stronger one.
    private var leaving: ID?
    private var isAdapterOn = true
    private var failures: [ID: Failure] = [:]
    /// The peripherals that were disconnected by this program, until it connects to them again itself.
    private var blocked: Set<ID> = []
    /// The time since which there has been a candidate.
    private var candidateSince: Duration?

    package init(limit: Int, replacing margin: Int? = nil, settling: Duration, backoff: Backoff = .standard) {
        (self.limit, self.margin, self.settling, self.backoff) = (max(1, limit), margin, settling, backoff)
    }

    // MARK: Events

    /// Records whether the adapter is on. While it is off, nothing is tried, and what was in range must be heard again.
    package mutating func adapterChanged(isOn: Bool) {
        isAdapterOn = isOn
        if !isOn { (inRange, failures) = ([:], [:]) }
    }

    /// Records a peripheral in range. Returns true if this can change the next step before its time.
    package mutating func found(_ id: ID, rssi: Int?) -> Bool {
        guard let former = inRange.updateValue(rssi, forKey: id) else { return true }
        guard let margin, let rssi, linked.count >= limit else { return false }
        if linked.contains(id) { return former.map { rssi < $0 } ?? true }
        return weakestLink.map { rssi >= $0.rssi + margin } ?? false
    }

    package mutating func lost(_ id: ID) {
        inRange[id] = nil
        failures[id] = nil
    }

    /// Records a new link. Returns false if it is known already, or if the peripheral does not meet the criteria as far
    /// as is known.
    package mutating func linkUp(_ id: ID) -> Bool {
        guard attempt == id || inRange[id] != nil || blocked.contains(id) else { return false }
        // What was heard before the link says nothing about it.
        if margin != nil, inRange[id] != nil { inRange[id] = .some(nil) }
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
        if leaving == id {
            leaving = nil
        } else if isRequested {
            blocked.insert(id)
        }
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

    /// Returns what to do next. Takes time proportional to the number of peripherals in range.
    package mutating func next(now: Duration) -> Step {
        let weakest = linked.count < limit ? nil : weakestLink
        guard isAdapterOn, attempt == nil, leaving == nil, linked.count < limit || weakest != nil else {
            candidateSince = nil
            return .idle
        }
        let candidates = inRange.filter { id, rssi in
            guard !linked.contains(id), !blocked.contains(id) else { return false }
            guard let weakest, let margin else { return true }
            return rssi.map { $0 >= weakest.rssi + margin } ?? false
        }
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
        candidateSince = nil
        if let weakest {
            leaving = weakest.id
            return .replace(weakest.id)
        }
        attempt = strongest.key
        return .connect(strongest.key)
    }

    /// The weakest of the links whose peripherals advertise meanwhile, if links can be replaced.
    private var weakestLink: (id: ID, rssi: Int)? {
        guard margin != nil else { return nil }
        return linked.compactMap { id in inRange[id]?.map { (id, $0) } }.min { ($0.1, $0.0) < ($1.1, $1.0) }
    }
}
