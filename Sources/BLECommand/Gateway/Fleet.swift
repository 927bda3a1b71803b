import BLE
import BLEDefinitions
import FoundationEssentials

/// Which of several gateways on one broker publishes a device: the one that hears it best, its *owner*.
///
/// Each gateway tells the others how it hears a device (``Sighting``). Of the same sightings, all choose the same
/// gateway, which claims the device with a retained message, its origin. All receive the messages of a topic in the
/// broker's order, so the last claim counts for all of them, also for the gateways that have made others.
///
/// A pure value: sightings, claims and times go in, decisions come out. Times are those since the gateway has started.
struct Fleet: Sendable {
    /// How a gateway hears a device.
    struct Sighting: Hashable, Sendable {
        /// The smoothed signal strength in dBm, −127 to 127.
        var strength: Int
        /// The usual time between two advertisements, in whole seconds, 0 to 3600.
        var interval = 0
        /// Whether the list says that this gateway is to publish the device.
        var isPinned = false
        /// Whether the device is bonded with this gateway's machine.
        var isBonded = false
        /// Whether this gateway has a link to the device, which does not advertise meanwhile.
        var isLinked = false

        /// Its weight in dB: a pin counts more than a link, that more than a bond, and that more than the strength.
        fileprivate var score: Int { strength + (isPinned ? 4000 : 0) + (isLinked ? 2000 : 0) + (isBonded ? 1000 : 0) }

        /// How long a device that is silent counts as heard.
        fileprivate var lifetime: Duration { Fleet.repetition * 2 + .seconds(3 * interval) }
    }

    /// A gateway replaces an owner that hears the device when it hears the device better by so many dB for so long.
    static let margin = 6
    static let patience: Duration = .seconds(10)
    /// The pause after which a sighting is repeated, and that after which a changed one may follow another.
    static let repetition: Duration = .seconds(15)
    private static let pause: Duration = .seconds(2)
    /// The change of strength in dB that is told before the repetition.
    private static let change = 4
    /// How long a gateway knows of the others before its first claims. After it has begun to listen to what they tell
    /// of a device, it waits for `pause`.
    private static let settling: Duration = .seconds(3)
    /// How long another gateway may be away before its devices are claimed. Many losses of the broker are over after a
    /// second.
    static let absence: Duration = .seconds(5)
    /// How long, after the beginning of a connection, owners count that are not connected. After a restart of the
    /// broker, gateways come back within the longest pause between their attempts.
    private static let returning: Duration = .seconds(35)
    /// How long a gateway without a broker keeps its links. Then, others may have taken over its devices.
    private static let grace: Duration = .seconds(60)
    /// How long a link outlasts the claim of another gateway, which may not have known of it.
    private static let contention: Duration = .seconds(15)
    /// The time constant of the smoothed strength, in seconds.
    private static let smoothing = 5.0
    /// The longest first interval, in seconds: the second advertisement may be one of another day.
    private static let firstInterval = 600.0
    /// The maximum numbers of gateways that hear one device, of all gateways, of devices with owners, and of devices
    /// about which this gateway listens to others. A broker may have messages of anybody.
    static let maximumSightings = 64
    private static let maximumGateways = 10_000
    private static let maximumOwners = 100_000
    private static let maximumFollowed = 10_000
    /// The longest id of a gateway that counts, in bytes.
    private static let maximumLength = 200

    private struct Own: Sendable {
        var sighting: Sighting
        var strength: Double
        var interval: Double?
        var heard: Duration
        var told: (sighting: Sighting, at: Duration)?
    }

    private struct Device: Sendable {
        /// When it was heard for the first time, or for the first time after a pause.
        var since: Duration
        var own: Own
        /// Those of other gateways, with the times at which they were received.
        var others: [String: (sighting: Sighting, received: Duration)] = [:]
        /// Since when this gateway hears the device better than its owner.
        var isBetterSince: Duration?
        /// When this gateway has claimed the device.
        var claimed: Duration?
        /// When another gateway has claimed it although this one has a link to it.
        var lost: Duration?
        /// Whether this gateway wants to listen to what others tell of it.
        var isFollowed = false
        /// Since when it does.
        var listening: Duration?
    }

