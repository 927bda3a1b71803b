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
            "PairableTimeout": .uint32(0), "Roles": .strings(["central", "peripheral"]),
            "UUIDs": .strings(servedServices.map(\.fullDescription)), "Discovering": .boolean(isDiscovering),
            "Modalias": .string("usb:v1D6Bp0246d05\(Hex.string([UInt8(minorVersion)]))"),
        ]
    }

    var adapterInterfaces: [String: [String: DBusValue]] {
        (offersMonitors ? [BlueZ.monitorManager: [:]] : [:]).merging([
            BlueZ.adapter: adapterProperties, BlueZ.gattManager: [:], BlueZ.advertisingManager: advertisingManager,
        ]) { $1 }
    }

    /// May be called from any thread.
    nonisolated var advertisingManager: [String: DBusValue] {
        advertisingInstances.merging(["SupportedIncludes": .strings(["tx-power", "appearance", "local-name"])]) { $1 }
    }

    nonisolated var advertisingInstances: [String: DBusValue] {
        let count = activeAdvertisements.withLock(\.self)
        return [
            "ActiveInstances": .byte(UInt8(clamping: count)), "SupportedInstances": .byte(UInt8(clamping: 5 - count)),
        ]
    }

    func publishAdapter() {
        let properties = adapterProperties
        loop.perform { [weak self] in self?.publishedAdapter.withLock { $0 = properties } }
    }

    /// Like `bluetoothctl power`.
    /// A blocked adapter stays off.
    public func setPowered(_ isPowered: Bool) async {
        guard !isPowered || !isBlocked else { return }
        if self.isPowered, !isPowered { removeHeardDevices() }
        await switchPower(isPowered)
    }

    /// What the kernel tells the daemon, also when a kill switch has switched the adapter off.
    private func switchPower(_ isPowered: Bool) async {
        self.isPowered = isPowered
        await radio.setPowered(isPowered, adapter: name)
        if !isPowered {
            endDiscoveries()
            await endKernelDiscovery()
        }
        if isPowered, hasMonitors { Task { try? await startScan() } }
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
        await endKernelDiscovery()
        for client in clients.values { _ = client.takeMonitors() }
        await endServing()
        stored += devices.values.compactMap(\.stored)
        for device in devices.values {
            device.connecting?.cancel()
            device.pairing?.cancel()
            endWaits(device.id)
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
            await switchPower(false)
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
        case "StartDiscovery": return await startDiscovery(client)
        default:
            // `stop_discovery` in the daemon's `src/adapter.c`.
            guard client.unansweredStarts == 0 else {
                return .failure(.bluez("InProgress", "Operation already in progress"))
            }
            guard client.isDiscovering else {
                return .failure(.bluez("Failed", "No discovery started"))
            }
            Task { await stopDiscovery(client) }
            return .success(MethodReply())
        }
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
}
