/// The peripherals that one scan has seen. Turns advertisements into found, updated and lost.
struct DiscoveryTracker {
    enum Change: Equatable {
        case found
        case updated
    }

    /// How long a peripheral may be silent before it is lost. Nil to never report it lost.
    let staleAfter: Duration?
    /// Whether to report every advertisement, not only changed ones.
    let duplicates: Bool
    let criteria: DiscoveryCriteria
    private var seen: [Peripheral.ID: (advertisement: Advertisement, at: Duration)] = [:]

    /// The number of peripherals seen.
    var count: Int { seen.count }

    init(criteria: DiscoveryCriteria, duplicates: Bool, staleAfter: Duration?) {
        self.criteria = criteria
        self.duplicates = duplicates
        self.staleAfter = staleAfter
    }

    /// Records an advertisement that was received at `now`. Returns the change to report, if there is one.
    mutating func record(_ id: Peripheral.ID, _ advertisement: Advertisement, now: Duration) -> Change? {
        guard criteria.matches(advertisement, from: id) else { return nil }
        let before = seen.updateValue((advertisement, now), forKey: id)
        guard let before else { return .found }
        if duplicates { return .updated }
        var comparable = before.advertisement
        comparable.rssi = advertisement.rssi
        return comparable == advertisement ? nil : .updated
    }

    /// Records a sign of life other than an advertisement: silence counts from `now`.
    mutating func refreshLastSeen(_ id: Peripheral.ID, now: Duration) {
        seen[id]?.at = now
    }

    /// Removes a peripheral that the system has removed. Returns true if this scan had reported it.
    mutating func removed(_ id: Peripheral.ID) -> Bool {
        seen.removeValue(forKey: id) != nil
    }

    /// Removes and returns the peripherals that have been silent for too long, except those with a link, in the order
    /// in which they were last seen.
    mutating func removeStale(now: Duration, isConnected: (Peripheral.ID) -> Bool) -> [Peripheral.ID] {
        guard let staleAfter else { return [] }
        let gone = seen.filter { $0.value.at + staleAfter <= now && !isConnected($0.key) }
        for id in gone.keys { seen[id] = nil }
        return gone.sorted { $0.value.at < $1.value.at }.map(\.key)
    }
}
