public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// One discovery session for this client, whatever the number of scans above.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        try requirePower()
        guard !filter.isPassive else {
            try await startPassiveScan(filter)
            return try await stopSession()
        }
        try await setFilter(filter)
        guard !isDiscovering else { return }
        let epoch = discoveryEpoch
        try await startSession(filter)
        guard epoch == discoveryEpoch else { throw .lost("the adapter went while the scan was being started") }
        isDiscovering = true
        await stopPassiveScan()
        // What another client's scan has made known is in range too, and will not be announced as new.
        for (path, device) in tree.devices where device.isHeard {
            if let id = id(ofDevice: path) { report(.advertisement(id, device.advertisement)) }
        }
    }

    /// How long to try again: the kernel's scan takes 10.24 s.
    private static let busyLimit = Duration.seconds(15)

    /// `StartDiscovery`, again and again while it answers `InProgress`.
    ///
    /// Either the kernel is still scanning for a bluetoothd that has died, which ends by itself, or this client has a session
    /// from a call whose answer it did not wait for, which is ended first.
    private func startSession(_ filter: DiscoveryFilter) async throws(BLEError) {
        var waited = Duration.zero
        let pause = Duration.milliseconds(500)
        while true {
            do throws(BLEError) {
                _ = try await call(
                    BlueZ.call(adapter, BlueZ.adapter, "StartDiscovery"), during: .discovery, timeout: Self.promptly)
                return
            } catch {
                // Who does not wait for the answer has a session all the same once bluetoothd answers; calls keep their order.
                if error.code == .timedOut || error.code == .cancelled { abandonSession() }
                guard error.code == .busy, waited < Self.busyLimit else { throw error }
                logger.debug("scanning again", metadata: ["error": "\(error)"])
                _ = try? await call(
                    BlueZ.call(adapter, BlueZ.adapter, "StopDiscovery"), during: .discovery, timeout: Self.promptly)
                try await sleep(pause)
                waited += pause
                // Ending the session has cleared the filter, if it had one.
                try await setFilter(filter)
            }
        }
    }

    private func abandonSession() {
        let stop = BlueZ.call(adapter, BlueZ.adapter, "StopDiscovery")
        Task { _ = try? await self.call(stop, during: .discovery, timeout: Self.promptly) }
    }

    private func setFilter(_ filter: DiscoveryFilter) async throws(BLEError) {
        var options: [String: DBusValue] = [
            "Transport": .string(Self.name(of: filter.transport)), "DuplicateData": .boolean(true),
        ]
        // Every packet counts. Without a limit of either kind BlueZ hides changes of the strength under 8 dB, see
        // `discovery_filter_has_proximity` in its `src/adapter.c`, and a silent peripheral would look the same as a steady
        // one. With any RSSI, the kernel drops what has no known strength; of a path loss it is told nothing, and the highest,
        // 137 dB, lets everything through.
        if let minimum = filter.minimumRSSI {
            options["RSSI"] = .int16(Int16(clamping: max(-127, min(20, minimum))))
        } else {
            options["Pathloss"] = .uint16(137)
        }
        if !filter.services.isEmpty { options["UUIDs"] = .strings(filter.services.sorted().map(\.fullDescription)) }
        _ = try await call(
            BlueZ.call(adapter, BlueZ.adapter, "SetDiscoveryFilter", .options(options)), during: .discovery,
            timeout: Self.promptly)
    }

    /// The daemon's word for a transport.
    private static func name(of transport: Transport) -> String {
        switch transport {
        case .le: "le"
        case .classic: "bredr"
        case .any: "auto"
        }
    }

    /// Ends this client's scans and clears its filter.
    public func stopDiscovery() async throws(BLEError) {
        await stopPassiveScan()
        try await stopSession()
    }

    private func stopSession() async throws(BLEError) {
        guard isDiscovering else { return }
        isDiscovering = false
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(adapter, BlueZ.adapter, "StopDiscovery"), during: .discovery, timeout: Self.promptly)
        } catch {
            // `Failed: No discovery started`, and NotReady after a power-off, are what stopping wanted.
            guard [.scanFailed, .poweredOff, .adapterNotFound].contains(error.code) else {
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
        case .unavailable, .resetting: throw unavailable
        }
    }
}
