internal import BLE
internal import Logging

/// Finds one device and connects to it, as often as the configuration says.
///
/// Several peripherals may claim its serial number. Those that fail are passed over for the next one, and so are those that do not prove
/// that they have its pairing key.
struct DeviceConnector: Sendable {
    let devices: Devices
    let serial: String

    private var central: Central { devices.central }
    private var configuration: Devices.Configuration { devices.configuration }

    /// The pause before another attempt: a link that is lost in the instant it is made may be the first sign of more.
    private static let pause = Duration.milliseconds(500)
    /// How many peripherals that claim the serial number are tried. Whoever makes them up could go on forever.
    private static let maximumCandidates = 8

    /// The device, connected and ready.
    ///
    /// - Parameter chosen: the peripheral that it is; nil: it is to be looked for.
    func connect(_ chosen: DiscoveredDevice?) async throws(BLEError) -> Device {
        let finder = DeviceFinder(devices: devices, serial: serial, chosen: chosen?.peripheral.id)
        var found = chosen
        var tried: Set<Peripheral.ID> = []
        var attempt = 1
        var firstError: BLEError?
        while true {
            let candidate = if let found { found } else { try await finder.first() }
            let error: BLEError
            do throws(BLEError) {
                return try await connected(candidate, isChosen: chosen != nil, attempt)
            } catch let failure {
                error = failure
            }
            if Task.isCancelled { throw error }
            if error.isRetryable, attempt < configuration.connectAttempts {
                attempt += 1
                found = candidate
                // What the system has forgotten has to be heard again.
                if error.code == .peripheralNotFound {
                    found = nil
                    devices.unlist(candidate.peripheral.id)
                }
                guard (try? await central.configuration.clock.sleep(for: Self.pause)) != nil else { throw .cancelled }
                continue
            }
            tried.insert(candidate.peripheral.id)
            firstError = firstError ?? error
            guard chosen == nil, tried.count < Self.maximumCandidates,
                let other = try await finder.another(than: tried, scanning: error.code == .encryptionFailed)
            else { throw firstError ?? error }
            found = other
        }
    }

    /// Nobody wants it any more.
    func giveBack(_ device: Device) async {
        await device.end(.cancelled)
        try? await device.disconnect()
    }

    /// The device, if it is this peripheral. Leaves no link otherwise.
    private func connected(
        _ candidate: DiscoveredDevice, isChosen: Bool, _ attempt: Int
    ) async throws(BLEError) -> Device {
        let device = Device(candidate, configuration, devices.storage)
        let hadLink = await device.peripheral.connectionState == .connected
        do throws(BLEError) {
            let isTrusted = await isTrusted(device.peripheral)
            let provesKey = if isTrusted || isChosen { false } else { await device.messages.hasProvableKey }
            try await start(device, provesKey)
            await remember(device, isTrusted: isTrusted)
            return device
        } catch {
            await device.end(error)
            // In a task that is not cancelled, so that no link stays behind.
            if !hadLink { await Task { try? await device.disconnect() }.value }
            central.configuration.logger.debug(
                "not connected", metadata: ["device": "\(serial)", "attempt": "\(attempt)", "error": "\(error)"])
            throw error.at(device.peripheral.id)
        }
    }

    private func start(_ device: Device, _ provesKey: Bool) async throws(BLEError) {
        do {
            try await central.withDeadline(configuration.connectTimeout) { [configuration] in
                try await device.start(configuration.connectTimeout, provesKey: provesKey)
            }
        } catch let error as BLEError where error.code == .timedOut {
            throw BLEError(
                .timedOut, "device \(serial) was not ready within \(configuration.connectTimeout)", cause: error)
        } catch {
            throw error as? BLEError ?? BLEError(.cancelled, "\(error)")
        }
    }

    // MARK: Remembering

    /// Whether the peripheral is known to be the device, without any proof on this link: it was saved as such, or there is a bond.
    private func isTrusted(_ peripheral: Peripheral) async -> Bool {
        if let saved = (try? await devices.storage.device(serial))??.peripheral, saved == peripheral.id { return true }
        return await DeviceFinder.isBonded(peripheral)
    }

    /// Saves what is connected, as far as it is known to be the device. One that can prove that it has a pairing key is saved when it
    /// has done so; see ``Device``.
    private func remember(_ device: Device, isTrusted: Bool) async {
        let canProveKey = configuration.encryption?.mode == .bound
        await devices.storage.remember(device.serial, central) { saved in
            // What was saved of another peripheral is not this one's to change.
            let isFree = saved.peripheral == nil && (saved.key == nil || !canProveKey)
            guard isTrusted || isFree else { return }
            saved.name = device.name ?? saved.name
            if isTrusted || !canProveKey { saved.peripheral = device.peripheral.id }
        }
    }
}

extension DeviceStorage {
    /// Changes what is saved of a device. A device that cannot be saved works all the same.
    func remember(
        _ serial: String, _ central: Central, _ change: @escaping @Sendable (inout SavedDevice) -> Void
    ) async {
        do throws(BLEError) {
            try await update(serial) {
                var saved = $0 ?? SavedDevice(serial: serial)
                change(&saved)
                return saved
            }
        } catch {
            central.configuration.logger.info("a device was not saved", metadata: ["error": "\(error)"])
        }
    }
}
