public import BLE
import BLEBlueZ
import DBus
import Loop
import Synchronization

/// Adapters besides the one with the radio: they have no radio, and only the devices that a test gives them.
extension FakeBlueZ {
    /// The address of another adapter; all have the same.
    package static let otherAddress = "C0:FF:EE:00:00:02"

    /// Plugs in another adapter, which is on. A daemon that is started again finds it, too.
    public func addAdapter(_ name: String) async {
        let path = "/org/bluez/\(name)"
        otherAdapters[path] = true
        exportOther(path)
        emit(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [.objectPath(path), interfaces([BlueZ.adapter: otherProperties(path)])])
    }

    /// Removes another adapter, without signals about its devices.
    public func removeAdapter(_ name: String) {
        let path = "/org/bluez/\(name)"
        otherAdapters[path] = nil
        otherDevices = otherDevices.filter { $0.value.adapter != path }
        removed(path, [BlueZ.adapter])
    }

    /// Like `bluetoothctl power` for another adapter.
    public func setPowered(_ isPowered: Bool, adapter name: String) {
        let path = "/org/bluez/\(name)"
        otherAdapters[path] = isPowered
        changed(path, BlueZ.adapter, ["Powered": .boolean(isPowered)])
    }

    /// Another adapter has discovered a device, which may have a link to it.
    ///
    /// - Parameter isConnected: nil if the daemon forgets the device.
    public func setDevice(_ id: Peripheral.ID, onAdapter name: String, isConnected: Bool?) {
        let adapter = "/org/bluez/\(name)"
        let path = FakeDevice.path(of: id, onAdapter: adapter)
        guard let isConnected else {
            otherDevices[path] = nil
            return removed(path, [BlueZ.device])
        }
        if otherDevices[path] != nil {
            otherDevices[path]?.isConnected = isConnected
            return changed(path, BlueZ.device, ["Connected": .boolean(isConnected)])
        }
        var device = FakeDevice(id: id, advertisement: Advertisement(rssi: -60), adapter: adapter)
        device.isConnected = isConnected
        otherDevices[path] = device
        export(path, Interfaces.device) { _, _ in
            nil
        } property: { [weak self] name in
            self?.publishedOthers.withLock { $0[path]?[name] }
        }
        emit(
            "/", BlueZ.objectManager, "InterfacesAdded",
            [.objectPath(path), interfaces([BlueZ.device: device.properties])])
    }

    /// The objects of other adapters.
    var otherObjects: [String: [String: [String: DBusValue]]] {
        var objects: [String: [String: [String: DBusValue]]] = [:]
        for path in otherAdapters.keys { objects[path] = [BlueZ.adapter: otherProperties(path)] }
        for (path, device) in otherDevices { objects[path] = [BlueZ.device: device.properties] }
        return objects
    }

    private func otherProperties(_ path: String) -> [String: DBusValue] {
        [
            "Address": .string(Self.otherAddress), "Alias": .string("other"), "Name": .string("other"),
            "Powered": .boolean(otherAdapters[path] == true), "Discovering": .boolean(false),
        ]
    }

    func publishOthers() {
        let properties = otherObjects.compactMapValues { $0[BlueZ.adapter] ?? $0[BlueZ.device] }
        loop.perform { [weak self] in self?.publishedOthers.withLock { $0 = properties } }
    }

    /// Calls of its methods are counted, under the adapter's name and the method's, and succeed.
    func exportOther(_ path: String) {
        export(path, Interfaces.adapter) { daemon, call in
            daemon.note("\(path.split(separator: "/").last!) \(call.method)")
            return .success(MethodReply())
        } property: { [weak self] name in
            self?.publishedOthers.withLock { $0[path]?[name] }
        }
    }

    private func note(_ call: String) { calls[call, default: 0] += 1 }
}
