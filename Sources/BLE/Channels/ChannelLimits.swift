/// How many channels of one number a peripheral keeps open. Further ones are closed as soon as they are opened.
public struct ChannelLimits: Hashable, Sendable {
    /// The maximum number of open channels. 64 by default. Each takes a descriptor, and its handler a task.
    public var total: Int
    /// The maximum number of one central's open channels. 8 by default.
    public var perCentral: Int

    /// Creates limits.
    public init(total: Int = 64, perCentral: Int = 8) {
        self.total = total
        self.perCentral = perCentral
    }
}

/// The open channels of one number, by central.
package struct ChannelCounts {
    /// What becomes of a channel.
    package enum Decision: Equatable {
        case accepted
        /// There are too many. `isFirst` if that has not been told since it last was so.
        case refused(isFirst: Bool)
    }

    private let limits: ChannelLimits
    private var counts: [DeviceID: Int] = [:]
    private var total = 0
    /// The centrals with channels of which one has been refused.
    private var told: Set<DeviceID> = []
    /// Whether one has been refused because there are too many in total.
    private var isFull = false

    package init(_ limits: ChannelLimits) { self.limits = limits }

    /// Counts a channel if there is room for it.
    package mutating func add(_ central: DeviceID) -> Decision {
        let own = counts[central] ?? 0
        // Only a central with channels can be beyond its limit, so that `told` is bounded.
        if own > 0, own >= limits.perCentral { return .refused(isFirst: told.insert(central).inserted) }
        guard total < limits.total, limits.perCentral > 0 else {
            defer { isFull = true }
            return .refused(isFirst: !isFull)
        }
        isFull = false
        total += 1
        counts[central] = own + 1
        return .accepted
    }

    /// Records that a channel has been closed.
    package mutating func remove(_ central: DeviceID) {
        guard let own = counts[central] else { return }
        total -= 1
        counts[central] = own > 1 ? own - 1 : nil
        if own == 1 { told.remove(central) }
    }
}
