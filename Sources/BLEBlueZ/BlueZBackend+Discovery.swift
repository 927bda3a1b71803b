public import BLE
internal import DBus

extension BlueZBackend {
    /// One discovery session for this client, whatever the number of scans above.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        try requirePower()
        try await setFilter(filter)
        guard !isDiscovering else { return }
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(adapter, BlueZ.adapter, "StartDiscovery"), during: .discovery, timeout: Self.promptly)
        } catch {
            // The only discovery that can be in progress for this client is its own.
            guard error.code == .busy else { throw error }
        }
        isDiscovering = true
        // What another client's scan has made known is in range too, and will not be announced as new.
        for (path, device) in tree.devices where device.advertisement.rssi != nil {
            if let id = id(ofDevice: path) { report(.advertisement(id, device.advertisement)) }
        }
    }

    private func setFilter(_ filter: DiscoveryFilter) async throws(BLEError) {
        var options: [String: DBusValue] = [
            "Transport": .string("le"),
            // Every packet counts: without an RSSI filter BlueZ hides changes under 8 dB, and a silent peripheral would look
            // the same as a steady one.
            "RSSI": .int16(Int16(clamping: filter.minimumRSSI ?? -127)),
            "DuplicateData": .boolean(true),
        ]
        if !filter.services.isEmpty { options["UUIDs"] = .strings(filter.services.sorted().map(\.fullDescription)) }
        _ = try await call(
            BlueZ.call(adapter, BlueZ.adapter, "SetDiscoveryFilter", .options(options)), during: .discovery,
            timeout: Self.promptly)
    }

    /// Ends this client's discovery session and clears its filter.
    public func stopDiscovery() async throws(BLEError) {
        guard isDiscovering else { return }
        isDiscovering = false
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(adapter, BlueZ.adapter, "StopDiscovery"), during: .discovery, timeout: Self.promptly)
        } catch {
            // `Failed: No discovery started`, and NotReady after a power-off, are what stopping wanted.
            guard error.code == .failed || error.code == .poweredOff || error.code == .peripheralNotFound else {
                throw error
            }
        }
        // StopDiscovery leaves the filter; an empty one clears it.
        _ = try? await call(
            BlueZ.call(adapter, BlueZ.adapter, "SetDiscoveryFilter", .options()), during: .discovery,
            timeout: Self.promptly)
    }

    /// Why there is no adapter.
    var unavailable: BLEError {
        isRunning
            ? BLEError(.adapterNotFound, "the adapter is gone", remedy: "Plug it in.")
            : .lost("bluetoothd is not running, or the bus is gone")
    }

    /// Throws what `NotReady` would say, before anything is asked.
    func requirePower() throws(BLEError) {
        switch adapterState() {
        case .poweredOn: return
        case .poweredOff: throw BLEError(.remote("org.bluez.Error.NotReady", "Resource Not Ready"), during: .discovery)
        case .unavailable: throw unavailable
        }
    }
}
