public import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// A daemon with several adapters.
extension FakeBlueZ {
    /// The address of the second adapter.
    package static let otherAddress = "C0:FF:EE:00:00:02"

    /// Plugs in another adapter, which is on, or one that was taken out. A daemon that is started again finds it, too.
    ///
    /// - Parameter name: its id, such as `hci1`.
    /// - Returns: the daemon's part for that adapter.
    @discardableResult
    public func addAdapter(_ name: String) async -> FakeBlueZ {
        if let other = others[name] {
            await other.setPresent(true)
            return other
        }
        precondition(name != self.name, "\(name) is the first adapter")
        await radio.addAdapter(name)
        let number = Hex.string([UInt8(truncatingIfNeeded: others.count + 2)])
        return await show(FakeBlueZ(name, of: self, address: "C0:FF:EE:00:00:\(number)"))
    }

    private func show(_ other: FakeBlueZ) async -> FakeBlueZ {
        others[other.name] = other
        // The radio is running: it is the daemon that is killed, not the radio.
        try? await other.startBackend()
        guard let session else { return other }
        await other.join(session)
        await other.showAdapter()
        return other
    }

    /// Plugs in again an adapter that was taken out, under another name, as the kernel may give it one: with the same
    /// address, and the devices that have a bond with it.
    ///
    /// - Returns: the daemon's part for that adapter.
    /// - Precondition: The daemon has an adapter `name`, which is taken out, and has had none of the new name.
    @discardableResult
    public func returnAdapter(_ name: String, as newName: String) async -> FakeBlueZ {
        guard let former = adapter(name) else { preconditionFailure("there is no adapter \(name)") }
        precondition(adapter(newName) == nil, "there is an adapter \(newName) already")
        await radio.returnAdapter(name, as: newName)
        let other = FakeBlueZ(newName, of: self, address: former.adapterAddress)
        await other.takeSettings(of: former)
        let shown = await show(other)
        await other.takeDevices(of: former)
        return shown
    }

    private func takeSettings(of former: FakeBlueZ) async {
        let (alias, isBlocked, isOnUnblocked) = await former.settings
        (self.alias, self.isBlocked, self.isOnUnblocked) = (alias, isBlocked, isOnUnblocked)
    }

    private var settings: (String, Bool, Bool) { (alias, isBlocked, isOnUnblocked) }

    /// Takes over the devices that the daemon has stored for an adapter's address.
    private func takeDevices(of former: FakeBlueZ) async {
        stored += await former.giveUpDevices().map { $0.moved(to: adapterPath) }
        if session != nil { showStored() }
    }

    private func giveUpDevices() -> [FakeDevice] {
        defer { stored = [] }
        return stored
    }

    /// The path of a device's object, or of the object of one of its characteristics. Nil if the
    /// daemon has no object of it.
    func path(of id: DeviceID, characteristic handle: UInt16? = nil) -> String? {
        guard let handle else { return devices[id]?.path }
        return attribute(AttributeID(peripheral: id, handle: handle))?.path
    }

    /// Whether the adapter is plugged in.
    package var isPluggedIn: Bool { isPresent }

    /// The daemon's part for an adapter. Nil if there is none of that name.
    public func adapter(_ name: String) -> FakeBlueZ? { name == self.name ? self : others[name] }

    /// The number of adapters on which a client has a discovery session.
    package var discoveringAdapters: Int {
        (isDiscovering ? 1 : 0) + others.values.count { other in other.assumeIsolated { $0.isDiscovering } }
    }

    /// Takes out another adapter.
    public func removeAdapter(_ name: String) async { await others[name]?.setPresent(false) }

    /// Like `bluetoothctl power` for another adapter.
    public func setPowered(_ isPowered: Bool, adapter name: String) async { await others[name]?.setPowered(isPowered) }

    /// Another adapter has discovered a device, which may have a link to it.
    ///
    /// - Parameter isConnected: nil if the daemon forgets the device.
    public func setDevice(_ id: Peripheral.ID, onAdapter name: String, isConnected: Bool?) async {
        await others[name]?.setDevice(id, isConnected: isConnected)
    }

    private func setDevice(_ id: Peripheral.ID, isConnected: Bool?) {
        guard let isConnected else {
            guard let device = devices[id] else { return }
            devices[id] = nil
            return removed([(device.path, BlueZ.device)])
        }
        if devices[id] == nil {
            show(FakeDevice(id: id, advertisement: Advertisement(rssi: -60), adapter: adapterPath))
        }
        guard let device = devices[id], device.isConnected != isConnected else { return }
        devices[id]?.isConnected = isConnected
        changed(device.path, BlueZ.device, ["Connected": .boolean(isConnected)])
    }
}
