/// The connections that have not greeted, of which there is a limited number.
///
/// A new one takes the place of an older one: one of its own address, if this has too many, or else of its own network,
/// or else of the network that has most. So a host with one address does not keep out others, however many connections
/// it makes. One with as many addresses as there are places does, until it stops; clients that have greeted stay.
struct SilentConnections {
    /// The maximum number of one address, of one network, and of all.
    static let (maximumOfAddress, maximumOfNetwork, maximum) = (4, 8, 16)

    /// The address that each connection comes from. Later connections have higher numbers.
    let sources: [Int: [UInt8]]

    /// Returns the connection that ends if one comes from an address. Nil if there is room.
    func replaced(by source: [UInt8]) -> Int? {
        let ofAddress = sources.filter { $0.value == source }
        if ofAddress.count >= Self.maximumOfAddress { return ofAddress.keys.min() }
        let network = Self.network(of: source)
        let ofNetwork = sources.filter { Self.network(of: $0.value) == network }
        if ofNetwork.count >= Self.maximumOfNetwork { return Self.largest(ofNetwork, by: \.self).keys.min() }
        guard sources.count >= Self.maximum else { return nil }
        return Self.largest(Self.largest(sources, by: Self.network), by: \.self).keys.min()
    }

    /// The first 64 bits of an address of IPv6, since a host may have any number of addresses in it. An address of IPv4
    /// is a network of its own.
    private static func network(of source: [UInt8]) -> [UInt8] { Array(source.prefix(8)) }

    /// Returns the connections of the group that has most, and of several such groups the one with the oldest.
    private static func largest(
        _ sources: [Int: [UInt8]], by group: ([UInt8]) -> [UInt8]
    ) -> [Int: [UInt8]] {
        let groups = Dictionary(grouping: sources.keys) { group(sources[$0] ?? []) }.values
        let largest = groups.max { ($0.count, $1.min() ?? 0) < ($1.count, $0.min() ?? 0) } ?? []
        return sources.filter { largest.contains($0.key) }
    }
}

extension ProxyServer {
    /// Ends a connection that has not greeted, if there are too many with the next one.
    func makeRoom(for source: [UInt8]) {
        let silent = SilentConnections(sources: clients.filter { !$0.value.hasGreeted }.mapValues(\.source))
        guard let oldest = silent.replaced(by: source) else { return }
        refuse("there are too many connections that have not greeted")
        remove(oldest)
    }
}
