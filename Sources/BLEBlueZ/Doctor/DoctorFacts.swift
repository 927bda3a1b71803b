/// The facts that ``Doctor`` has collected, before they are interpreted.
struct DoctorFacts: Sendable {
    enum Bus: Equatable {
        case reachable
        case unreachable(String)
    }

    enum Daemon: Equatable {
        case answers
        /// The name `org.bluez` has no owner.
        case absent
        /// The bus does not let this user talk to bluetoothd.
        case refused
        /// bluetoothd does not answer, or not as expected.
        case silent(String)
    }

    var bus = Bus.unreachable("not tried")
    var daemon = Daemon.absent
    var adapters: [AdapterFacts] = []
    var system: SystemFacts
}

/// The facts about an adapter, from bluetoothd and from testing a scan.
struct AdapterFacts: Equatable, Sendable {
    enum Scan: Equatable {
        case notTried
        /// It starts, after it was refused as busy for the given time.
        case starts(after: Duration)
        /// It was refused as busy for the given time.
        case busy(for: Duration)
        case fails(String)
    }

    struct Link: Equatable {
        var address: String
        var name: String?
    }

    var id: String
    var isPowered = true
    /// Whether any program was scanning before the test.
    var isDiscovering = false
    var interfaces: Set<String> = []
    /// bluetoothd's version, if known.
    var version: BlueZVersion?
    /// Whether experimental interfaces are on; nil if unknown.
    var isExperimental: Bool?
    /// The numbers of registered and of further possible advertisements; nil if unknown.
    var activeAdvertisements: Int?
    var freeAdvertisements: Int?
    var scan = Scan.notTried
    /// The connected devices, according to bluetoothd.
    var links: [Link] = []
}
