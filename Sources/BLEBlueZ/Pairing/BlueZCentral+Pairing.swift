public import BLE
internal import DBus
internal import Logging
internal import Waiting

extension BlueZCentral {
    /// The maximum time for a pairing, including its prompts. The central's default deadline is shorter.
    private static let pairing = Duration.seconds(600)
    /// How long to retry while another pairing with the peripheral is ending.
    private static let busyLimit = Duration.seconds(2)

    /// The errors of a `Pair` that has begun. Other errors leave the link unchanged.
    private static let failures: Set<BLEError.Code> = [
        .pairingFailed, .pairingRejected, .pairingCancelled, .pairingTimedOut, .timedOut,
    ]

    /// Calls `Pair`, unless the peripheral is already paired: BlueZ 5.66 would then try to pair over BR/EDR, for 40 s.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try requirePower()
        let path = try path(of: peripheral)
        await agent?.register()
        try await stack.refresh(path)
        guard objects.devices[path]?.isPaired != true else { throw .alreadyPaired }
        guard let link = link(path) else { throw BLEError(.disconnected, "there is no link") }
        calls.setPairing(path, isOwn: false)
        defer { calls.endPairing(path) }
        do throws(BLEError) {
            try await callPair(path)
        } catch {
            // The link stays for a pairing that has succeeded meanwhile, and for that of another client.
            var hasFailed = calls.ownsPairing(path)
            if hasFailed {
                hasFailed = error.code == .cancelled ? await cancelPairing(path) : Self.failures.contains(error.code)
            }
            let error = await reason(error, path)
            if hasFailed { await endStalledLink(path, of: peripheral, link, after: error) }
            throw error
        }
        try await stack.refresh(path)
    }

    private func callPair(_ path: String) async throws(BLEError) {
        try await Backoff(every: .milliseconds(100)).retry(clock: configuredClock) { () throws(BLEError) in
            var pair = BlueZ.call(path, BlueZ.device, "Pair")
            pair.onTurn = { [weak self] in
                self?.assumeIsolated { $0.calls.setPairing(path, isOwn: true) }
                return nil
            }
            _ = try await stack.call(pair, during: .pairing, timeout: Self.pairing)
        } while: { error, waited in
            guard error.code == .busy else { return false }
            calls.setPairing(path, isOwn: false)
            return waited < Self.busyLimit
        }
    }

    /// Calls `CancelPairing` after the caller has given up. Keeps a pairing that has succeeded meanwhile, whose bond
    /// BlueZ would remove. Returns whether it was cancelled.
    private func cancelPairing(_ path: String) async -> Bool {
        await Task {
            guard (try? await stack.refresh(path)) != nil, objects.devices[path]?.isPaired == false else {
                return false
            }
            _ = try? await stack.call(BlueZ.call(path, BlueZ.device, "CancelPairing"), during: .pairing)
            return true
        }.value
    }

    /// Ends the link of a pairing that has failed or was cancelled, if bluetoothd sends nothing over it any more. That
    /// also ends the pairing, which `CancelPairing` does not.
    private func endStalledLink(
        _ path: String, of peripheral: Peripheral.ID, _ link: ObjectTree.LinkIdentity, after error: BLEError
    ) async {
        guard objects.adapters[adapterPath]?.version?.pairsOverAttributeChannel == true else { return }
        let reason = BLEError(.disconnected, "the link was ended with its pairing", cause: error)
        await Task { await self.endStalledLink(path, of: peripheral, link, reason) }.value
    }

    /// Returns the actual cause of a failed pairing. If the link ends during a pairing, BlueZ reports that the pairing
    /// was cancelled.
    private func reason(_ error: BLEError, _ path: String) async -> BLEError {
        guard error.code == .pairingCancelled || error.code == .pairingFailed else { return error }
        try? await stack.refresh(path)
        if error.code == .pairingCancelled, !isConnected(path) {
            return BLEError(.disconnected, "the link ended before the pairing was done", cause: error)
        }
        guard agent?.hasFailed == true else { return error }
        var error = error
        error.remedy =
            "No agent could be registered with bluetoothd, and pairing requires one; see Docs/Pairing.md and the log."
        return error
    }

    /// Calls `RemoveDevice`, which removes everything known about the device and ends its link.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard let path = knownPath(of: peripheral) else { return }
        let number = links.number(of: peripheral)
        do throws(BLEError) {
            _ = try await stack.call(
                BlueZ.call(adapterPath, BlueZ.adapter, "RemoveDevice", .objectPath(path)), during: .setting)
        } catch {
            guard error.code == .peripheralNotFound else { throw error }
        }
        links.remove(peripheral, number)
        try await stack.fence()
    }

    /// The pairing state, from the device's properties.
    public func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        let path = try path(of: peripheral)
        try await stack.refresh(path)
        guard let device = objects.devices[path] else {
            throw BLEError(.peripheralNotFound, "bluetoothd has forgotten the peripheral")
        }
        return PairingState(
            isPaired: device.isPaired, isTrusted: device.isTrusted, isBlocked: device.isBlocked,
            identity: Peripheral.ID(rawValue: device.address))
    }

    /// Sets a property of the device.
    public func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError)
    {
        let name =
            switch setting {
            case .trusted: "Trusted"
            case .blocked: "Blocked"
            }
        _ = try await stack.call(
            BlueZ.call(
                try path(of: peripheral), BlueZ.properties, "Set", .string(BlueZ.device), .string(name),
                .variant(.boolean(value))), during: .setting)
    }

    // MARK: Operations that pair

    /// Handles this program's refusal of a pairing that was not requested with `Pair`. The operations that wait for it
    /// fail, and the link, which has stalled, is ended.
    func pairingRefused(_ path: String) {
        guard !calls.isPairing(path) else { return }
        failCalls(on: path, .pairingRefused)
    }

    /// Fails the pending attribute operations of a device, and ends the link.
    private func failCalls(on path: String, _ error: BLEError) {
        let waiting = calls.all(on: path)
        guard !waiting.isEmpty, let id = id(ofDevice: path), let link = link(path) else { return }
        // The failure and the end of the link report the same error, in either order.
        links.setReason(error, path)
        for call in waiting { fail(call, error) }
        Task { await self.endStalledLink(path, of: id, link, error) }
    }

    private func endStalledLink(
        _ path: String, of id: Peripheral.ID, _ link: ObjectTree.LinkIdentity, _ error: BLEError
    ) async {
        // It may have ended by itself, and the next one begun.
        guard self.link(path) == link else { return }
        logger.debug("ending a link that has stalled", metadata: ["peripheral": "\(id)", "error": "\(error)"])
        links.setReason(error, path)
        let delivered = uses.delivered(of: id).map(\.attribute) + sockets.characteristics(of: id)
        do throws(BLEError) {
            try await disconnect(id)
        } catch {
            guard self.link(path) == link else { return }
            // It is still up, without notifications, and its end has a reason of its own.
            _ = links.takeReason(path)
            logger.info(
                "a link that has stalled could not be ended", metadata: ["peripheral": "\(id)", "error": "\(error)"])
            for characteristic in delivered { report(.notificationsEnded(characteristic, error)) }
            return
        }
        // If other clients use the link, it has ended only for this client.
        guard self.link(path) == link, links.takeReason(path) != nil else { return }
        report(.linkEnded(id, error))
    }
}
