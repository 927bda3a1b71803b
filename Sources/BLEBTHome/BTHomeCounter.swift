/// The counter of a device's encrypted reports, which tells new reports from those that were sent before.
///
/// ```swift
/// var counter = BTHomeCounter()
/// for try await event in central.discoveryEvents(duplicates: true) {
///     guard case .updated(let found) = event, let report = try BTHome.decode(found.advertisement),
///         case .encrypted(let sealed) = report.payload,
///         let objects = try? report.objects(key: bindKey, address: address)
///     else { continue }
///     guard counter.accept(sealed.counter) != .outdated else { continue }
///     print(objects)
/// }
/// ```
///
/// A device increases its counter with each report (bthome.io/encryption), so a lower one is that of a report that
/// somebody recorded and sends again. Compare the counter only after the report was decrypted: anybody can send a high
/// one.
public struct BTHomeCounter: Hashable, Sendable {
    /// What a counter says about its report.
    public enum Order: Hashable, Sendable {
        /// The report is newer than all others, or the first one after a restart of the device.
        case new
        /// The report is the latest one again. A device sends each several times.
        case repeated
        /// The report is older than the latest one. It should be ignored.
        case outdated
    }

    /// Counters below this number are accepted after any other: a device that restarts, such as with a new battery,
    /// begins to count again. The format does not specify this; other receivers accept the same counters.
    ///
    /// A device whose first 100 reports after a restart are missed is outdated until it has reached the former counter.
    public static let restartLimit: UInt32 = 100

    /// The counter of the latest report. Nil before the first one.
    public private(set) var latest: UInt32?

    /// Creates a counter that has accepted no report. Any first report is new.
    public init() {}

    /// Compares the counter of a report with the latest one, and remembers it unless it is outdated.
    ///
    /// - Parameter mayRestart: whether the device may have restarted. Pass false for some time after a restart:
    ///   otherwise, recorded reports with low counters, sent in turn, are all new.
    public mutating func accept(_ counter: UInt32, mayRestart: Bool = true) -> Order {
        guard let latest, counter <= latest else {
            latest = counter
            return .new
        }
        guard counter != latest else { return .repeated }
        guard mayRestart, counter < Self.restartLimit else { return .outdated }
        self.latest = counter
        return .new
    }
}