    /// The id of this gateway.
    private let gateway: String
    private var devices: [String: Device] = [:]
    /// The number of devices about which this gateway listens to others.
    private var followedCount = 0
    /// The owners of devices, as far as this gateway is told of them.
    private var owners: [String: String] = [:]
    /// The devices of which this gateway was the owner when the connection to the broker ended, until the broker tells
    /// of an owner again.
    private var kept: Set<String> = []
    /// The devices that are bonded with this gateway's machine.
    private var bonded: Set<String> = []
    /// The other gateways that are connected to the broker.
    private var online: Set<String> = []
    /// When others have lost it.
    private var gone: [String: Duration] = [:]
    /// When the connection to the broker has begun. Nil without one.
    private var connected: Duration?
    /// Since when this gateway is told of the others on that connection.
    private var listening: Duration?
    /// When the last connection has ended.
    private var disconnected: Duration?

    init(_ gateway: String) { self.gateway = gateway }

    // MARK: The broker

    /// Takes the beginning or the end of the connection to the broker. What others have told before is told again.
    mutating func setConnected(_ isConnected: Bool, at now: Duration) {
        guard isConnected else {
            if connected != nil { (connected, disconnected) = (nil, now) }
            return
        }
        kept.formUnion(owners.filter { $0.value == gateway }.keys)
        if !isWithinGrace(now) { kept = [] }
        (connected, listening) = (now, nil)
        (owners, online, gone) = ([:], [], [:])
        for id in devices.keys {
            devices[id]?.others = [:]
            devices[id]?.own.told = nil
            devices[id]?.isBetterSince = nil
            devices[id]?.claimed = nil
            devices[id]?.listening = nil
        }
    }

    /// The broker tells of all gateways from now on.
    mutating func listens(at now: Duration) { listening = now }

    /// The broker tells from now on what others tell of a device.
    mutating func listens(to id: String, at now: Duration) { devices[id]?.listening = now }

    /// Takes the state of another gateway.
    mutating func setOnline(_ isOnline: Bool, _ other: String, at now: Duration) {
        guard other != gateway, other.utf8.count <= Self.maximumLength else { return }
        if isOnline {
            gone[other] = nil
            if online.count < Self.maximumGateways { online.insert(other) }
        } else {
            online.remove(other)
            if gone.count >= Self.maximumGateways { gone = [:] }
            gone[other] = now
        }
    }

    /// Takes a claim, in the broker's order. Nil if the device was removed from the broker.
    mutating func setOwner(_ owner: String?, of id: String, at now: Duration) {
        let wasOwn = owners[id] == gateway || kept.contains(id)
        if owners[id] != nil || owners.count < Self.maximumOwners { owners[id] = owner }
        kept.remove(id)
        devices[id]?.claimed = nil
        devices[id]?.isBetterSince = nil
        let isLost = wasOwn && owner != gateway && devices[id]?.own.sighting.isLinked == true
        devices[id]?.lost = isLost ? now : nil
    }

    /// Takes the sighting of another gateway. Nil if it has none any longer. Returns whether that gateway had none.
    @discardableResult
    mutating func take(_ sighting: Sighting?, of id: String, from other: String, at now: Duration) -> Bool {
        guard other != gateway, other.utf8.count <= Self.maximumLength, let count = devices[id]?.others.count else {
            return false
        }
        let isKnown = devices[id]?.others[other] != nil
        if let sighting, !isKnown, count >= Self.maximumSightings {
            let weakest = devices[id]?.others.min { lower($0.value, $1.value, at: now) }
            let isWanted = other == owners[id] || weakest.map { lower($0.value, (sighting, now), at: now) } ?? false
            guard let weakest, isWanted, weakest.key != owners[id] else { return false }
            devices[id]?.others[weakest.key] = nil
        }
        devices[id]?.others[other] = sighting.map { ($0, now) }
        return !isKnown && sighting != nil
    }

    private func lower(
        _ one: (sighting: Sighting, received: Duration), _ other: (sighting: Sighting, received: Duration),
        at now: Duration
    ) -> Bool {
        func rank(_ entry: (sighting: Sighting, received: Duration)) -> Int {
            isCurrent(entry, at: now) ? entry.sighting.score : Int.min
        }
        return rank(one) < rank(other)
    }

