public import BLE
import BLEBlueZ
import BLESimulation
import DBus

/// The daemon's clients. When a client leaves the bus, its scans, notifications and sockets end.
extension FakeBlueZ {
    /// The parts of a client's filter that the radio does not apply.
    struct Limits {
        var rssi: Int?
        var pathloss: Int?
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
        Task { await self.left(name) }
    }

    /// A client that has called `StartNotify` and has no answer yet.
    struct PendingStart: Hashable {
        let path: String
        let client: String
    }

    private func left(_ client: String) async {
        for other in others.values { await other.left(client) }
        if callers[client] != nil { departed.insert(client) }
        await endServing(of: client)
        await endMonitors(of: client)
        transports[client] = nil
        limits[client] = nil
        serviceFilters.remove(client)
        pendingStarts = pendingStarts.filter { $0.client != client }
        if discoverers.contains(client) { await stopDiscovery(client) }
        for (place, clients) in notifiers where clients.contains(client) {
            if let attribute = attribute(place) {
                try? await stopNotifying(place, attribute.path, client)
            } else {
                notifiers[place]?.remove(client)
            }
        }
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
    func startNotifying(_ place: AttributeID, _ path: String, _ client: String) async throws(BLEError) {
        try await inTurn(place) { daemon in
            guard daemon.notifiers[place, default: []].insert(client).inserted else { return nil }
            daemon.setUse("Notifying", of: place, true)
            guard daemon.notifiers[place]?.count == 1 else { return nil }
            do throws(BLEError) {
                try await daemon.subscribe(place, path)
            } catch {
                // A client whose start is lost stays, and is started again on the next link.
                if !daemon.isLost(error, on: place.peripheral) { daemon.notifiers[place] = nil }
                daemon.setUse("Notifying", of: place, false)
                return error
            }
            daemon.changed(path, BlueZ.gattCharacteristic, ["Notifying": .boolean(true)])
            return nil
        }
    }

    /// Another client calls StartNotify, and stays.
    public func startNotifications(of characteristic: BluetoothUUID) async {
        for device in devices.values {
            guard let handle = device.database?.flatMap({ $0 }).first(where: { $0.uuid == characteristic })?.handle,
                let path = device.attributes.first(where: { $0.handle == handle })?.path
            else { continue }
            try? await startNotifying(AttributeID(peripheral: device.id, handle: handle), path, "another client")
        }
    }

    /// `StopNotify`; the last of a characteristic's clients stops its notifications.
    func stopNotifying(_ place: AttributeID, _ path: String, _ client: String) async throws(BLEError) {
        try await inTurn(place) { daemon in
            guard daemon.notifiers[place]?.remove(client) != nil, daemon.notifiers[place]?.isEmpty == true else {
                return nil
            }
            daemon.notifiers[place] = nil
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
        for place in notifiers.keys where place.peripheral == id {
            guard let path = attribute(place)?.path else { continue }
            try? await inTurn(place) { daemon in
                guard daemon.notifiers[place] != nil else { return nil }
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

    /// Whether the kernel reports an advertisement. If every client sets a limit of signal strength, weaker
    /// advertisements and those of unknown strength are dropped (`is_filter_match` in Linux's `net/bluetooth/mgmt.c`).
    func passesKernel(_ advertisement: Advertisement) -> Bool {
        let minima = discoverers.map { limits[$0]?.rssi }
        guard !minima.isEmpty, let minimum = minima.compactMap({ $0 }).min(), !minima.contains(nil) else { return true }
        guard let rssi = advertisement.rssi else { return false }
        return rssi >= minimum
    }

    /// Whether the daemon shows each change of the signal strength: only when a client has a limit of either kind.
    var showsSmallChanges: Bool {
        discoverers.contains { limits[$0]?.rssi != nil || limits[$0]?.pathloss != nil }
    }

    /// The properties that an advertisement changes. The signal strength is among them only when it has changed by 8
    /// dB, or when small changes are shown, too (`device_set_rssi_with_delta` in the daemon's `src/device.c`).
    func shown(_ advertisement: Advertisement, of device: FakeDevice) -> [String: DBusValue] {
        var present = device
        (present.advertisement, present.isInRange) = (advertisement, true)
        let former = device.properties
        let advertised = device.advertised(advertisement)
        // Data is shown each time, as `DuplicateData` has it by default.
        var properties = present.properties.filter { name, value in
            former[name] != value || advertised[name] != nil && Self.isShownAgain(name)
        }
        let (before, now) = (device.advertisement.rssi ?? 127, advertisement.rssi ?? 127)
        if device.isInRange, !showsSmallChanges, abs(before - now) < 8 { properties["RSSI"] = nil }
        return properties
    }

    private static func isShownAgain(_ name: String) -> Bool {
        ["RSSI", "ManufacturerData", "ServiceData"].contains(name)
    }
}
