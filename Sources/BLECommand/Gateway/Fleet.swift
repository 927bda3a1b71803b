import BLE
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
        /// The smoothed signal strength in dBm.
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

        /// How long it counts. A gateway repeats it every ``Fleet/repetition`` while it hears the device.
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
    /// How long a gateway listens before its first claims, so that it knows those of the others. After the first
    /// sighting of a device, it waits for `pause`.
    private static let settling: Duration = .seconds(3)
    /// How long a gateway without a broker keeps its links. Then, others may have taken over its devices.
    private static let grace: Duration = .seconds(60)
    /// The time constant of the smoothed strength, in seconds.
    private static let smoothing = 5.0
    /// The maximum numbers of gateways that hear one device, of all gateways, and of devices with owners. A broker may
    /// have messages of anybody.
    static let maximumSightings = 64
    private static let maximumGateways = 10_000
    private static let maximumOwners = 100_000

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
    }

    /// The id of this gateway.
    private let gateway: String
    private var devices: [String: Device] = [:]
    /// The owners of all devices that the broker knows.
    private var owners: [String: String] = [:]
    /// The devices of which this gateway was the owner when the connection to the broker ended, until the broker tells
    /// of an owner again.
    private var kept: Set<String> = []
    /// The other gateways that are connected to the broker.
    private var online: Set<String> = []
    /// When the connection to the broker has begun. Nil without one.
    private var connected: Duration?
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
        connected = now
        online = []
        kept = Set(owners.filter { $0.value == gateway }.keys)
        owners = [:]
        for id in devices.keys {
            devices[id]?.others = [:]
            devices[id]?.own.told = nil
            devices[id]?.isBetterSince = nil
            devices[id]?.claimed = nil
        }
    }

    /// Takes the state of another gateway.
    mutating func setOnline(_ isOnline: Bool, _ other: String) {
        guard other != gateway else { return }
        if !isOnline { online.remove(other) } else if online.count < Self.maximumGateways { online.insert(other) }
    }

    /// Takes a claim, in the broker's order. Nil if the device was removed from the broker.
    mutating func setOwner(_ owner: String?, of id: String) {
        if owners[id] != nil || owners.count < Self.maximumOwners { owners[id] = owner }
        kept.remove(id)
        devices[id]?.claimed = nil
        devices[id]?.isBetterSince = nil
    }

    /// Takes the sighting of another gateway. Nil if it has none any longer. Returns whether that gateway had none.
    @discardableResult
    mutating func take(_ sighting: Sighting?, of id: String, from other: String, at now: Duration) -> Bool {
        guard other != gateway, let others = devices[id]?.others else { return false }
        guard others[other] != nil || others.count < Self.maximumSightings else { return false }
        devices[id]?.others[other] = sighting.map { ($0, now) }
        return others[other] == nil && sighting != nil
    }

    // MARK: What this gateway hears

    /// Takes an advertisement. Returns whether it is the first one of the device.
    mutating func hear(_ id: String, strength: Int?, isPinned: Bool, at now: Duration) -> Bool {
        guard var own = devices[id]?.own else {
            let sighting = Sighting(strength: strength ?? -100, isPinned: isPinned)
            devices[id] = Device(
                since: now, own: Own(sighting: sighting, strength: Double(strength ?? -100), heard: now))
            return true
        }
        let elapsed = (now - own.heard) / .seconds(1)
        if let strength {
            own.strength += (Double(strength) - own.strength) * elapsed / (elapsed + Self.smoothing)
        }
        if isCurrent(own, at: now) {
            let interval = own.interval ?? elapsed
            own.interval = interval + (elapsed - interval) / 8
        } else {
            // It was away, which says nothing about its interval. Others may hear it again, too.
            devices[id]?.since = now
        }
        own.heard = now
        own.sighting.strength = Int(own.strength.rounded())
        own.sighting.interval = min(Int((own.interval ?? 0).rounded(.up)), 3600)
        own.sighting.isPinned = isPinned
        devices[id]?.own = own
        return false
    }

    mutating func setLinked(_ isLinked: Bool, _ id: String, at now: Duration) {
        devices[id]?.own.sighting.isLinked = isLinked
        devices[id]?.own.heard = now
    }

    mutating func setBonded(_ isBonded: Bool, _ id: String) { devices[id]?.own.sighting.isBonded = isBonded }

    // MARK: Decisions

    /// Whether this gateway publishes a device.
    func publishes(_ id: String) -> Bool { connected != nil && owners[id] == gateway }

    /// Whether this gateway may have a link to a device.
    func mayLink(_ id: String, at now: Duration) -> Bool {
        guard connected == nil else { return owners[id] == gateway || kept.contains(id) }
        return owners[id] == gateway && disconnected.map { now - $0 < Self.grace } ?? false
    }

    /// Whether this gateway performs the commands for a device: the owner does, or, without one, the first of the
    /// gateways.
    func performsCommands(_ id: String) -> Bool {
        if let owner = owners[id], owner == gateway || online.contains(owner) { return owner == gateway }
        return online.allSatisfy { gateway < $0 }
    }

    /// Returns the sighting to tell the others, if it is due.
    mutating func dueSighting(_ id: String, at now: Duration) -> Sighting? {
        guard connected != nil, let own = devices[id]?.own, isCurrent(own, at: now) else { return nil }
        if let told = own.told {
            var same = own.sighting
            (same.strength, same.interval) = (told.sighting.strength, told.sighting.interval)
            let elapsed = now - told.at
            let isChanged = abs(own.sighting.strength - told.sighting.strength) >= Self.change
            guard same != told.sighting || elapsed >= Self.repetition || isChanged && elapsed >= Self.pause else {
                return nil
            }
        }
        devices[id]?.own.told = (own.sighting, now)
        return own.sighting
    }

    /// Whether this gateway is to claim a device now.
    mutating func claims(_ id: String, at now: Duration) -> Bool {
        guard let connected, let device = devices[id], owners[id] != gateway else { return false }
        guard now - connected >= Self.settling, now - device.since >= Self.pause else { return false }
        // The broker has not returned the last claim yet.
        if let claimed = device.claimed, now - claimed < Self.patience { return false }
        guard isCurrent(device.own, at: now) else {
            devices[id]?.isBetterSince = nil
            return false
        }
        let own = device.own.sighting.score
        var owner: Int?
        for (other, entry) in device.others where online.contains(other) && isCurrent(entry, at: now) {
            let score = entry.sighting.score
            if other == owners[id] { owner = score }
            guard score < own || score == own && gateway < other else {
                devices[id]?.isBetterSince = nil
                return false
            }
        }
        if let owner {
            guard own >= owner + Self.margin else {
                devices[id]?.isBetterSince = nil
                return false
            }
            let since = device.isBetterSince ?? now
            devices[id]?.isBetterSince = since
            guard now - since >= Self.patience else { return false }
        }
        devices[id]?.claimed = now
        return true
    }

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
