public import BLE
internal import DBus

extension BlueZCentral {
    /// Waits until bluetoothd has resolved the services and shown all of them.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let path = try path(of: peripheral)
        while true {
            // `ServicesResolved` is set even if discovery has failed, and may precede the objects. Therefore the
            // services must be resolved, and must stay the same until bluetoothd has answered a later call.
            try await host.refresh(path)
            let first = try await resolved(path)
            try await host.fence()
            let second = try await resolved(path)
            guard first.database == second.database else { continue }
            for (handle, attributePath) in second.paths {
                attributes[AttributeID(peripheral: peripheral, handle: handle)] = AttributeObject(path: attributePath)
            }
            return second.database
        }
    }

    /// How long bluetoothd may take to show the first service after the services are resolved. There may be none,
    /// because it does not show the services that every peripheral has.
    private static let emptyGrace = Duration.seconds(1)

    private func resolved(_ path: String) async throws(BLEError) -> (database: GATTDatabase, paths: [UInt16: String]) {
        let found = try await waits.wait(forObject: path, clock: configuredClock) { () throws(BLEError) in
            try self.resolvedNow(path)
        }
        guard found.database.isEmpty else { return found }
        do throws(BLEError) {
            return try await waits.wait(forObject: path, within: Self.emptyGrace, clock: configuredClock) {
                () throws(BLEError) in
                let found = try self.resolvedNow(path)
                return found?.database.isEmpty == false ? found : nil
            }
        } catch {
            guard error.code == .timedOut, let found = try resolvedNow(path) else { throw error }
            // bluetoothd shows no services of a link over Classic, and does not say which transport a link has.
            guard objects.devices[path]?.advertisement.deviceClass == nil else { throw Self.classic }
            return found
        }
    }

    private static let classic = BLEError(
        .notSupported, "the device is connected over Bluetooth Classic, or has no services", isRetryable: false,
        remedy: "Only Bluetooth LE is supported. If the device has both, disconnect it, and let it advertise.")

    /// Returns the services and their paths if they are resolved now.
    private func resolvedNow(_ path: String) throws(BLEError) -> (database: GATTDatabase, paths: [UInt16: String])? {
        guard let device = objects.devices[path] else { throw gone }
        guard device.isConnected else {
            throw BLEError(.disconnected, "the link ended before the services were discovered")
        }
        return device.areServicesResolved ? objects.database(ofDevice: path) : nil
    }

    /// Handles added or removed attributes. While services are being resolved, these are the discovery itself.
    func attributesChanged(_ path: String) {
        let objects = objects
        guard let device = objects.devices[path], device.isConnected, device.areServicesResolved else { return }
        for id in Self.ids(ofDevice: path, address: device.address) {
            report(.servicesChanged(id))
            for (attribute, attributePath) in uses.delivered(of: id) where !objects.hasAttribute(attributePath) {
                endDelivery(of: attribute)
                uses.stopped(attributePath, id)
                report(
                    .notificationsEnded(
                        attribute, BLEError(.disconnected, "the peripheral's services have changed", isRetryable: true))
                )
            }
        }
    }
}
