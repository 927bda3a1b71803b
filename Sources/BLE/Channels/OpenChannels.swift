/// The open channels of a host, by peer.
struct OpenChannels {
    private var channels: [Peripheral.ID: [ObjectIdentifier: ChannelCore]] = [:]

    /// All of them.
    var all: [ChannelCore] { channels.values.flatMap(\.values) }

    mutating func add(_ channel: ChannelCore, to peer: Peripheral.ID) {
        channels[peer, default: [:]][ObjectIdentifier(channel)] = channel
    }

    mutating func remove(_ channel: ChannelCore, to peer: Peripheral.ID) {
        channels[peer]?[ObjectIdentifier(channel)] = nil
        if channels[peer]?.isEmpty == true { channels[peer] = nil }
    }

    /// Removes and returns the channels to a peer.
    mutating func removeAll(to peer: Peripheral.ID) -> [ChannelCore] {
        channels.removeValue(forKey: peer).map { Array($0.values) } ?? []
    }

    /// Removes and returns all channels.
    mutating func removeAll() -> [ChannelCore] {
        defer { channels = [:] }
        return all
    }
}
