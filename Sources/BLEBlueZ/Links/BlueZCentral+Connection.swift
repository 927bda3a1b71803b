public import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Waiting

extension BlueZCentral {
    /// The maximum time for BlueZ to connect. The central's default deadline is shorter.
    private static let connecting = Duration.seconds(120)

    /// Connects over LE, or uses an existing link.
    public func connect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try requirePower()
        try await makeObject(of: peripheral)
        let known = try path(of: peripheral)
        await agent?.register()
        // Whether the link belongs to this client depends on whether there is one already. If one has just ended,
        // requests may have been lost with it.
        try await stack.refresh(known)
        try await recoverLostRequests(known)
        let path = try path(of: peripheral)
        links.adopt(peripheral, isConnected: isConnected(path))
        if let refusal = refusals[path], refusal.link == link(path), isBare(path) { throw refusal.error }
        guard !isConnected(path) else { return }
        try await Self.backoff.retry(clock: configuredClock) { () throws(BLEError) in
            do throws(BLEError) {
                try await callConnect(peripheral, path)
            } catch {
                // Another client is making the link.
                if error.code == .busy { links.remove(peripheral) }
                try await stack.refresh(path)
                // bluetoothd has connected to a Classic device for its services, and keeps that link for 2 s.
                if error.code == .notSupported, isClassic(path) {
                    let refusal = Self.classic(error)
                    if let link = link(path), isBare(path) { refusals[path] = (link, refusal) }
                    throw refusal
                }
                if Self.isAborted(error) { await settle(path) }
                if !isConnected(path) { throw error }
            }
        } while: { error, waited in
            if Self.isTransient(error), waited < Self.connectLimit, objects.devices[path] != nil {
                logger.debug("connecting again", metadata: ["error": "\(error)"])
                return true
            }
            // If the caller gives up while bluetoothd is connecting, a disconnect ends the attempt.
            if error.code != .cancelled, error.code != .timedOut { links.remove(peripheral) }
            return false
        }
    }

    /// How long to retry after an error that bluetoothd caused itself: three attempts.
    private static let connectLimit = Duration.milliseconds(600)
    private static let backoff = Backoff(initial: .milliseconds(200), factor: 2, maximum: .seconds(5))

    /// Whether the services of a device are resolved, and there are none.
    private func isBare(_ path: String) -> Bool {
        objects.devices[path]?.areServicesResolved == true && objects.database(ofDevice: path).database.isEmpty
    }

    private func callConnect(_ peripheral: Peripheral.ID, _ path: String) async throws(BLEError) {
        try await awaitChannelEnd(path)
        if isConnected(path) { return }
        var connect = BlueZ.call(path, BlueZ.device, "Connect")
        connect.onTurn = { [weak self] in
            // Another client may have made the link while this call waited for its turn.
            self?.assumeIsolated { $0.takeTurn(peripheral, path) } ?? nil
        }
        _ = try await stack.call(connect, during: .connection, timeout: Self.connecting)
        try await checkLink(path)
    }

    /// How long bluetoothd may take to handle the end of a link's channel after it has reported the end of the link.
    private static let channelGrace = Duration.milliseconds(100)

    /// Waits until bluetoothd has handled the end of the last link's channel, of which nothing on the bus tells.
    private func awaitChannelEnd(_ path: String) async throws(BLEError) {
        guard objects.adapters[adapterPath]?.version?.dropsAttempts ?? true else { return }
        // Another link, of another program, may end meanwhile.
        while case let rest = Self.channelGrace - links.timeSinceEnd(path), rest > .zero {
            guard (try? await stack.loop.clock.sleep(for: rest)) != nil else { throw .cancelled }
        }
    }

    /// Called when `Connect` is about to be sent. The link that it makes belongs to this client. If there is a link
    /// already, nothing is sent.
    private func takeTurn(_ peripheral: Peripheral.ID, _ path: String) -> MethodReply? {
        if isConnected(path) { return MethodReply() }
        links.insert(peripheral)
        return nil
    }

    /// Whether to try again: BlueZ's own attempt was interrupted, which does not affect the next one, or another client
    /// is connecting.
    private static func isTransient(_ error: BLEError) -> Bool {
        if error.code == .busy { return true }
        return isAborted(error) || isRefusedByKernel(error)
    }

    /// Whether the kernel has refused the socket of bluetoothd's attempt (EIO of `device_connect_le` in its
    /// `src/device.c`).
    private static func isRefusedByKernel(_ error: BLEError) -> Bool {
        error.code == .connectionFailed && error.message.contains(text: "Input/output error")
    }

    /// Whether bluetoothd's attempt was interrupted.
    private static func isAborted(_ error: BLEError) -> Bool {
        error.code == .connectionFailed && error.message.contains(text: "abort-by-local")
    }

    /// Waits until bluetoothd has withdrawn the link of an interrupted attempt: it may report a link before the
    /// attempt fails, and its end only afterward. A link that stays up was made by another client.
    private func settle(_ path: String) async {
        try? await waits.wait(forObject: path, within: .seconds(2), clock: configuredClock) { () throws(BLEError) in
            self.isConnected(path) ? nil : ()
        }
    }

    /// Asks whether the link is up. The reply to `Connect` may arrive before the signal of the link, and the signal may
    /// never come.
    private func checkLink(_ path: String) async throws(BLEError) {
        try await stack.refresh(path)
        guard let device = objects.devices[path] else { throw gone }
        guard device.isConnected else {
            // It may not have been signaled at all.
            links.ended(path)
            throw BLEError(.disconnected, "the link ended as soon as it was made")
        }
    }

    /// The error for a device whose object has disappeared.
    var gone: BLEError {
        objects.adapters[adapterPath] == nil
            ? unavailable
            : BLEError(.peripheralNotFound, "bluetoothd has forgotten the peripheral")
    }

    /// Ends the link or the attempt to connect, and waits until bluetoothd reports that the link is down (about 2 s). A
    /// link that existed before, or that other clients use, stays up for the other clients.
    public func disconnect(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard let path = knownPath(of: peripheral) else { return links.remove(peripheral) }
        // The link may end by itself meanwhile, and the next one begin.
        let number = links.number(of: peripheral)
        if isConnected(path) {
            let link = link(path)
            let isAlone = try await isForThisClientAlone(peripheral, path)
            guard self.link(path) == link else { return }
            guard isAlone else { return leaveLink(peripheral) }
        } else if !links.contains(peripheral) {
            // The subscriptions remain: bluetoothd renews them on the next link without a request.
            return
        }
        var disconnect = BlueZ.call(path, BlueZ.device, "Disconnect")
        disconnect.onTurn = { [weak self] in
            self?.assumeIsolated { $0.links.number(of: peripheral) == number ? nil : MethodReply() } ?? nil
        }
        do throws(BLEError) {
            _ = try await stack.call(disconnect, during: .disconnection)
        } catch {
            guard [.disconnected, .peripheralNotFound, .poweredOff, .bluetoothLost].contains(error.code) else {
                throw error
            }
        }
        try? await stack.refresh(path)
        try await waits.wait(forObject: path, within: BlueZStack.promptly, clock: configuredClock) {
            () throws(BLEError) in
            self.isConnected(path) && self.links.number(of: peripheral) == number ? nil : ()
        }
        // Removed only now: a shutdown that starts meanwhile must not leave the bus before this call is sent.
        links.remove(peripheral, number)
    }

    /// Ends this client's use of a link. Returns whether the link was made for this client and no other client uses it.
    ///
    /// bluetoothd ends a link for all its clients, and does not report which clients use it. It reports whether a
    /// characteristic notifies, for any client, and whether its socket is in use. The uses that remain after this
    /// client has stopped its own belong to other clients.
    private func isForThisClientAlone(_ peripheral: Peripheral.ID, _ path: String) async throws(BLEError) -> Bool {
        endSockets(of: peripheral)
        await withDiscardingTaskGroup { group in
            for characteristic in uses.started(of: peripheral) {
                group.addTask { try? await self.stopNotifying(characteristic, peripheral) }
            }
        }
        // The other uses by this client end with its channels, which bluetoothd notices later.
        guard links.contains(peripheral) else { return false }
        try await stack.fence()
        let others = usesOfOthers(peripheral, path)
        if others > 0 {
            logger.debug(
                "the link is left to other programs", metadata: ["peripheral": "\(peripheral)", "uses": "\(others)"])
        }
        return others == 0
    }

    /// Returns the number of characteristics that other clients of bluetoothd use.
    func usesOfOthers(_ peripheral: Peripheral.ID, _ path: String) -> Int {
        objects.uses(ofDevice: path).count { characteristic, use in
            // Sockets are not shared: no other client has the sockets of this client.
            var own = sockets.uses(characteristic, peripheral)
            // Also a characteristic whose notifications could not be stopped.
            if uses.isStarted(characteristic, peripheral) { own.insert(.notifying) }
            return !use.isSubset(of: own)
        }
    }

    /// The link of a device, of whichever program.
    func link(_ path: String) -> ObjectTree.LinkIdentity? { objects.devices[path]?.link }

    /// Stops using a link, which stays up.
    private func leaveLink(_ peripheral: Peripheral.ID) {
        links.remove(peripheral)
        for (attribute, _) in uses.delivered(of: peripheral) { endDelivery(of: attribute) }
        attributes.removeAll(of: peripheral)
        sockets.forgetAcquisitions(of: peripheral)
    }

    /// Handles the end of a device's link, or the removal of a connected device.
    func linkEnded(_ path: String, _ address: String, _ end: ObjectTree.LinkEnd?) {
        findLostRequests(path)
        links.ended(path)
        refusals[path] = nil
        let own = links.takeReason(path)
        let error =
            own
            ?? BLEError(
                .disconnected, end.map { "the link ended: \($0.message)" } ?? "the link ended",
                disconnectReason: end.map { BlueZ.disconnectReason($0.reason) }
                    ?? (adapterState() == .poweredOn ? .unknown : .adapterGone))
        for id in Self.ids(ofDevice: path, address: address) {
            links.remove(id)
            // The central decides which deliveries end, and which wait for the next link.
            attributes.removeAll(of: id)
            sockets.forgetAcquisitions(of: id)
            endSockets(of: id)
            report(.linkEnded(id, error))
        }
    }

    /// Returns all ids by which a central may know a device: the id from its path, and its identity address if that
    /// differs.
    static func ids(ofDevice path: String, address: String) -> [Peripheral.ID] {
        let ids = [Peripheral.ID(devicePath: path), Peripheral.ID(rawValue: address)]
        return ids[0] == ids[1] || address.isEmpty ? [ids[0]] : ids
    }
}
