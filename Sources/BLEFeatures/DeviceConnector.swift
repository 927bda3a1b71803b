internal import BLE
internal import Logging

/// Finds one device and connects to it, as often as the configuration says.
struct DeviceConnector: Sendable {
    let devices: Devices
    let serial: String

    private var central: Central { devices.central }
    private var configuration: Devices.Configuration { devices.configuration }

    /// The pause before another attempt: a link that is lost in the instant it is made may be the first sign of more.
    private static let pause = Duration.milliseconds(500)

    /// The device, connected and ready.
    ///
    /// - Parameter discovered: where it was found; nil: it is to be looked for.
    func connect(_ discovered: DiscoveredDevice?) async throws(BLEError) -> Device {
        var discovered = discovered
        var attempt = 1
        while true {
            let found = if let discovered { discovered } else { try await find() }
            let device = Device(found, configuration, devices.storage)
            let hadLink = await device.peripheral.connectionState == .connected
            do throws(BLEError) {
                try await start(device)
                await remember(device)
                return device
            } catch {
                await device.end(error)
                // (in a task that is not cancelled: no link stays behind)
                if !hadLink { await Task { try? await device.disconnect() }.value }
                central.configuration.logger.debug(
                    "not connected", metadata: ["device": "\(serial)", "attempt": "\(attempt)", "error": "\(error)"])
                let error = error.at(device.peripheral.id)
                guard error.isRetryable, !Task.isCancelled, attempt < configuration.connectAttempts else { throw error }
                attempt += 1
                // (what the system has forgotten has to be heard again)
                if error.code == .peripheralNotFound {
                    discovered = nil
                    devices.unlist(serial)
                }
                guard (try? await central.configuration.clock.sleep(for: Self.pause)) != nil else { throw .cancelled }
            }
        }
    }

    /// Nobody wants it any more.
    func giveBack(_ device: Device) async {
        await device.end(.cancelled)
        try? await device.disconnect()
    }

    private func start(_ device: Device) async throws(BLEError) {
        try await withinConnectTimeout { try await device.start(configuration.connectTimeout) }
    }

    private func withinConnectTimeout<Value: Sendable>(
        _ body: @escaping @Sendable () async throws -> Value
    ) async throws(BLEError) -> Value {
        do {
            return try await central.withDeadline(configuration.connectTimeout, body)
        } catch let error as BLEError where error.code == .timedOut {
            throw BLEError(
                .timedOut, "device \(serial) was not ready within \(configuration.connectTimeout)", cause: error)
        } catch {
            throw error as? BLEError ?? BLEError(.cancelled, "\(error)")
        }
    }

    // MARK: Finding

    /// A device that is listed, or that has a link already, or that a scan finds.
    private func find() async throws(BLEError) -> DiscoveredDevice {
        if let listed = devices.listed(serial) { return listed }
        if let linked = try await linked() { return linked }
        try await checkAdapter()
        do throws(BLEError) {
            return try await withinConnectTimeout { [self] in
                for try await found in central.discoveries(matching: configuration.criteria) {
                    if let device = devices.device(in: found), device.serial == serial { return device }
                }
                throw BLEError(.scanFailed, "the scan has ended")
            }
        } catch {
            guard error.code == .timedOut else { throw error }
            throw BLEError(
                .peripheralNotFound, "no device \(serial) was heard within \(configuration.connectTimeout)",
                isRetryable: false, remedy: "See that it is switched on, near, and not connected to something else.",
                cause: error)
        }
    }

    /// What has a link does not advertise: it is known by what it has said before, or by what was saved of it.
    private func linked() async throws(BLEError) -> DiscoveredDevice? {
        let saved = try? await devices.storage.device(serial)
        for known in await central.knownPeripherals() where known.isConnected {
            if configuration.serial(in: known.advertisement) == serial || saved?.peripheral == known.id {
                return DiscoveredDevice(
                    serial: serial, peripheral: central.peripheral(known.id), advertisement: known.advertisement)
            }
        }
        return nil
    }

    /// A scan would wait for the adapter.
    private func checkAdapter() async throws(BLEError) {
        switch await central.adapterState {
        case .poweredOff: throw BLEError(.poweredOff, "the adapter is switched off", remedy: "Switch the adapter on.")
        case .unavailable: throw BLEError(.adapterNotFound, "there is no adapter", remedy: "Plug an adapter in.")
        default: break
        }
    }

    private func remember(_ device: Device) async {
        let (serial, name, id) = (serial, device.name, device.peripheral.id)
        do throws(BLEError) {
            try await devices.storage.update(serial) {
                var saved = $0 ?? SavedDevice(serial: serial)
                saved.name = name ?? saved.name
                saved.peripheral = id
                return saved
            }
        } catch {
            // (the device works all the same)
            central.configuration.logger.info("a device was not saved", metadata: ["error": "\(error)"])
        }
    }
}
