import BLE
import BLESimulation
import BLEBlueZ
import DBus
import Loop
import Synchronization

extension FakeBlueZ {
    // MARK: Adapter1

    var adapterProperties: [String: DBusValue] {
        [
            "Address": .string(adapterAddress), "Alias": .string(alias), "Name": .string("fake"),
            "AddressType": .string("public"), "Class": .uint32(0), "Powered": .boolean(isPowered),
            "Discoverable": .boolean(false), "DiscoverableTimeout": .uint32(180), "Pairable": .boolean(isPairable),
            "PairableTimeout": .uint32(0), "Roles": .strings(["central", "peripheral"]), "UUIDs": .strings([]),
            "Discovering": .boolean(isDiscovering),
            "Modalias": .string("usb:v1D6Bp0246d05\(Hex.string([UInt8(minorVersion)]))"),
        ]
    }

    var adapterInterfaces: [String: [String: DBusValue]] {
        (offersMonitors ? [BlueZ.monitorManager: [:]] : [:]).merging([
            BlueZ.adapter: adapterProperties, BlueZ.gattManager: [:], BlueZ.advertisingManager: Self.advertisingManager,
        ]) { $1 }
    }

    static let advertisingManager: [String: DBusValue] = [
        "ActiveInstances": .byte(0), "SupportedInstances": .byte(5),
        "SupportedIncludes": .strings(["tx-power", "appearance", "local-name"]),
    ]

    func publishAdapter() {
        let properties = adapterProperties
        loop.perform { [weak self] in self?.publishedAdapter.withLock { $0 = properties } }
    }

    /// Like `bluetoothctl power`.
    /// A blocked adapter stays off.
    public func setPowered(_ isPowered: Bool) async {
        guard !isPowered || !isBlocked else { return }
        self.isPowered = isPowered
        await radio.setPowered(isPowered, adapter: name)
        if !isPowered { endDiscoveries() }
        if isPowered, hasMonitors { Task { try? await backend.startDiscovery(DiscoveryFilter()) } }
        guard isPresent else { return }
        changed(adapterPath, BlueZ.adapter, ["Powered": .boolean(isPowered)])
    }

    /// Removes the adapter and its devices, or puts it back, switched on.
    public func setPresent(_ isPresent: Bool) async {
        guard isPresent != self.isPresent else { return }
        self.isPresent = isPresent
        await radio.setPresent(isPresent, adapter: name)
        if isPresent {
            isPowered = !isBlocked
            await radio.setPowered(isPowered, adapter: name)
            exportAdapter()
            showAdapter()
            return showStored()
        }
        endDiscoveries()
        for client in clients.values { _ = client.takeMonitors() }
        await endServing()
        stored += devices.values.compactMap(\.stored)
        for device in devices.values {
            device.connecting?.cancel()
            device.pairing?.cancel()
            openChannel(device.id)
            removeAttributes(of: device)
            devices[device.id] = nil
            removed([(device.path, BlueZ.device)])
        }
        removed(adapterPath, [BlueZ.adapter])
        for interface in Interfaces.ofAdapters { unexport(adapterPath, interface.name) }
    }

    func showAdapter() {
        emit("/", BlueZ.objectManager, "InterfacesAdded", [.objectPath(adapterPath), interfaces(adapterInterfaces)])
    }

    func removed(_ path: String, _ interfaces: [String]) {
        emit("/", BlueZ.objectManager, "InterfacesRemoved", [.objectPath(path), .strings(interfaces)])
    }

    /// Like `rfkill block bluetooth`, and `unblock`. An adapter that was on is switched on again.
    public func setBlocked(_ isBlocked: Bool) async {
        guard isBlocked != self.isBlocked else { return }
        if isBlocked {
            isOnUnblocked = isPowered
            await setPowered(false)
            self.isBlocked = true
        } else {
            self.isBlocked = false
            if isOnUnblocked { await setPowered(true) }
        }
    }

