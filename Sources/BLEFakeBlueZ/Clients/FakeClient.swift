import BLE

/// A client of the daemon, by its unique name, and what it has with one adapter. It exists from the client's first call
/// to the end of its name on the bus.
///
/// What a client registers at the radio is in ``FakeServing``, by the radio's numbers. Sockets belong to their
/// characteristic, because their descriptors can be passed on, and agents are in the daemon's order.
final class FakeClient {
    /// What `SetDiscoveryFilter` has set, whether the client scans or not.
    struct Filter {
        var transport = Transport.any
        /// The parts that the radio does not apply.
        var rssi: Int?
        var pathloss: Int?
        var hasServices = false
    }

    var filter = Filter()
    /// Whether it has a discovery session.
    var isDiscovering = false
    /// The number of its calls of `StartDiscovery` that have no answer yet.
    var unansweredStarts = 0
    /// Whether its name has left the bus. The calls that are being carried out have no answer then.
    var hasLeft = false
    /// The paths of the characteristics whose `StartNotify` has no answer yet.
    var pendingStarts: Set<String> = []
    /// The characteristics whose notifications it has switched on.
    var notifying: Set<AttributeID> = []
    /// The roots at which it has registered monitors, and the monitors that are active, by their paths.
    var monitorRoots: Set<String> = []
    var monitors: [String: FakeMonitor] = [:]

    /// Returns its monitors, which it no longer has.
    func takeMonitors() -> [FakeMonitor] {
        defer { (monitorRoots, monitors) = ([], [:]) }
        return Array(monitors.values)
    }
}
