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
        let other = FakeBlueZ(name, of: self, number: others.count + 2)
        others[name] = other
        // The radio is running: it is the daemon that is killed, not the radio.
        try? await other.startBackend()
        guard let session else { return other }
        await other.join(session)
        await other.showAdapter()
        return other
    }

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
