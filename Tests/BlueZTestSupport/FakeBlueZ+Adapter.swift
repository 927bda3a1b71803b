import BLE
import BLESimulation
import DBus

extension FakeBlueZ {
    // MARK: Adapter1

    /// What the daemon scans for: on every transport that a client with a session has asked for. (The rest of a filter is
    /// left to the client, which filters again.)
    var unitedFilter: DiscoveryFilter {
        let wanted = Set(discoverers.map { transports[$0] ?? .any })
        return DiscoveryFilter(transport: wanted.count == 1 ? wanted.first! : .any)
    }

    /// A filter counts from now on, also for a session that runs. An empty one clears it.
    func setDiscoveryFilter(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch call.arguments.first?[key: "Transport"]?.string {
        case "le": transports[call.sender] = .le
        case "bredr": transports[call.sender] = .classic
        case "auto", nil: transports[call.sender] = .any
        default:
            return .failure(.remote("org.bluez.Error.InvalidArguments", "Invalid arguments in method call"))
        }
        if discoverers.contains(call.sender) { try? await backend.startDiscovery(unitedFilter) }
        return .success(MethodReply())
    }
}
