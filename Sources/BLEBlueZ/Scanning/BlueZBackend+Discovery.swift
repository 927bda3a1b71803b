public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// Starts this client's discovery session, which serves any number of scans.
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
        // Devices that another client's scan has found are in range too, and are not announced as new.
        for (path, device) in tree.devices where device.isHeard {
            if let id = id(ofDevice: path) { report(.advertisementReceived(id, device.advertisement)) }
        }
    }

    /// How long to retry. The kernel's scan takes 10.24 s.
    private static let busyLimit = Duration.seconds(15)

    /// Calls `StartDiscovery`, and retries while it answers `InProgress`.
    ///
    /// Either the kernel is still scanning for a bluetoothd that has died, which ends by itself, or this client has a
    /// session from a call whose answer it did not await, which is ended first.
    private func startSession(_ filter: DiscoveryFilter) async throws(BLEError) {
        var waited = Duration.zero
        let pause = Duration.milliseconds(500)
        while true {
            do throws(BLEError) {
                _ = try await call(
                    BlueZ.call(adapter, BlueZ.adapter, "StartDiscovery"), during: .discovery, timeout: Self.promptly)
                return
            } catch {
                // bluetoothd starts the session even if its answer is not awaited, so it is stopped. Calls keep their
                // order.
                if error.code == .timedOut || error.code == .cancelled { abandonSession() }
                guard error.code == .busy, waited < Self.busyLimit else { throw error }
                logger.debug("scanning again", metadata: ["error": "\(error)"])
                _ = try? await call(
                    BlueZ.call(adapter, BlueZ.adapter, "StopDiscovery"), during: .discovery, timeout: Self.promptly)
                try await sleep(pause)
                waited += pause
                // The filter is set again, whether or not the ended session had one.
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
        // Every packet counts. Without a limit of either kind, BlueZ hides RSSI changes of less than 8 dB, see
        // `discovery_filter_has_proximity` in its `src/adapter.c`, and a silent peripheral would look the same as one
        // with a steady signal. With an RSSI limit, the kernel drops advertisements of unknown signal strength. The
        // kernel does not receive a path loss limit, and the highest one, 137 dB, accepts everything.
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

    /// Returns bluetoothd's name of a transport.
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
            // `Failed: No discovery started`, and `NotReady` after a power-off, mean that no session is left.
            guard [.scanFailed, .poweredOff, .adapterNotFound].contains(error.code) else {
                throw error
            }
        }
        // `StopDiscovery` keeps the filter. An empty filter clears it.
        _ = try? await call(
            BlueZ.call(adapter, BlueZ.adapter, "SetDiscoveryFilter", .options()), during: .discovery,
            timeout: Self.promptly)
    }

    /// The error for a missing adapter.
    var unavailable: BLEError {
        isRunning
            ? BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in.")
            : .lost("bluetoothd is not running, or the bus is gone")
    }

    /// Throws the error for `NotReady` if the adapter is not powered on, without calling bluetoothd.
    func requirePower() throws(BLEError) {
        switch adapterState() {
        case .poweredOn: return
        case .poweredOff: throw BLEError(.remote("org.bluez.Error.NotReady", "Resource Not Ready"), during: .discovery)
        case .unavailable, .resetting: throw unavailable
        }
    }
}
