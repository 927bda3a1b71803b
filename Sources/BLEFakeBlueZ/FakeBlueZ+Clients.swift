public import BLE
import BLEBlueZ
import BLESimulation
import DBus
import Synchronization

/// The daemon's clients. When a client leaves the bus, its scans, notifications and sockets end.
extension FakeBlueZ {
    /// The client of a name, from its first call on.
    func client(_ name: String) -> FakeClient {
        if let client = clients[name] { return client }
        let client = FakeClient()
        clients[name] = client
        return client
    }

    /// The number of clients that have called an object of an adapter, on all adapters.
    package var clientCount: Int {
        others.values.reduce(clients.count) { count, other in count + other.assumeIsolated { $0.clients.count } }
    }

    /// A signal of the bus: when a name has lost its owner, that client has left.
    nonisolated func heard(_ message: IncomingMessage) {
        if message.member == "PropertiesChanged" { return clientChanged(message) }
        // Anybody can send such a signal.
        guard message.member == "NameOwnerChanged", message.sender == "org.freedesktop.DBus" else { return }
        var body = message.body
        guard let name = try? body.string(), (try? body.string()) != nil, (try? body.string())?.isEmpty == true else {
            return
        }
        // At once, so that it precedes the calls that follow.
        Task.immediate { await self.end(name) }
    }

    /// A name has left the bus. Everything that its client has ends, here and on the other adapters.
    private func end(_ name: String) async {
        agents.removeAll { $0.owner == name }
        denied.withLock { $0.remove(name) }
        clients[name]?.hasLeft = true
        for other in others.values { await other.end(name) }
        guard let client = clients[name] else { return }
        await endServing(of: name)
        if !client.takeMonitors().isEmpty { await endUnusedScan() }
        if client.isDiscovering { await stopDiscovery(client) }
        for place in client.notifying {
            guard let path = attribute(place)?.path else { continue }
            try? await stopNotifying(place, path, name)
        }
        clients[name] = nil
    }

    // MARK: Notifications

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
        notifyTurns[place] = Task { _ = await task.value }
        if let error = await task.value { throw error }
    }

    // MARK: Discovery

    /// Whether any client has a discovery session.
    public var isDiscovering: Bool { discovery != nil }

    /// The clients whose filters have services.
    public var serviceFilters: Set<String> { Set(clients.filter { $0.value.filter.hasServices }.keys) }

    /// A session of a client has begun or ended, or its filter has changed.
    func discoveryChanged() {
        discovery = FakeDiscovery(clients.values.filter(\.isDiscovering).map(\.filter))
    }

    /// The sessions of all clients have ended.
    func endDiscoveries() {
        for client in clients.values { client.isDiscovering = false }
        discoveryChanged()
    }

    /// Ends the radio's scan unless a client's session or monitor needs it.
    func endUnusedScan() async {
        if discovery == nil, !hasMonitors { try? await backend.stopDiscovery() }
    }

    /// Whether the kernel reports an advertisement. If every client sets a limit of signal strength, weaker
    /// advertisements and those of unknown strength are dropped (`is_filter_match` in Linux's `net/bluetooth/mgmt.c`).
    func passesKernel(_ advertisement: Advertisement) -> Bool {
        guard let minimum = discovery?.minimumRSSI else { return true }
        guard let rssi = advertisement.rssi else { return false }
        return rssi >= minimum
    }

    /// Whether the signal strength of an advertisement is shown: if it has changed by 8 dB, or small changes are shown,
    /// too (`device_set_rssi_with_delta` in the daemon's `src/device.c`).
    func showsSignalStrength(_ advertisement: Advertisement, of device: FakeDevice) -> Bool {
        let (before, now) = (device.advertisement.rssi ?? 127, advertisement.rssi ?? 127)
        return !device.isInRange || discovery?.showsSmallChanges == true || abs(before - now) >= 8
    }
}
