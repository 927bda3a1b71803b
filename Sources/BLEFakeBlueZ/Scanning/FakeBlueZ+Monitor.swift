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
        guard offersMonitors, isPresent else { return }
        export(adapterPath, Interfaces.monitorManager) { daemon, call in await daemon.monitorCall(call) }
    }

    /// Releases the monitors that are active, as when the kernel drops them.
    public func releaseMonitors() async {
        for monitor in clients.values.flatMap({ $0.takeMonitors() }) { await tell(monitor, "Release") }
    }

    /// Whether a client has an active monitor.
    var hasMonitors: Bool { clients.values.contains { !$0.monitors.isEmpty } }

    private func monitorCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        guard let client = clients[call.sender], let root = call.arguments.first?.string else {
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        guard call.method == "RegisterMonitor" else {
            let isBeginning = client.monitorRoots.remove(root) != nil
            let ended = client.monitors.values.filter { $0.root == root }
            if isBeginning, ended.isEmpty { return .success(MethodReply()) }
            guard !ended.isEmpty else { return .failure(.bluez("DoesNotExist", "Does Not Exist")) }
            for monitor in ended { client.monitors[monitor.path] = nil }
            await endUnusedScan()
            Task { for monitor in ended { await self.tell(monitor, "Release") } }
            return .success(MethodReply())
        }
        guard client.monitorRoots.insert(root).inserted else {
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
        guard let client = clients[monitor.client], client.monitorRoots.contains(monitor.root) else { return }
        guard !refusesMonitors else { return await tell(monitor, "Release") }
        client.monitors[monitor.path] = monitor
        await tell(monitor, "Activate")
        guard client.monitors[monitor.path] != nil, session != nil else { return }
        activations += 1
        if discovery == nil { try? await startScan() }
    }

    private func tell(_ monitor: FakeMonitor, _ method: String, _ arguments: DBusValue...) async {
        _ = await callClient(MethodCall(monitor.client, monitor.path, Self.monitor, method, arguments))
    }

    func tellMonitors(_ device: String, _ advertisement: Advertisement) {
        for client in clients.values {
            for monitor in client.monitors.values
            where monitor.companies?.isDisjoint(with: advertisement.manufacturerData.keys) != true {
                // One that does not answer is told again when its time is over, and holds up nobody.
                guard client.monitors[monitor.path]?.told.insert(device).inserted == true else { continue }
                Task {
                    await tell(monitor, "DeviceFound", .objectPath(device))
                    client.monitors[monitor.path]?.told.remove(device)
                }
            }
        }
    }
}
