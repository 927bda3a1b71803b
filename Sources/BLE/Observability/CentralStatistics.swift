/// What a central has done and met with since it was created; see ``Central/statistics``.
public struct CentralStatistics: Hashable, Sendable {
    /// The number of advertisements that the system has reported to this central.
    public internal(set) var advertisementCount = 0
    /// The number of links that have been established, with their services discovered. One that ends before that counts
    /// as a failed `connect` or `reconnect`.
    public internal(set) var linkCount = 0
    /// The number of links that are up, with their services discovered.
    public internal(set) var connectedCount = 0
    /// The numbers of links that have ended, by reason. Of more than 64 reasons, the others count as `unknown`.
    public internal(set) var linkEndCounts: [DisconnectReason: Int] = [:]
    /// The numbers of maintained links that were lost and have been reestablished, by the reason of the loss. Of more
    /// than 64 reasons, the others count as `unknown`.
    public internal(set) var reconnectCounts: [DisconnectReason: Int] = [:]
    /// The number of values and gap markers that streams of notifications have dropped because their readers were slow.
    /// Those of declared values do not count.
    public internal(set) var droppedValueCount = 0
    /// The number of events that scans have dropped because their readers were slow.
    public internal(set) var droppedDiscoveryCount = 0
    /// The number of times that Bluetooth has stopped, as when bluetoothd or the bus restarts.
    public internal(set) var bluetoothLossCount = 0
    var operations = OperationTable()

    /// The operations of a kind that have ended.
    public subscript(kind: OperationKind) -> OperationStatistics { operations[kind] }

    /// Creates statistics of nothing.
    public init() {}

    mutating func count(_ event: CountedEvent) {
        switch event {
        case .advertisementReceived: advertisementCount += 1
        case .linkEstablished: linkCount += 1
        case .linkEnded(let reason): linkEndCounts.count(reason, otherwise: .unknown)
        case .reconnected(let reason): reconnectCounts.count(reason, otherwise: .unknown)
        case .bluetoothLost: bluetoothLossCount += 1
        // Counted by the streams.
        case .valueDropped, .discoveryDropped: break
        // Of a host.
        case .subscribed: break
        }
    }
}

/// What a host has done and met with since it was created; see ``PeripheralHost/statistics``.
public struct HostStatistics: Hashable, Sendable {
    /// The number of links of centrals that the host has learned of; see ``PeripheralHost/connectedCentrals``.
    public internal(set) var linkCount = 0
    /// The number of centrals that are connected, as far as the system reports them.
    public internal(set) var connectedCount = 0
    /// The number of subscriptions that have begun.
    public internal(set) var subscriptionCount = 0
    /// The number of times that Bluetooth has stopped, as when bluetoothd or the bus restarts.
    public internal(set) var bluetoothLossCount = 0
    var operations = OperationTable()

    /// The requests and indications of a kind that have ended: `read`, `write` and `indicate`. A request that was
    /// rejected counts as `attributeError`.
    public subscript(kind: OperationKind) -> OperationStatistics { operations[kind] }

    /// Creates statistics of nothing.
    public init() {}

    mutating func count(_ event: CountedEvent) {
        switch event {
        case .linkEstablished: linkCount += 1
        case .subscribed: subscriptionCount += 1
        case .bluetoothLost: bluetoothLossCount += 1
        case .linkEnded: break
        case .advertisementReceived, .reconnected, .valueDropped, .discoveryDropped: break
        }
    }
}
