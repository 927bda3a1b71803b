/// Decides which of the peripherals in range to connect to next: the strongest that is neither blocked nor in its pause
/// after a failure, one at a time, up to a limit.
struct AutoConnector {
    /// What to do next.
    enum Step: Equatable {
        case connect(Peripheral.ID)
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
    private var inRange: [Peripheral.ID: Int?] = [:]
    private var linked: Set<Peripheral.ID> = []
    private var attempt: Peripheral.ID?
    private var isAdapterOn = true
    private var failures: [Peripheral.ID: Failure] = [:]
    /// The peripherals that were disconnected by this program, until it connects to them again itself.
    private var blocked: Set<Peripheral.ID> = []
    /// The time since which there has been a candidate.
    private var candidateSince: Duration?

    init(limit: Int, settling: Duration, backoff: Backoff = .standard) {
        (self.limit, self.settling, self.backoff) = (max(1, limit), settling, backoff)
    }

    // MARK: Events

    /// Records whether the adapter is on. While it is off, nothing is tried, and what was in range must be heard again.
    mutating func adapterChanged(isOn: Bool) {
        isAdapterOn = isOn
        if !isOn { (inRange, failures) = ([:], [:]) }
    }

    /// Records a peripheral in range. Returns true if it was not in range before.
    mutating func found(_ id: Peripheral.ID, rssi: Int?) -> Bool {
        inRange.updateValue(rssi, forKey: id) == nil
    }

    mutating func lost(_ id: Peripheral.ID) {
        inRange[id] = nil
        failures[id] = nil
    }

    /// Records a new link. Returns false if it is known already, or if the peripheral does not meet the criteria as far
    /// as is known.
    mutating func linkUp(_ id: Peripheral.ID) -> Bool {
        guard attempt == id || inRange[id] != nil || blocked.contains(id) else { return false }
        if attempt == id { attempt = nil }
        failures[id] = nil
        blocked.remove(id)
        return linked.insert(id).inserted
    }

    /// Records the end of a link.
    ///
    /// - Parameter isRequested: whether this program ended it.
    mutating func linkEnded(_ id: Peripheral.ID, isRequested: Bool) {
        guard linked.remove(id) != nil else { return }
        // It must be heard again first: it may be out of range.
        inRange[id] = nil
        if isRequested { blocked.insert(id) }
    }

    /// Records that this program cancelled an attempt.
    mutating func attemptCancelled(_ id: Peripheral.ID) {
        if attempt == id || inRange[id] != nil { blocked.insert(id) }
    }

    /// Records a failed attempt.
    mutating func attemptFailed(_ id: Peripheral.ID, now: Duration) {
        if attempt == id { attempt = nil }
        guard !blocked.contains(id), isAdapterOn else { return }
        // One that was only known by its link must be heard.
        if case .some(.none) = inRange[id] { inRange[id] = nil }
        let count = (failures[id]?.count ?? 0) + 1
        failures[id] = Failure(count: count, retry: now + backoff.pause(afterFailures: count))
    }

    // MARK: The next step

    /// Returns what to do next. Takes time proportional to the number of peripherals in range.
    mutating func next(now: Duration) -> Step {
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
        let strongest = ready.max { ($0.value ?? .max, $1.key.rawValue) < ($1.value ?? .max, $0.key.rawValue) }!
        guard strongest.value == nil || now >= since + settling else { return .wait(until: since + settling) }
        attempt = strongest.key
        candidateSince = nil
        return .connect(strongest.key)
    }
}
