public import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// StartNotify and StopNotify, by the rules of the daemon's `src/gatt-client.c`.
extension FakeBlueZ {
    /// The characteristics that a client has switched on.
    var notifying: Set<AttributeID> { clients.values.reduce(into: []) { $0.formUnion($1.notifying) } }

    func isNotifying(_ place: AttributeID) -> Bool { clients.values.contains { $0.notifying.contains(place) } }

    /// A characteristic is off for every client.
    func clearNotifying(_ place: AttributeID) {
        for client in clients.values { client.notifying.remove(place) }
    }

    func attribute(_ place: AttributeID) -> FakeDevice.Attribute? {
        devices[place.peripheral]?.attributes.first {
            $0.handle == place.handle && $0.interface == BlueZ.gattCharacteristic
        }
    }

    /// A client has switched a characteristic's notifications on or off, or the last one that had switched them on has
    /// left.
    func setUse(_ use: String, of place: AttributeID, _ isOn: Bool) {
        if isOn {
            devices[place.peripheral]?.uses[place.handle, default: []].insert(use)
        } else {
            devices[place.peripheral]?.uses[place.handle]?.remove(use)
        }
    }

    /// `StartNotify`; the first of a characteristic's clients starts its notifications.
    func startNotifying(_ place: AttributeID, _ path: String, _ name: String) async throws(BLEError) {
        try await inTurn(place) { daemon in
            let isOn = daemon.isNotifying(place)
            guard let client = daemon.clients[name], !client.hasLeft, client.notifying.insert(place).inserted else {
                return nil
            }
            daemon.setUse("Notifying", of: place, true)
            guard !isOn else { return nil }
            do throws(BLEError) {
                try await daemon.subscribe(place, path)
            } catch {
                // A client whose start is lost stays, and is started again on the next link.
                if !daemon.isLost(error, on: place.peripheral) { daemon.clearNotifying(place) }
                daemon.setUse("Notifying", of: place, false)
                return error
            }
            daemon.changed(path, BlueZ.gattCharacteristic, ["Notifying": .boolean(true)])
            return nil
        }
    }

    /// Another client calls StartNotify, and stays.
    public func startNotifications(of characteristic: BluetoothUUID) async {
        let name = "another client"
        _ = client(name)
        for device in devices.values {
            guard let handle = device.database?.flatMap({ $0 }).first(where: { $0.uuid == characteristic })?.handle,
                let path = device.attributes.first(where: { $0.handle == handle })?.path
            else { continue }
            try? await startNotifying(AttributeID(peripheral: device.id, handle: handle), path, name)
        }
    }

    /// `StopNotify`; the last of a characteristic's clients stops its notifications.
    func stopNotifying(_ place: AttributeID, _ path: String, _ name: String) async throws(BLEError) {
        try await inTurn(place) { daemon in
            guard daemon.clients[name]?.notifying.remove(place) != nil, !daemon.isNotifying(place) else { return nil }
            daemon.setUse("Notifying", of: place, false)
            daemon.changed(path, BlueZ.gattCharacteristic, ["Notifying": .boolean(false)])
            do throws(BLEError) {
                try await daemon.backend.stopNotifications(of: place)
                return nil
            } catch {
                return error
            }
        }
    }

    /// On a new link, clients that have called `StartNotify` get notifications, too (`register_notify` in the daemon's
    /// `src/gatt-client.c`).
    func renewNotifying(_ id: Peripheral.ID) async {
        for place in notifying where place.peripheral == id {
            guard let path = attribute(place)?.path else { continue }
            try? await inTurn(place) { daemon in
                guard daemon.isNotifying(place) else { return nil }
                try? await daemon.subscribe(place, path)
                return nil
            }
        }
    }

    private func subscribe(_ place: AttributeID, _ path: String) async throws(BLEError) {
        try await backend.startNotifications(of: place) { [weak self] value in
            self?.assumeIsolated { $0.deliver(value, path) }
        }
    }

    /// Starts or stops the notifications of a characteristic after all earlier such steps have ended. Rethrows its
    /// error.
    private func inTurn(
        _ place: AttributeID, _ work: @escaping @Sendable (isolated FakeBlueZ) async -> BLEError?
    ) async throws(BLEError) {
        let previous = notifyTurns[place]
        let task = Task {
            await previous?.value
            return await work(self)
        }
        let turn = Task { _ = await task.value }
        notifyTurns[place] = turn
        let error = await task.value
        if notifyTurns[place] == turn { notifyTurns[place] = nil }
        if let error { throw error }
    }
}
