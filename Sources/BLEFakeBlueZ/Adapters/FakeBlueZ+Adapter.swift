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
            "Discovering": .boolean(!discoverers.isEmpty),
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
        if !isPowered { discoverers = [] }
        if isPowered, !monitors.isEmpty { Task { try? await backend.startDiscovery(DiscoveryFilter()) } }
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
            showAdapter()
            return showStored()
        }
        discoverers = []
        (monitors, monitorRoots) = ([:], [])
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
        guard isPresent else { return .failure(.bus("UnknownObject", "no adapter")) }
        if call.method == "Set" { return await setProperty(call) }
        guard isPowered else { return .failure(.bluez("NotReady", "Resource Not Ready")) }
        switch call.method {
        case "RemoveDevice": return await removeDevice(call)
        case "SetDiscoveryFilter": return await setDiscoveryFilter(call)
        case "StartDiscovery":
            guard discoverers.insert(call.sender).inserted else {
                return .failure(.bluez("InProgress", "Operation already in progress"))
            }
            // The daemon receives an advertisement, and crashes: BlueZ issue 2282.
            if minorVersion == 87, serviceFilters.contains(call.sender) { Task { await first.or(self).kill() } }
            do throws(BLEError) {
                try await backend.startDiscovery(unitedFilter)
            } catch {
                discoverers.remove(call.sender)
                return .failure(.bluez("Failed", "Failed to start discovery"))
            }
            guard discoverers.contains(call.sender) else {
                // The client has left meanwhile, or the adapter is off.
                if discoverers.isEmpty, monitors.isEmpty { try? await backend.stopDiscovery() }
                return .failure(.bluez("Failed", "Failed to start discovery"))
            }
            // After the answer, as the kernel tells it.
            Task { changed(adapterPath, BlueZ.adapter, ["Discovering": .boolean(isDiscovering)]) }
            return .success(MethodReply())
        default:
            guard discoverers.contains(call.sender) else {
                return .failure(.bluez("Failed", "No discovery started"))
            }
            Task { await stopDiscovery(call.sender) }
            return .success(MethodReply())
        }
    }

    /// Ends a client's session. After the last one, no device is in range.
    func stopDiscovery(_ client: String) async {
        discoverers.remove(client)
        guard discoverers.isEmpty else { return }
        if monitors.isEmpty { try? await backend.stopDiscovery() }
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
        default:
            return .failure(.bus("InvalidSignature", "Invalid signature for a property"))
        }
        return .success(MethodReply())
    }

    /// The daemon's own filter: every transport that a client with a session has asked for. (The rest of a filter is
    /// left to the client, which filters again.)
    var unitedFilter: DiscoveryFilter {
        let wanted = Set(discoverers.map { transports[$0] ?? .any })
        return DiscoveryFilter(transport: wanted.count == 1 ? wanted.first! : .any)
    }

    /// Sets a client's filter, also for a session that runs. An empty filter clears it.
    func setDiscoveryFilter(_ call: IncomingCall) async -> Result<MethodReply, DBusError> {
        switch call.arguments.first?[key: "Transport"]?.string {
        case "le": transports[call.sender] = .le
        case "bredr": transports[call.sender] = .classic
        case "auto", nil: transports[call.sender] = .any
        default:
            return .failure(.bluez("InvalidArguments", "Invalid arguments in method call"))
        }
        limits[call.sender] = Limits(
            rssi: call.arguments.first?[key: "RSSI"]?.integer, pathloss: call.arguments.first?[key: "Pathloss"]?.integer
        )
        if call.arguments.first?[key: "UUIDs"] != nil {
            serviceFilters.insert(call.sender)
        } else {
            serviceFilters.remove(call.sender)
        }
        if discoverers.contains(call.sender) { try? await backend.startDiscovery(unitedFilter) }
        return .success(MethodReply())
    }
}
