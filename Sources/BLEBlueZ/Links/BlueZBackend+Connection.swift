public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// The maximum time for BlueZ to connect. The central's default deadline is shorter.
    private static let connecting = Duration.seconds(120)

    func device(_ peripheral: Peripheral.ID) throws(BLEError) -> String {
        if let path = tree.device(address: peripheral.rawValue, adapter: adapter) { return path }
        guard tree.adapters[adapter] != nil else { throw unavailable }
        throw BLEError(
            .peripheralNotFound, "bluetoothd does not know it", remedy: "Scan for it first; it may be out of range.")
    }

    /// Connects over LE, or uses an existing link.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try requirePower()
        let path = try device(peripheral)
        await wantAgent()
        // Whether the link belongs to this client depends on whether there is one already.
        try await refresh(path)
        let isFormer = formerLinks.remove(peripheral) != nil
        if isFormer, tree.devices[path]?.isConnected == true { ownLinks.insert(peripheral) }
        var attempt = 0
        while tree.devices[path]?.isConnected != true {
            attempt += 1
            do throws(BLEError) {
                var connect = BlueZ.call(path, BlueZ.device, "Connect")
                connect.onTurn = { [weak self] in
                    // Another client may have made the link while this call waited for its turn.
                    self?.assumeIsolated { $0.takeTurn(peripheral, path) } ?? nil
                }
                _ = try await call(connect, during: .connection, timeout: Self.connecting)
                try await checkLink(path)
            } catch {
                // Another client is making the link.
                if error.code == .busy { ownLinks.remove(peripheral) }
                try await refresh(path)
                if tree.devices[path]?.isConnected == true { break }
                guard attempt < 3, Self.isTransient(error), tree.devices[path] != nil else {
                    // If the caller gives up while bluetoothd is connecting, a disconnect ends the attempt.
                    if error.code != .cancelled, error.code != .timedOut { ownLinks.remove(peripheral) }
                    throw error
                }
                logger.debug("connecting again", metadata: ["error": "\(error)"])
                try await sleep(.milliseconds(200 * attempt))
            }
        }
    }

    /// Called when `Connect` is about to be sent. The link that it makes belongs to this client. If there is a link
    /// already, nothing is sent.
    private func takeTurn(_ peripheral: Peripheral.ID, _ path: String) -> MethodReply? {
        if tree.devices[path]?.isConnected == true { return MethodReply() }
        ownLinks.insert(peripheral)
        return nil
    }

    /// Whether to try again: BlueZ's own attempt was interrupted, which does not affect the next one, or another client
    /// is connecting.
    private static func isTransient(_ error: BLEError) -> Bool {
        if error.code == .busy { return true }
        return error.code == .connectionFailed && error.message.contains("abort-by-local")
    }

    /// Asks whether the link is up. The reply to `Connect` may arrive before the signal of the link, and the signal may
    /// never come.
    private func checkLink(_ path: String) async throws(BLEError) {
        try await refresh(path)
        guard let device = tree.devices[path] else { throw gone }
        guard device.isConnected else { throw BLEError(.disconnected, "the link ended as soon as it was made") }
    }

    /// The error for a device whose object has disappeared.
    private var gone: BLEError {
        tree.adapters[adapter] == nil
            ? unavailable
            : BLEError(.peripheralNotFound, "bluetoothd has forgotten the peripheral")
    }

    func sleep(_ duration: Duration) async throws(BLEError) {
        guard (try? await clock.sleep(for: duration)) != nil else { throw .cancelled }
    }

    /// Ends the link or the attempt to connect, and waits until bluetoothd reports that it is down (about 2 s). A link
    /// that existed before, or that other clients use, stays up for them.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard let path = tree.device(address: peripheral.rawValue, adapter: adapter) else {
            ownLinks.remove(peripheral)
            return
        }
        if tree.devices[path]?.isConnected == true {
            guard try await isForThisClientAlone(peripheral, path) else { return leaveLink(peripheral) }
        } else if !ownLinks.contains(peripheral) {
            // The subscriptions remain: bluetoothd renews them on the next link without a request.
            return
        }
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(path, BlueZ.device, "Disconnect"), during: .disconnection, timeout: Self.promptly)
        } catch {
            guard [.disconnected, .peripheralNotFound, .poweredOff, .bluetoothLost].contains(error.code) else {
                throw error
            }
        }
        try? await refresh(path)
        try await wait(forObject: path, within: Self.promptly) { () throws(BLEError) in
            self.tree.devices[path]?.isConnected == true ? nil : ()
        }
        // Not earlier: a shutdown that starts meanwhile must not leave the bus before this call is sent.
        ownLinks.remove(peripheral)
    }

    /// Ends this client's use of a link. Returns whether the link was made for this client and no other client uses it.
    ///
    /// bluetoothd ends a link for all its clients, and does not report who they are. It reports whether a
    /// characteristic notifies, for any client, and whether its socket is taken. The uses that remain after this client
    /// has stopped its own belong to other clients.
    private func isForThisClientAlone(_ peripheral: Peripheral.ID, _ path: String) async throws(BLEError) -> Bool {
        endSockets(of: peripheral)
        await withDiscardingTaskGroup { group in
            for characteristic in started[peripheral] ?? [] {
                group.addTask { try? await self.stopNotifying(characteristic, peripheral) }
            }
        }
        // This client's other uses end with its channels, which bluetoothd notices later.
        guard ownLinks.contains(peripheral) else { return false }
        try await fence()
        let others = tree.uses(ofDevice: path).filter { characteristic, use in
            // Sockets are not shared: no other client has the sockets of this client.
            var own: AttributeUse = []
            for use in [AttributeUse.notifyAcquired, .writeAcquired]
            where acquisitions[peripheral]?[Acquisition(path: characteristic, use: use)] != nil { own.insert(use) }
            // A characteristic whose notifications could not be stopped.
            if started[peripheral]?.contains(characteristic) == true { own.insert(.notifying) }
            return !use.isSubset(of: own)
        }
        if !others.isEmpty {
            logger.debug(
                "the link is left to other programs",
                metadata: ["peripheral": "\(peripheral)", "uses": "\(others.count)"])
        }
        return others.isEmpty
    }

    /// Stops using a link, which stays up.
    private func leaveLink(_ peripheral: Peripheral.ID) {
        ownLinks.remove(peripheral)
        for (attribute, _) in deliveryPaths.all(of: peripheral) { endDelivery(of: attribute) }
        paths.removeAll(of: peripheral)
        acquisitions[peripheral] = nil
    }

    /// Handles the end of a device's link, or the removal of a connected device.
    func linkEnded(_ path: String, _ address: String) {
        let reason = disconnectReasons.removeValue(forKey: path)
        let own = linkEndErrors.removeValue(forKey: path)
        // Links of another adapter belong to other programs.
        guard path.hasPrefix(adapter + "/") else { return }
        let error =
            own
            ?? BLEError(
                .disconnected, reason.map { "the link ended: \($0.message)" } ?? "the link ended",
                disconnectReason: reason.map { BlueZ.disconnectReason($0.name) }
                    ?? (adapterState() == .poweredOn ? .unknown : .adapterGone))
        for id in ids(ofDevice: path, address: address) {
            ownLinks.remove(id)
            // The central decides which deliveries end, and which wait for the next link.
            paths.removeAll(of: id)
            acquisitions[id] = nil
            endSockets(of: id)
            report(.linkEnded(id, error))
        }
    }

    // MARK: Services

    /// Waits until bluetoothd has resolved the services and shown all of them.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let path = try device(peripheral)
        while true {
            // `ServicesResolved` is set even if discovery has failed, and may precede the objects. Therefore the
            // services must be resolved, and must stay the same until bluetoothd has answered a later call.
            try await refresh(path)
            let first = try await resolved(path)
            try await fence()
            let second = try await resolved(path)
            guard first.database == second.database else { continue }
            for (handle, attributePath) in second.paths {
                paths[AttributeID(peripheral: peripheral, handle: handle)] = attributePath
            }
            return second.database
        }
    }

    /// How long bluetoothd may take to show the first service after the services are resolved. There may be none,
    /// because it does not show the services that every peripheral has.
    private static let emptyGrace = Duration.seconds(1)

    private func resolved(_ path: String) async throws(BLEError) -> (database: GATTDatabase, paths: [UInt16: String]) {
        let found = try await wait(forObject: path) { () throws(BLEError) in try self.resolvedNow(path) }
        guard found.database.isEmpty else { return found }
        do throws(BLEError) {
            return try await wait(forObject: path, within: Self.emptyGrace) { () throws(BLEError) in
                let found = try self.resolvedNow(path)
                return found?.database.isEmpty == false ? found : nil
            }
        } catch {
            guard error.code == .timedOut, let found = try resolvedNow(path) else { throw error }
            return found
        }
    }

    /// Returns the services and their paths if they are resolved now.
    private func resolvedNow(_ path: String) throws(BLEError) -> (database: GATTDatabase, paths: [UInt16: String])? {
        guard let device = tree.devices[path] else { throw gone }
        guard device.isConnected else {
            throw BLEError(.disconnected, "the link ended before the services were discovered")
        }
        return device.areServicesResolved ? tree.database(ofDevice: path) : nil
    }

    /// Handles added or removed attributes. While services are being resolved, these are the discovery itself.
    func attributesChanged(_ path: String) {
        guard let device = tree.devices[path], device.isConnected, device.areServicesResolved, device.adapter == adapter
        else { return }
        for id in ids(ofDevice: path, address: device.address) {
            report(.servicesChanged(id))
            for (attribute, attributePath) in deliveryPaths.all(of: id) where !tree.hasAttribute(attributePath) {
                endDelivery(of: attribute)
                started[id]?.remove(attributePath)
                report(
                    .notificationsEnded(
                        attribute, BLEError(.disconnected, "the peripheral's services have changed", isRetryable: true))
                )
            }
        }
    }

    func endDelivery(of attribute: AttributeID) {
        guard let path = deliveryPaths[attribute] else { return }
        deliveryPaths[attribute] = nil
        setDelivery(nil, at: path)
    }
}
