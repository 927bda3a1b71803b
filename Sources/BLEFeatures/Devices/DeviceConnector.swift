internal import BLE
internal import Logging

/// Finds a device and connects to it, with as many attempts as the configuration allows.
///
/// Several peripherals may claim the device's serial number. If one fails, or does not prove that it has the device's
/// pairing key, the next one is tried.
struct DeviceConnector: Sendable {
    let devices: Devices
    let serial: String

    private var central: Central { devices.central }
    private var configuration: Devices.Configuration { devices.configuration }

    /// The pause before another attempt. A link that is lost as soon as it is made may be lost again.
    private static let pause = Duration.milliseconds(500)
    /// The maximum number of peripherals to try. An attacker can imitate any number of peripherals.
    private static let maximumCandidates = 8

    /// Returns the device, connected and ready.
    ///
    /// - Parameter chosen: the peripheral to connect to. Nil to search for one.
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
                // A peripheral that the system has removed must be discovered again.
                if error.code == .peripheralNotFound {
                    found = nil
                    devices.unlist(candidate.peripheral.id)
                }
                guard (try? await central.clock.sleep(for: Self.pause)) != nil else { throw .cancelled }
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

    /// Disconnects a device that no caller waits for any longer.
    func giveBack(_ device: Device) async {
        await device.end(.cancelled)
        try? await device.disconnect()
    }

    /// Connects to a candidate and returns the device. If this fails, a link that was made for it is ended.
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
            // Disconnects in a separate task, which is not cancelled, so that the link is ended in any case.
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

    // MARK: Saving

    /// Whether the peripheral is known to be the device without proof on this link, because it was saved as the device
    /// or is bonded.
    private func isTrusted(_ peripheral: Peripheral) async -> Bool {
        if let saved = (try? await devices.storage.device(serial))??.peripheral, saved == peripheral.id { return true }
        return await DeviceFinder.isBonded(peripheral)
    }

    /// Saves a connected device, unless another peripheral may be the device. A peripheral that can prove that it has a
    /// pairing key is saved when it has proved it; see ``Device``.
    private func remember(_ device: Device, isTrusted: Bool) async {
        let canProveKey = configuration.encryption?.mode == .bound
        await devices.storage.remember(device.serial, central) { saved in
            // An unproven peripheral must not change an entry that may belong to another one.
            let isFree = saved.peripheral == nil && (saved.key == nil || !canProveKey)
            guard isTrusted || isFree else { return }
            saved.name = device.name ?? saved.name
            if isTrusted || !canProveKey { saved.peripheral = device.peripheral.id }
        }
    }
}

extension DeviceStorage {
    /// Changes the saved entry of a device. A failure is only logged, since the device works without it.
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
