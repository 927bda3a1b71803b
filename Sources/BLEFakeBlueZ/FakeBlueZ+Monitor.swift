import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// A client's passive scan.
struct FakeMonitor {
    let client: String
    let path: String
    let root: String
    /// The companies that it listens for; nil for every peripheral that advertises flags, which includes all simulated
    /// ones.
    let companies: Set<UInt16>?
    /// The devices of which it is being told.
    var told: Set<String> = []
    var key: Key { Key(client: client, path: path) }

    /// Paths are each client's own.
    struct Key: Hashable {
        let client: String
        let path: String
    }
}

/// `org.bluez.AdvertisementMonitorManager1` of an experimental bluetoothd.
extension FakeBlueZ {
    private static let monitor = "org.bluez.AdvertisementMonitor1"

    /// Offers passive scanning from now on.
    ///
    /// - Parameter refusing: a registration succeeds, and then the monitor is released, as the daemon does when the
    ///   kernel refuses.
    public func offerMonitors(refusing: Bool = false) async {
        refusesMonitors = refusing
        guard !offersMonitors else { return }
        offersMonitors = true
        exportMonitorManager()
    }

    func exportMonitorManager() {
        guard offersMonitors else { return }
        export(adapterPath, Interfaces.monitorManager) { daemon, call in await daemon.monitorCall(call) }
    }

    /// Releases the monitors that are active, as when the kernel drops them.
    public func releaseMonitors() async {
        let ended = monitors.values
        (monitors, monitorRoots) = ([:], [])
        for monitor in ended { await tell(monitor, "Release") }
    }

    private func monitorCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard let root = call.arguments.first?.string else {
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        guard call.method == "RegisterMonitor" else {
            let place = FakeMonitor.Key(client: call.sender, path: root)
            let isBeginning = monitorRoots.remove(place) != nil
            let ended = monitors.values.filter { $0.root == root && $0.client == call.sender }
            if isBeginning, ended.isEmpty { return .success(MethodReply()) }
            guard !ended.isEmpty else { return .failure(.bluez("DoesNotExist", "Does Not Exist")) }
            for monitor in ended { monitors[monitor.key] = nil }
            if monitors.isEmpty, discoverers.isEmpty { try? await backend.stopDiscovery() }
            Task { for monitor in ended { await self.tell(monitor, "Release") } }
            return .success(MethodReply())
        }
        guard monitorRoots.insert(FakeMonitor.Key(client: call.sender, path: root)).inserted else {
            return .failure(.bluez("AlreadyExists", "Already Exists"))
        }
        let new = await fetch(root, call.sender)
        // A successful registration does not mean that there are monitors, or that they are active.
        Task { for monitor in new { await self.activate(monitor) } }
        return .success(MethodReply())
    }

    private func fetch(_ root: String, _ client: String) async -> [FakeMonitor] {
        let reply = await callClient(MethodCall(client, root, BlueZ.objectManager, "GetManagedObjects"))
        guard case .dictionary(_, _, let objects)? = reply?.values.first else { return [] }
        return objects.compactMap { path, interfaces in
            guard let path = path.string, path.hasPrefix(root), let properties = interfaces[key: Self.monitor],
                properties[key: "Type"]?.string == "or_patterns",
                let patterns = properties[key: "Patterns"]?.elements?.compactMap(\.elements),
                !patterns.isEmpty, patterns.count <= 7
            else { return nil }
            let companies = patterns.map { pattern -> UInt16? in
                guard pattern.count == 3, pattern[1].integer == 0xFF, let bytes = pattern[2].bytes, bytes.count == 2
                else { return nil }
                return UInt16(bytes[1]) << 8 | UInt16(bytes[0])
            }
            return FakeMonitor(
                client: client, path: path, root: root,
                companies: companies.contains(nil) ? nil : Set(companies.compactMap(\.self)))
        }
    }

    private func activate(_ monitor: FakeMonitor) async {
        // The client may have left, or withdrawn it.
        guard monitorRoots.contains(FakeMonitor.Key(client: monitor.client, path: monitor.root)) else { return }
        guard !refusesMonitors else { return await tell(monitor, "Release") }
        monitors[monitor.key] = monitor
        await tell(monitor, "Activate")
        guard monitors[monitor.key] != nil, session != nil else { return }
        activations += 1
        if discoverers.isEmpty { try? await backend.startDiscovery(DiscoveryFilter()) }
    }

    private func tell(_ monitor: FakeMonitor, _ method: String, _ arguments: DBusValue...) async {
        _ = await callClient(MethodCall(monitor.client, monitor.path, Self.monitor, method, arguments))
    }

    func tellMonitors(_ device: String, _ advertisement: Advertisement) {
        for monitor in monitors.values
        where monitor.companies?.isDisjoint(with: advertisement.manufacturerData.keys) != true {
            // One that does not answer is told again when its time is over, and holds up nobody.
            guard monitors[monitor.key]?.told.insert(device).inserted == true else { continue }
            Task {
                await tell(monitor, "DeviceFound", .objectPath(device))
                monitors[monitor.key]?.told.remove(device)
            }
        }
    }

    /// A client has left the bus, and its monitors with it.
    func endMonitors(of client: String) async {
        monitorRoots = monitorRoots.filter { $0.client != client }
        guard monitors.values.contains(where: { $0.client == client }) else { return }
        monitors = monitors.filter { $0.value.client != client }
        if monitors.isEmpty, discoverers.isEmpty { try? await backend.stopDiscovery() }
    }
}
