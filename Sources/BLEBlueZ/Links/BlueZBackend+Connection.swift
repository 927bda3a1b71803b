public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// The longest that BlueZ may try to connect; the central's own deadline is shorter.
    private static let connecting = Duration.seconds(120)

    func device(_ peripheral: Peripheral.ID) throws(BLEError) -> String {
        if let path = tree.device(address: peripheral.rawValue, adapter: adapter) { return path }
        guard tree.adapters[adapter] != nil else { throw unavailable }
        throw BLEError(
            .peripheralNotFound, "bluetoothd does not know it", remedy: "Scan for it first; it may be out of range.")
    }

    /// Connects over LE, or takes over a link that exists.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try requirePower()
        let path = try device(peripheral)
        await wantAgent()
        // Whose link it is depends on whether there is one already.
        try await refresh(path)
        let isFormer = formerLinks.remove(peripheral) != nil
        if isFormer, tree.devices[path]?.isConnected == true { ownLinks.insert(peripheral) }
        var attempt = 0
        while tree.devices[path]?.isConnected != true {
            attempt += 1
            do throws(BLEError) {
                var connect = BlueZ.call(path, BlueZ.device, "Connect")
                connect.onTurn = { [weak self] in
                    // Another client may have made the link while this one waited for its turn.
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
                    // Who gives up while bluetoothd tries has that ended by a disconnect.
                    if error.code != .cancelled, error.code != .timedOut { ownLinks.remove(peripheral) }
                    throw error
                }
                logger.debug("connecting again", metadata: ["error": "\(error)"])
                try await sleep(.milliseconds(200 * attempt))
            }
        }
    }

    /// `Connect` is about to be sent. What it makes is this client's; with a link there is nothing to make.
    private func takeTurn(_ peripheral: Peripheral.ID, _ path: String) -> MethodReply? {
        if tree.devices[path]?.isConnected == true { return MethodReply() }
        ownLinks.insert(peripheral)
        return nil
    }

    /// BlueZ's own attempt was cut short, which the next one is not; or another client is connecting.
    private static func isTransient(_ error: BLEError) -> Bool {
        if error.code == .busy { return true }
        return error.code == .connectionFailed && error.message.contains("abort-by-local")
    }

    /// Connect's reply may overtake the signal that the link is up, and that signal may never come: asks.
    private func checkLink(_ path: String) async throws(BLEError) {
        try await refresh(path)
        guard let device = tree.devices[path] else { throw gone }
        guard device.isConnected else { throw BLEError(.disconnected, "the link ended as soon as it was made") }
    }

    /// What has become of a device whose object has vanished.
    private var gone: BLEError {
        tree.adapters[adapter] == nil
            ? unavailable
            : BLEError(.peripheralNotFound, "bluetoothd has forgotten the peripheral")
    }

    func sleep(_ duration: Duration) async throws(BLEError) {
        guard (try? await clock.sleep(for: duration)) != nil else { throw .cancelled }
    }

    /// Ends the link or the attempt to make one, and waits until bluetoothd says that it is down (about 2 s). A link that was
    /// there before, or that other clients use, is left to them.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard let path = tree.device(address: peripheral.rawValue, adapter: adapter) else {
            ownLinks.remove(peripheral)
            return
        }
        if tree.devices[path]?.isConnected == true {
            guard try await isForThisClientAlone(peripheral, path) else { return leaveLink(peripheral) }
        } else if !ownLinks.contains(peripheral) {
            // What is subscribed to stays: bluetoothd renews it on the next link before it is asked to.
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
        // Not before: a shutdown that comes meanwhile must not leave the bus with this call unsent.
        ownLinks.remove(peripheral)
    }

    /// Whether a link was made for this client and is used by no other. Ends this client's use.
    ///
    /// bluetoothd ends a link for all its clients, and does not tell who they are. What it tells is whether a characteristic
    /// notifies, for whomever, and whether its socket is taken; what is so after this client has stopped is somebody else's.
    private func isForThisClientAlone(_ peripheral: Peripheral.ID, _ path: String) async throws(BLEError) -> Bool {
        endSockets(of: peripheral)
        await withDiscardingTaskGroup { group in
            for characteristic in started[peripheral] ?? [] {
                group.addTask { try? await self.stopNotifying(characteristic, peripheral) }
            }
        }
        // The rest of what this client has ends with its channels, which bluetoothd sees later.
        guard ownLinks.contains(peripheral) else { return false }
        try await fence()
        let others = tree.uses(ofDevice: path).filter { characteristic, use in
            // Sockets are not shared: what this client has of them, no other has.
            var own: AttributeUse = []
            for use in [AttributeUse.notifyAcquired, .writeAcquired]
            where acquisitions[peripheral]?[Acquisition(path: characteristic, use: use)] != nil { own.insert(use) }
            // One that could not be stopped.
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

    /// The link stays up, and is not this client's any more.
    private func leaveLink(_ peripheral: Peripheral.ID) {
        ownLinks.remove(peripheral)
        for (attribute, _) in deliveryPaths.all(of: peripheral) { endDelivery(of: attribute) }
        paths.removeAll(of: peripheral)
        acquisitions[peripheral] = nil
    }

    /// The device's link is down; bluetoothd has said so, or has removed the device.
    func linkEnded(_ path: String, _ address: String) {
        let reason = disconnectReasons.removeValue(forKey: path)
        let own = linkEndErrors.removeValue(forKey: path)
        // Another adapter's links are other programs' business.
        guard path.hasPrefix(adapter + "/") else { return }
        let error =
            own
            ?? BLEError(
                .disconnected, reason.map { "the link ended: \($0.message)" } ?? "the link ended",
                disconnectReason: reason.map { BlueZ.disconnectReason($0.name) }
                    ?? (adapterState() == .poweredOn ? .unknown : .adapterGone))
        for id in ids(ofDevice: path, address: address) {
            ownLinks.remove(id)
            // The central says which deliveries are to end, and which wait for the next link.
            paths.removeAll(of: id)
            acquisitions[id] = nil
            endSockets(of: id)
            report(.disconnected(id, error))
        }
    }

    // MARK: Services

    /// Waits for bluetoothd to have resolved the services and to have shown them all.
    public func discoverServices(_ peripheral: Peripheral.ID) async throws(BLEError) -> GATTDatabase {
        let path = try device(peripheral)
        while true {
            // ServicesResolved is said even when discovery failed, and may precede the objects: it takes both, and that
            // nothing more comes before an answer that was asked for after them.
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

    /// How long after it has said that the services are resolved bluetoothd may take to show the first. There may be none: it
    /// keeps those that every peripheral has to itself.
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

    /// What is resolved now; nil while nothing is.
    private func resolvedNow(_ path: String) throws(BLEError) -> (database: GATTDatabase, paths: [UInt16: String])? {
        guard let device = tree.devices[path] else { throw gone }
        guard device.isConnected else {
            throw BLEError(.disconnected, "the link ended before the services were discovered")
        }
        return device.areServicesResolved ? tree.database(ofDevice: path) : nil
    }

    /// Attributes came or went. While services are being resolved that is the discovery itself.
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
