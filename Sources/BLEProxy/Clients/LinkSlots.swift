internal import BLEESPHome

/// The hold of a client on a peripheral, for one link.
struct ProxyHold: Equatable {
    let client: Int
    /// Tells apart the links of a peripheral.
    let link: Int
}

/// Which client holds which links of a proxy, and how many more each may have.
///
/// The links are shared among the clients that have asked for them: those that subscribed to the number of slots, or
/// requested a link. Each has the same share. Up to its share, a client gets any free slot; beyond it, only slots that
/// the shares of the others leave. A client that is alone leaves one slot for the next. No link is ended for the sake
/// of another client.
struct LinkSlots {
    /// The number of the Matter server among the clients, whose numbers begin at 1. It has asked while it has links, or
    /// waits for one.
    static let matter = 0

    private let limit: Int
    /// Whether several clients may be connected.
    private let isShared: Bool
    private var holds: [UInt64: ProxyHold] = [:]
    /// The number of links of each client that has asked.
    private var counts: [Int: Int] = [:]
    private var lastLink = 0
    /// The numbers of the links that are ending, as far as that was told.
    private var ending: Set<Int> = []
    /// The number of links that the Matter server waits for.
    private var matterWaits = 0

    /// - Parameter limit: the maximum number of links.
    init(limit: Int, isShared: Bool) { (self.limit, self.isShared) = (max(0, limit), isShared) }

    /// The number of links that each client which has asked can rely on.
    var share: Int {
        guard counts.count <= 1 else { return max(1, limit / counts.count) }
        return isShared ? max(1, limit - 1) : limit
    }

    /// The number of further links that a client may have now.
    func available(to client: Int) -> Int {
        let (free, own, share) = (limit - holds.count, counts[client] ?? 0, share)
        var owed = counts.reduce(0) { $0 + ($1.key == client ? 0 : max(0, share - $1.value)) }
        if isShared, counts.count <= 1, limit > 1 { owed = 1 }
        return max(0, min(free, share - own), free - owed)
    }

    func hold(of address: UInt64) -> ProxyHold? { holds[address] }

    var isEmpty: Bool { holds.isEmpty }

    /// Records that a client wants links.
    mutating func ask(_ client: Int) { counts[client] = counts[client] ?? 0 }

    /// Records that the Matter server waits for a peripheral whose link is ending, until ``endMatterWait()``.
    mutating func beginMatterWait() {
        matterWaits += 1
        ask(Self.matter)
    }

    mutating func endMatterWait() {
        matterWaits -= 1
        forgetIdleMatter()
    }

    /// Gives a peripheral to a client. Returns nil if a client holds it already, or if this one may have no further
    /// link.
    mutating func take(_ address: UInt64, for client: Int) -> ProxyHold? {
        ask(client)
        defer { forgetIdleMatter() }
        guard holds[address] == nil, available(to: client) > 0 else { return nil }
        lastLink += 1
        let hold = ProxyHold(client: client, link: lastLink)
        holds[address] = hold
        counts[client, default: 0] += 1
        return hold
    }

    /// Records that the link of a hold is ending.
    mutating func willRelease(_ address: UInt64, _ hold: ProxyHold) {
        if holds[address] == hold { ending.insert(hold.link) }
    }

    /// Whether the link of a hold is ending.
    func isEnding(_ hold: ProxyHold) -> Bool { ending.contains(hold.link) }

    /// Frees a peripheral whose link has ended. Returns false if another hold has followed.
    mutating func release(_ address: UInt64, _ hold: ProxyHold) -> Bool {
        guard holds[address] == hold else { return false }
        holds[address] = nil
        ending.remove(hold.link)
        if let count = counts[hold.client] { counts[hold.client] = count - 1 }
        forgetIdleMatter()
        return true
    }

    /// Forgets a client, and returns what it holds, which is held until the links have ended.
    mutating func leave(_ client: Int) -> [UInt64] {
        counts[client] = nil
        return holds.filter { $0.value.client == client }.map(\.key)
    }

    private mutating func forgetIdleMatter() {
        if matterWaits == 0, counts[Self.matter] == 0 { counts[Self.matter] = nil }
    }

    /// What a client is told: the limit is that of this client, as things stand.
    func slots(of client: Int) -> ProxySlots {
        let held = holds.filter { $0.value.client == client }.map(\.key).sorted()
        let free = available(to: client)
        return ProxySlots(free: UInt32(free), limit: UInt32(free + held.count), allocated: held)
    }
}
