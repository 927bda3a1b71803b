public import BLE
internal import DBus
internal import Waiting

extension BlueZCentral {
    /// Waits until bluetoothd has resolved the services and reported all of them.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let path = try path(of: peripheral)
        while true {
            // `ServicesResolved` is set even if discovery has failed, and may precede the objects. Therefore the
            // services must be resolved, and must stay the same until bluetoothd has answered a later call.
            try await stack.refresh(path)
            let first = try await resolved(path)
            try await stack.fence()
            let second = try await resolved(path)
            // Now, too: the link may have ended before this goes on, and its attributes were removed.
            guard first.database == second.database, try resolvedNow(path)?.database == second.database else {
                continue
            }
            let own = second.database.writesRefusedByBlueZ
            for (handle, attributePath) in second.paths {
                attributes[AttributeID(peripheral: peripheral, handle: handle)] = AttributeObject(
                    path: attributePath, writing: own.contains(handle) ? .attribute : .request)
            }
            return second.database
        }
    }

    /// How long bluetoothd may take to report the first service after the services are resolved. There may be none,
    /// because bluetoothd does not report the services that every peripheral has.
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
            // bluetoothd does not report the services of a link over Classic, nor which transport a link uses. A link
            // to find them, for any program, lasts 2 s.
            guard error.code == .timedOut, let found = try resolvedNow(path) else {
                var error = error
                if error.code == .disconnected, isClassic(path) { error.remedy = Self.classic().remedy }
                throw error
            }
            guard !isClassic(path) else { throw Self.classic() }
            return found
        }
    }

    /// Whether a device has Bluetooth Classic.
    func isClassic(_ path: String) -> Bool { objects.devices[path]?.advertisement.deviceClass != nil }

    /// The error for a device to which bluetoothd connects over Bluetooth Classic.
    static func classic(_ cause: BLEError? = nil) -> BLEError {
        BLEError(
            .notSupported, "bluetoothd connects to the device over Bluetooth Classic, or it has no services",
            stackErrorName: cause?.stackErrorName, isRetryable: false,
            remedy: "Only Bluetooth LE is supported. If the device has both, disconnect it, and let it advertise.",
            cause: cause)
    }

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

extension GATTDatabase {
    /// The handles of the attributes that bluetoothd may refuse to write by itself: the descriptors that configure
    /// notifications, and all attributes in a service that one of its plug-ins uses (`ExportClaimedServices` in its
    /// main.conf).
    fileprivate var writesRefusedByBlueZ: Set<UInt16> {
        var handles: Set<UInt16> = []
        for service in services {
            let isClaimed = Self.claimed.contains(service.uuid)
            for characteristic in service {
                if isClaimed { handles.insert(characteristic.handle) }
                for descriptor in characteristic where isClaimed || descriptor.uuid == BluetoothUUID(0x2902) {
                    handles.insert(descriptor.handle)
                }
            }
        }
        return handles
    }

    /// The services of the plug-ins in BlueZ's `profiles` (`remote_uuid` in each, and what `src/shared/vcp.c` claims).
    private static let claimed: Set<BluetoothUUID> = Set(
        [
            0x1800, 0x180A, 0x180F, 0x1812, 0x1813, 0x1843, 0x1844, 0x1845, 0x1846, 0x1848, 0x1849, 0x184C, 0x184D,
            0x184E, 0x184F, 0x1850, 0x1852, 0x1855, 0x1858, 0x185B, 0xFDF0,
        ].map { BluetoothUUID($0) } + [BluetoothUUID(high: 0x03B8_0E5A_EDE8_4B33, low: 0xA751_6CE3_4EC4_C700)])
}
