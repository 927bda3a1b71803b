internal import BLE

/// The right of a central to its transfer. An opening that replaces the transfer may use it, within a time that packets
/// do not extend.
struct HeldLease {
    private let clock: any Clock<Duration>
    private var lease: TransferLease?
    /// The right that was released last. Its work may go on.
    private(set) var last: TransferLease?
    /// The time since the transfer was replaced. Nil while it is in progress.
    private var replaced: Stopwatch?

    init(_ clock: any Clock<Duration>) { self.clock = clock }

    /// The time that is left for an opening that replaces the transfer. Nil if nothing waits for one.
    func remaining(of limit: Duration) -> Duration? { replaced.map { limit - $0.elapsed } }

    /// Returns the right if it is that to a transfer, which is in progress from now on.
    mutating func lease(for opening: TransferOpening) -> TransferLease? {
        guard let lease, case .begin = opening, lease.isExclusive,
            lease.name == opening.name
        else { return nil }
        replaced = nil
        return lease
    }

    /// Holds the right to a transfer, which is in progress from now on.
    mutating func hold(_ lease: TransferLease) -> TransferLease {
        (self.lease, replaced) = (lease, nil)
        return lease
    }

    /// Records that the transfer has ended. Keeps the right if an opening, or the first part of one, has replaced it.
    mutating func didEnd(_ end: TransferExchange.End) {
        if case .interrupted = end { replaced = Stopwatch(clock) } else { release() }
    }

    /// Releases the right, which ends after the last work.
    mutating func release() {
        replaced = nil
        guard let lease else { return }
        lease.release()
        (self.lease, last) = (nil, lease)
    }
}