    // MARK: What this gateway hears

    /// Takes an advertisement.
    mutating func hear(_ id: String, strength: Int?, isPinned: Bool, at now: Duration) {
        let strength = strength.map { min(max($0, -127), 127) }
        guard var own = devices[id]?.own else {
            let sighting = Sighting(strength: strength ?? -100, isPinned: isPinned, isBonded: bonded.contains(id))
            devices[id] = Device(
                since: now, own: Own(sighting: sighting, strength: Double(strength ?? -100), heard: now))
            return
        }
        let elapsed = (now - own.heard) / .seconds(1)
        if let strength {
            own.strength += (Double(strength) - own.strength) * elapsed / (elapsed + Self.smoothing)
        }
        // Others may hear it again, too.
        if !isCurrent(own, at: now) { devices[id]?.since = now }
        if let interval = own.interval {
            // A device that was away says little about its interval.
            own.interval = interval + (min(elapsed, 4 * interval + 30) - interval) / 8
        } else {
            own.interval = min(elapsed, Self.firstInterval)
        }
        own.heard = now
        own.sighting.strength = Int(own.strength.rounded())
        own.sighting.interval = min(Int((own.interval ?? 0).rounded(.up)), 3600)
        own.sighting.isPinned = isPinned
        devices[id]?.own = own
    }

    /// Forgets a device. Returns whether this gateway listens to what others tell of it, and is to do so no longer.
    mutating func forget(_ id: String) -> Bool {
        bonded.remove(id)
        guard let device = devices.removeValue(forKey: id), device.isFollowed else { return false }
        followedCount -= 1
        return true
    }

    mutating func setLinked(_ isLinked: Bool, _ id: String, at now: Duration) {
        devices[id]?.own.sighting.isLinked = isLinked
        devices[id]?.own.heard = now
        devices[id]?.lost = nil
    }

    mutating func setBonded(_ isBonded: Bool, _ id: String) {
        if isBonded { bonded.insert(id) } else { bonded.remove(id) }
        devices[id]?.own.sighting.isBonded = isBonded
    }

    // MARK: Decisions

    /// Whether this gateway publishes a device.
    func publishes(_ id: String) -> Bool { connected != nil && owners[id] == gateway }

    /// Whether this gateway may have a link to a device.
    func mayLink(_ id: String, at now: Duration) -> Bool {
        if owners[id] == gateway || kept.contains(id) { return connected != nil || isWithinGrace(now) }
        return devices[id]?.lost.map { now - $0 < Self.contention } ?? false
    }

    /// Whether this gateway performs the commands for a device: the owner does, or, without one, the first of the
    /// gateways.
    ///
    /// - Parameter isListed: whether its address is listed. Only then is the owner of a device known that is not heard.
    func performsCommands(_ id: String, isListed: Bool, at now: Duration) -> Bool {
        guard connected != nil, let listening, isListed || devices[id]?.listening != nil else { return false }
        if let owner = owners[id], owner == gateway || isPresent(owner, at: now) { return owner == gateway }
        return now - listening >= Self.settling && online.allSatisfy { gateway < $0 }
    }

    /// Returns whether this gateway is to listen to what others tell of a device from now on, or no longer. Nil if that
    /// has not changed.
    mutating func follows(_ id: String, at now: Duration) -> Bool? {
        guard let device = devices[id] else { return nil }
        let isWanted = isCurrent(device.own, at: now) || owners[id] == gateway || kept.contains(id)
        guard isWanted != device.isFollowed, !isWanted || followedCount < Self.maximumFollowed else { return nil }
        devices[id]?.isFollowed = isWanted
        followedCount += isWanted ? 1 : -1
        if !isWanted {
            devices[id]?.others = [:]
            devices[id]?.listening = nil
        }
        return isWanted
    }