    func adapterCall(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        if isPresent, call.method == "Set" { return await setProperty(call) }
        guard isPresent, isPowered, let client = clients[call.sender] else {
            return .failure(.bluez("NotReady", "Resource Not Ready"))
        }
        switch call.method {
        case "RemoveDevice": return await removeDevice(call)
        case "SetDiscoveryFilter": return await setDiscoveryFilter(call, client)
        case "StartDiscovery":
            guard !client.isDiscovering else {
                return .failure(.bluez("InProgress", "Operation already in progress"))
            }
            client.isDiscovering = true
            discoveryChanged()
            // The daemon receives an advertisement, and crashes: BlueZ issue 2282.
            if minorVersion == 87, client.filter.hasServices { Task { await first.or(self).kill() } }
            do throws(BLEError) {
                try await startDiscovery()
            } catch {
                client.isDiscovering = false
                discoveryChanged()
                return .failure(.bluez("Failed", "Failed to start discovery"))
            }
            guard client.isDiscovering else {
                // The client has left meanwhile, or the adapter is off.
                await endUnusedScan()
                return .failure(.bluez("Failed", "Failed to start discovery"))
            }
            // After the answer, as the kernel tells it.
            Task { changed(adapterPath, BlueZ.adapter, ["Discovering": .boolean(isDiscovering)]) }
            return .success(MethodReply())
        default:
            guard client.isDiscovering else {
                return .failure(.bluez("Failed", "No discovery started"))
            }
            Task { await stopDiscovery(client) }
            return .success(MethodReply())
        }
    }

    /// Ends a client's session. After the last one, no device is in range.
    func stopDiscovery(_ client: FakeClient) async {
        client.isDiscovering = false
        discoveryChanged()
        guard !isDiscovering else { return }
        await endUnusedScan()
        for device in devices.values where device.isInRange {
            let invalidated = device.advertisement.txPower == nil ? ["RSSI"] : ["TxPower", "RSSI"]
            devices[device.id]?.isInRange = false
            devices[device.id]?.advertisement.txPower = nil
            changed(device.path, BlueZ.device, [:], invalidated: invalidated)
        }
        changed(adapterPath, BlueZ.adapter, ["Discovering": .boolean(false)])
    }

    /// `Properties.Set`. The answer precedes the signal.
    func setProperty(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch (call.arguments[1].string, call.arguments[2].unwrapped) {
        case ("Powered", .boolean(let isPowered)):
            if isPowered, isBlocked { return .failure(.bluez("Blocked", "Blocked through rfkill")) }
            if isPowered != self.isPowered { Task { await self.setPowered(isPowered) } }
        case ("Alias", .string(let alias)):
            self.alias = alias.isEmpty ? "fake" : alias
            Task { self.changed(adapterPath, BlueZ.adapter, ["Alias": .string(self.alias)]) }
        case (let name, _):
            return .failure(.bus("InvalidSignature", "Invalid signature for '\(name ?? "")'"))
        }
        return .success(MethodReply())
    }

    private func startDiscovery() async throws(BLEError) {
        try await backend.startDiscovery(discovery?.filter ?? DiscoveryFilter(transport: .any))
    }

    /// Sets a client's filter, also for a session that runs. An empty filter clears it.
    private func setDiscoveryFilter(
        _ call: IncomingCall, _ client: FakeClient
    ) async -> Result<MethodReply, DBusError> {
        let options = call.arguments.first
        var filter = FakeClient.Filter()
        switch options?[key: "Transport"]?.string {
        case "le": filter.transport = .le
        case "bredr": filter.transport = .classic
        case "auto", nil: filter.transport = .any
        default:
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        (filter.rssi, filter.pathloss) = (options?[key: "RSSI"]?.integer, options?[key: "Pathloss"]?.integer)
        filter.hasServices = options?[key: "UUIDs"] != nil
        client.filter = filter
        if client.isDiscovering {
            discoveryChanged()
            try? await startDiscovery()
        }
        return .success(MethodReply())
    }
}
