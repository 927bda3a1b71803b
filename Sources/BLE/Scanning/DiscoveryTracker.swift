/// The peripherals that one scan has seen. Turns advertisements into found, updated and lost.
struct DiscoveryTracker {
    enum Change: Equatable {
        case found
        case updated
    }

    /// How long a peripheral may be silent before it is lost. Nil to never report it lost.
    let staleAfter: Duration?
    /// Whether that holds only for peripherals whose advertising interval is not known yet.
    let learnsIntervals: Bool
    /// The shortest time after which a peripheral is lost if intervals are learned.
    let minimumPatience: Duration
    /// Whether to report every advertisement, not only changed ones.
    let duplicates: Bool
    /// Whether to report changed advertisements at all.
    let reportsUpdates: Bool
    let criteria: DiscoveryCriteria
    private var seen: [Peripheral.ID: Sighting] = [:]

    /// The number of times that the scan has waited. A gap during which it did is not the peripheral's.
    private var interruptions = 0
    /// The longest gap that is learned from.
    private static let longestGap = Duration.seconds(900)

    private struct Sighting {
        /// The last advertisement that was reported. Nil if it will not be compared.
        var reported: Advertisement?
        /// The name that was reported with it.
        var identity: String?
        var at: Duration
        var interval = LearnedInterval()
        var interruptions = 0
    }

    /// The number of peripherals seen.
    var count: Int { seen.count }

    init(
        criteria: DiscoveryCriteria, duplicates: Bool, staleAfter: Duration?, learnsIntervals: Bool = false,
        minimumPatience: Duration = .zero, reportsUpdates: Bool = true
    ) {
        (self.learnsIntervals, self.minimumPatience) = (learnsIntervals, minimumPatience)
        self.criteria = criteria
        self.duplicates = duplicates
        self.reportsUpdates = reportsUpdates
        self.staleAfter = staleAfter
    }

    /// Records an advertisement that was received at `now`. Returns the change to report, if there is one.
    mutating func record(
        _ id: Peripheral.ID, _ advertisement: Advertisement, identity: String? = nil, now: Duration
    ) -> Change? {
        guard criteria.matches(advertisement, from: id, identity: identity) else { return nil }
        let isCompared = reportsUpdates && !duplicates
        guard let index = seen.index(forKey: id) else {
            seen[id] = Sighting(
                reported: isCompared ? advertisement : nil, identity: identity, at: now, interruptions: interruptions)
            return .found
        }
        if learnsIntervals { learn(&seen.values[index], now) }
        seen.values[index].at = now
        guard reportsUpdates else { return nil }
        guard isCompared, var comparable = seen.values[index].reported else { return .updated }
        comparable.rssi = advertisement.rssi
        if comparable == advertisement, seen.values[index].identity == identity { return nil }
        seen.values[index].reported = advertisement
        seen.values[index].identity = identity
        return .updated
    }

    private func learn(_ sighting: inout Sighting, _ now: Duration) {
        let gap = now - sighting.at
        if sighting.interruptions == interruptions, gap > .zero, gap <= Self.longestGap { sighting.interval.add(gap) }
        sighting.interruptions = interruptions
    }

    /// How long a peripheral may be silent. Nil for ever.
    private func patience(_ sighting: Sighting) -> Duration? {
        guard learnsIntervals, let patience = sighting.interval.patience() ?? staleAfter else { return staleAfter }
        return max(patience, minimumPatience)
    }

    /// Records that the scan waits.
    mutating func interrupt() { interruptions += 1 }

    /// Records a sign of life other than an advertisement: silence counts from `now`.
    mutating func refreshLastSeen(_ id: Peripheral.ID, now: Duration) {
        seen[id]?.at = now
    }

    func hasSeen(_ id: Peripheral.ID) -> Bool { seen[id] != nil }

    /// Removes a peripheral that the system has removed. Returns true if this scan had reported it.
    mutating func removed(_ id: Peripheral.ID) -> Bool {
        seen.removeValue(forKey: id) != nil
    }

    /// Removes and returns the peripherals that have been silent for too long, in the order in which they were last
    /// seen. A peripheral with a link counts as seen now.
    mutating func removeStale(now: Duration, isConnected: (Peripheral.ID) -> Bool) -> [Peripheral.ID] {
        guard staleAfter != nil else { return [] }
        var gone = seen.filter { sighting in patience(sighting.value).map { sighting.value.at + $0 <= now } == true }
        for id in gone.keys {
            if isConnected(id) {
                gone[id] = nil
                seen[id]?.at = now
            } else {
                seen[id] = nil
            }
        }
        return gone.sorted { $0.value.at < $1.value.at }.map(\.key)
    }
}