    /// Returns the sighting to tell the others, if it is due.
    mutating func dueSighting(_ id: String, at now: Duration) -> Sighting? {
        guard connected != nil, let own = devices[id]?.own, isCurrent(own, at: now) else { return nil }
        if let told = own.told {
            var same = own.sighting
            (same.strength, same.interval) = (told.sighting.strength, told.sighting.interval)
            let elapsed = now - told.at
            let isRepeated = elapsed >= Self.repetition && (own.heard > told.at || own.sighting.isLinked)
            let isChanged = abs(own.sighting.strength - told.sighting.strength) >= Self.change && elapsed >= Self.pause
            guard same != told.sighting || isRepeated || isChanged else { return nil }
        }
        devices[id]?.own.told = (own.sighting, now)
        return own.sighting
    }

    /// Whether this gateway is to claim a device now.
    mutating func claims(_ id: String, at now: Duration) -> Bool {
        guard connected != nil, owners[id] != gateway, let listening, now - listening >= Self.settling,
            let device = devices[id], let begun = device.listening, now - max(device.since, begun) >= Self.pause
        else { return false }
        // The broker has not returned the last claim yet.
        if let claimed = device.claimed, now - claimed < Self.patience { return false }
        guard let own = device.own.told?.sighting.score, isCurrent(device.own, at: now),
            isBest(own, device, at: now), yields(id, device, to: own, at: now)
        else {
            devices[id]?.isBetterSince = nil
            return false
        }
        if hears(owners[id], device, at: now) {
            let since = device.isBetterSince ?? now
            devices[id]?.isBetterSince = since
            guard now - since >= Self.patience else { return false }
        }
        devices[id]?.claimed = now
        return true
    }

    /// Whether no other gateway hears a device better.
    private func isBest(_ own: Int, _ device: Device, at now: Duration) -> Bool {
        device.others.allSatisfy { other, entry in
            guard hears(other, device, at: now) else { return true }
            return entry.sighting.score < own || entry.sighting.score == own && gateway < other
        }
    }

    /// Whether the owner of a device, if it has one, has to yield it.
    private func yields(_ id: String, _ device: Device, to own: Int, at now: Duration) -> Bool {
        guard let owner = owners[id] else { return true }
        guard isPresent(owner, at: now) else {
            return gone[owner] != nil || connected.map { now - $0 >= Self.returning } ?? false
        }
        guard hears(owner, device, at: now), let sighting = device.others[owner]?.sighting else { return true }
        return own >= sighting.score + Self.margin
    }

    /// Whether another gateway is there and hears a device.
    private func hears(_ other: String?, _ device: Device, at now: Duration) -> Bool {
        guard let other, let entry = device.others[other] else { return false }
        return isPresent(other, at: now) && isCurrent(entry, at: now)
    }

    /// Whether another gateway is connected to the broker, or was until a moment ago.
    private func isPresent(_ other: String, at now: Duration) -> Bool {
        online.contains(other) || gone[other].map { now - $0 < Self.absence } ?? false
    }

    private func isWithinGrace(_ now: Duration) -> Bool { disconnected.map { now - $0 < Self.grace } ?? false }

    private func isCurrent(_ own: Own, at now: Duration) -> Bool {
        own.sighting.isLinked || now - own.heard < own.sighting.lifetime
    }

    /// The sighting of another gateway is told again only after the repetition.
    private func isCurrent(_ other: (sighting: Sighting, received: Duration), at now: Duration) -> Bool {
        now - other.received < other.sighting.lifetime + Self.repetition
    }
}

// MARK: Messages

extension Fleet.Sighting {
    /// Its JSON, in which only what is true is said.
    var json: JSON {
        var object: [String: JSON] = ["rssi": .int(strength), "interval": .int(interval)]
        if isPinned { object["pinned"] = true }
        if isBonded { object["bonded"] = true }
        if isLinked { object["linked"] = true }
        return .object(object)
    }

    /// Reads a sighting that another gateway has told. Nil for anything else.
    init?(_ payload: [UInt8]) {
        guard payload.count <= 200, case .object(let object)? = try? JSONReader.read(Data(payload)),
            case .int(let strength)? = object["rssi"], -127...127 ~= strength,
            case .int(let interval)? = object["interval"], 0...3600 ~= interval
        else { return nil }
        self.init(
            strength: strength, interval: interval, isPinned: object["pinned"] == true,
            isBonded: object["bonded"] == true, isLinked: object["linked"] == true)
    }

    /// How long the broker keeps it.
    var expiry: Duration { lifetime + Fleet.repetition }
}
