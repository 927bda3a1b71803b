/// What ``Doctor`` has seen, before it is judged.
struct DoctorFacts: Sendable {
    enum Bus: Equatable {
        case reachable
        case unreachable(String)
    }

    enum Daemon: Equatable {
        case answers
        /// Nobody has the name `org.bluez`.
        case absent
        /// The bus does not let this user talk to it.
        case refused
        /// It has the name, and no answer comes, or no sensible one.
        case silent(String)
    }

    var bus = Bus.unreachable("not tried")
    var daemon = Daemon.absent
    var adapters: [AdapterFacts] = []
    var system: SystemFacts
}

/// What bluetoothd says of an adapter, and what came of trying it.
struct AdapterFacts: Equatable, Sendable {
    enum Scan: Equatable {
        case notTried
        /// It starts; after having been refused as busy for so long.
        case starts(after: Duration)
        /// It was refused as busy all the time.
        case busy(for: Duration)
        case fails(String)
    }

    struct Link: Equatable {
        var address: String
        var name: String?
    }

    var id: String
    var isPowered = true
    /// Somebody was scanning before the scan was tried.
    var isDiscovering = false
    var interfaces: Set<String> = []
    /// bluetoothd's version, where it tells.
    var version: String?
    /// Whether experimental interfaces are on; nil when that could not be found out.
    var isExperimental: Bool?
    /// How many advertisements are registered, and how many more can be; nil when it does not say.
    var activeAdvertisements: Int?
    var freeAdvertisements: Int?
    var scan = Scan.notTried
    /// The devices that bluetoothd says are connected.
    var links: [Link] = []
}
