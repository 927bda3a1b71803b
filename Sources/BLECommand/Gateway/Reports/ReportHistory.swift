import BLEBTHome

/// Tells the new BTHome reports of a device from those that were sent before.
struct ReportHistory: Sendable {
    /// How long after a report the same packet id means the same report.
    static let packetLifetime: Duration = .seconds(10)
    /// How long after an encrypted report a device may still send it among later ones.
    static let interleaving: Duration = .seconds(60)
    /// The shortest time between two restarts of a device's counter.
    static let restartPause: Duration = .seconds(600)
    /// The shortest time between two notes.
    static let notePause: Duration = .seconds(3600)
    /// The maximum number of former counters that are no outdated ones.
    private static let maximumFormer = 4

    /// What no note has counted.
    struct Counts: Equatable, Sendable {
        /// The number of outdated reports.
        var outdated = 0
        /// How often the counter began again.
        var restarts = 0
    }

    private var counter = BTHomeCounter()
    /// The latest counters, and when their reports were accepted.
    private var accepted: [(number: UInt32, time: Duration)] = []
    /// When the counter began again.
    private var restarted: Duration?
    /// The latest packet id, and when a report had it.
    private var packet: (id: Int64, time: Duration)?
    /// The latest report with events that has neither a counter nor a packet id.
    private var data: [UInt8]?
    private var counts = Counts()
    private var noted: Duration?

    /// Compares a report with the earlier ones.
    ///
    /// An encrypted report is new if its counter is. One with a packet id is the same as the latest one with that id,
    /// for ``packetLifetime`` after it. Without both, a report with events is the same as the latest one of its kind if
    /// its data is: the system tells of the data that it received last whenever it receives anything from the device.
    mutating func take(_ report: DeviceReport, at now: Duration) -> BTHomeCounter.Order {
        guard let data = report.data else { return .repeated }
        if let number = report.counter { return take(number, at: now) }
        if let id = report.packetID {
            defer { packet = (id, now) }
            guard let packet, packet.id == id, now - packet.time < Self.packetLifetime else { return .new }
            return .repeated
        }
        guard !report.events.isEmpty, data != self.data else { return .repeated }
        self.data = data
        return .new
    }

    private mutating func take(_ number: UInt32, at now: Duration) -> BTHomeCounter.Order {
        let latest = counter.latest
        // A device may send several packets in turn. The former ones say nothing new, and are no attack either.
        let isFormer = accepted.contains { $0.number == number && now - $0.time < Self.interleaving }
        if isFormer, number != latest { return .outdated }
        let order = counter.accept(
            number, mayRestart: restarted.map { now - $0 >= Self.restartPause } ?? true)
        switch order {
        case .new:
            if let latest, number < latest {
                restarted = now
                counts.restarts += 1
            }
            accepted = accepted.suffix(Self.maximumFormer) + [(number, now)]
        case .repeated: break
        case .outdated: counts.outdated += 1
        }
        return order
    }

    /// Whether it is time for a note.
    func isNoteDue(at now: Duration) -> Bool {
        counts != Counts() && noted.map { now - $0 >= Self.notePause } ?? true
    }

    /// Returns what has happened since the last note, if it is time for another.
    mutating func takeCounts(at now: Duration) -> Counts? {
        guard isNoteDue(at: now) else { return nil }
        defer { (counts, noted) = (Counts(), now) }
        return counts
    }
}
