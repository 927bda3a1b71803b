/// A discovered peripheral, with its advertisement.
public struct Discovery: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    /// The data that it advertises.
    public let advertisement: Advertisement
}

/// An event of a scan.
public enum DiscoveryEvent: Sendable {
    /// A peripheral was found that this scan had not reported before, or had reported lost.
    case found(Discovery)
    /// A reported peripheral sent a changed advertisement or, with duplicates, any advertisement.
    case updated(Discovery)
    /// A reported peripheral was silent for the staleness interval, or was removed by the system.
    case lost(Peripheral)
}
