import BLEBTHome

/// Tells the new BTHome reports of a device from those that were sent before.
struct ReportHistory: Sendable {
    /// How long a device without packet ids is silent until the same report is a new one.
    static let silence: Duration = .seconds(4)
    /// The shortest time between two notes about outdated reports.
    static let notePause: Duration = .seconds(3600)

    private var counter = BTHomeCounter()
    private var packetID: Int64?
    private var data: [UInt8]?
    private var time: Duration?
    /// The number of outdated reports that no note has counted.
    private var outdatedCount = 0
    private var noted: Duration?

    /// Compares a report with the earlier ones.
    ///
    /// An encrypted report is new if its counter is. Of those, and of reports that are not encrypted, one with the
    /// packet id of the latest one is the same. Without counter and packet id, the same report is new after
    /// ``silence``.
    mutating func take(_ report: DeviceReport, at now: Duration) -> BTHomeCounter.Order {
        guard let data = report.data else { return .repeated }
        if let number = report.counter {
            let order = counter.accept(number)
            if order == .outdated { outdatedCount += 1 }
            guard order == .new else { return order }
        }
        defer { (self.data, time, packetID) = (data, now, report.packetID) }
        if let id = report.packetID { return id == packetID ? .repeated : .new }
        guard report.counter == nil, data == self.data, let last = time, now - last < Self.silence else { return .new }
        return .repeated
    }

    /// Returns the number of outdated reports since the last note, if it is time for another.
    mutating func takeOutdatedCount(at now: Duration) -> Int? {
        guard outdatedCount > 0, noted.map({ now - $0 >= Self.notePause }) ?? true else { return nil }
        defer { (outdatedCount, noted) = (0, now) }
        return outdatedCount
    }
}
