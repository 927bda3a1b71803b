import BLE

/// What the clients with a discovery session ask for together.
struct FakeDiscovery {
    /// Every transport that one of them has asked for. (The rest of a filter is left to the client, which filters
    /// again.)
    let filter: DiscoveryFilter
    /// The limit below which the kernel drops advertisements; nil if a client has none.
    let minimumRSSI: Int?
    /// Whether the daemon shows each change of the signal strength: only when a client has a limit of either kind.
    let showsSmallChanges: Bool

    /// Nil if no client has a session.
    init?(_ filters: [FakeClient.Filter]) {
        guard let first = filters.first else { return nil }
        let isSame = filters.allSatisfy { $0.transport == first.transport }
        filter = DiscoveryFilter(transport: isSame ? first.transport : .any)
        minimumRSSI = filters.contains { $0.rssi == nil } ? nil : filters.compactMap(\.rssi).min()
        showsSmallChanges = filters.contains { $0.rssi != nil || $0.pathloss != nil }
    }
}
