public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// The longest that a pairing may take, people included; the central's own deadline is shorter.
    private static let pairing = Duration.seconds(600)
    /// How long to try again while another pairing with the peripheral is ending.
    private static let busyLimit = Duration.seconds(2)

    /// `Pair`. It is not even called for a peripheral that is paired: BlueZ 5.66 then tries the same over BR/EDR, for 40 s.
    public func pair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        try requirePower()
        let path = try device(peripheral)
        await wantAgent()
        try await refresh(path)
        guard tree.devices[path]?.isPaired != true else { throw .alreadyPaired }
        guard tree.devices[path]?.isConnected == true else { throw BLEError(.disconnected, "there is no link") }
        pairingDevices.insert(path)
        defer { pairingDevices.remove(path) }
        do throws(BLEError) {
            try await callPair(path)
        } catch {
            if error.code == .cancelled { await cancelPairing(path) }
            throw await reason(error, path)
        }
        try await refresh(path)
    }

    private func callPair(_ path: String) async throws(BLEError) {
        var waited = Duration.zero
        while true {
            do throws(BLEError) {
                _ = try await call(BlueZ.call(path, BlueZ.device, "Pair"), during: .pairing, timeout: Self.pairing)
                return
            } catch {
                guard error.code == .busy, waited < Self.busyLimit else { throw error }
                try await sleep(.milliseconds(100))
                waited += .milliseconds(100)
            }
        }
    }

    /// `CancelPairing`, whoever was waiting having gone. A pairing that has succeeded meanwhile stays: BlueZ would remove its bond.
    private func cancelPairing(_ path: String) async {
        await Task {
            guard (try? await self.refresh(path)) != nil, self.tree.devices[path]?.isPaired == false else { return }
            _ = try? await self.call(
                BlueZ.call(path, BlueZ.device, "CancelPairing"), during: .pairing, timeout: Self.promptly)
        }.value
    }

    /// BlueZ says of a link that has ended under a pairing that the pairing was cancelled.
    private func reason(_ error: BLEError, _ path: String) async -> BLEError {
        guard error.code == .pairingCancelled || error.code == .pairingFailed else { return error }
        try? await refresh(path)
        if error.code == .pairingCancelled, tree.devices[path]?.isConnected != true {
            return BLEError(.disconnected, "the link ended before the pairing was done", cause: error)
        }
        guard agentProblem != nil else { return error }
        var error = error
        error.remedy =
            "bluetoothd could not be given an agent, without which nothing pairs; see Docs/Pairing.md and the log."
        return error
    }

    /// `RemoveDevice`, which forgets everything about the device, and ends its link.
    public func unpair(_ peripheral: Peripheral.ID) async throws(BLEError) {
        guard let path = tree.device(address: peripheral.rawValue, adapter: adapter) else { return }
        do throws(BLEError) {
            _ = try await call(
                BlueZ.call(adapter, BlueZ.adapter, "RemoveDevice", .objectPath(path)), during: .pairing,
                timeout: Self.promptly)
        } catch {
            guard error.code == .peripheralNotFound else { throw error }
        }
        ownLinks.remove(peripheral)
        try await fence()
    }

    /// The device's properties.
    public func pairingState(_ peripheral: Peripheral.ID) async throws(BLEError) -> PairingState {
        let path = try device(peripheral)
        try await refresh(path)
        guard let device = tree.devices[path] else {
            throw BLEError(.peripheralNotFound, "bluetoothd has forgotten the peripheral")
        }
        return PairingState(
            isPaired: device.isPaired, isTrusted: device.isTrusted, isBlocked: device.isBlocked,
            identity: Peripheral.ID(rawValue: device.address))
    }

    /// Sets a property of the device.
    public func set(_ setting: PeripheralSetting, _ value: Bool, _ peripheral: Peripheral.ID) async throws(BLEError) {
        let name =
            switch setting {
            case .trusted: "Trusted"
            case .blocked: "Blocked"
            }
        _ = try await call(
            BlueZ.call(
                try device(peripheral), BlueZ.properties, "Set", .string(BlueZ.device), .string(name),
                .variant(.boolean(value))), during: .pairing, timeout: Self.promptly)
    }

    // MARK: Operations that pair

    /// An attribute operation, which ends when the pairing that it has begun is refused here.
    ///
    /// BlueZ raises the security of the link when an attribute wants that, which pairs, and repeats the operation. When the
    /// pairing is refused it neither answers the operation nor any other on the link, for 30 s.
    func unlessRefused(
        on device: String, _ work: @escaping @Sendable () async throws(BLEError) -> MethodReply
    ) async throws(BLEError) -> MethodReply {
        let outcome = Outcome<MethodReply>()
        let token = noteCall(on: device) { outcome.deliver(.failure($0)) }
        let task = Task {
            do throws(BLEError) {
                outcome.deliver(.success(try await work()))
            } catch {
                outcome.deliver(.failure(error))
            }
        }
        defer {
            task.cancel()
            attributeCalls[token] = nil
        }
        return try await outcome.wait()
    }

    /// Remembers who waits for an attribute operation, until the number is taken out of `attributeCalls`.
    func noteCall(on device: String, fail: @escaping (BLEError) -> Void) -> Int {
        lastToken += 1
        attributeCalls[lastToken] = (device, fail)
        return lastToken
    }

    /// A pairing that nobody has asked for with `Pair` was refused here: what waits for it fails, and the link, on which nothing
    /// moves any more, is ended. Returns once those who waited know.
    func pairingRefused(_ path: String) async {
        guard !pairingDevices.contains(path) else { return }
        await failCalls(on: path, .pairingRefused)
    }

    /// Fails what waits for an attribute of a device, and ends the link after those who waited have been told.
    private func failCalls(on path: String, _ error: BLEError) async {
        let waiting = attributeCalls.filter { $0.value.device == path }.map(\.key)
        guard !waiting.isEmpty, let id = id(ofDevice: path) else { return }
        logger.debug("ending a link that has stalled", metadata: ["peripheral": "\(id)", "error": "\(error)"])
        // Whichever is heard of first, the failure or the link's end, says the same.
        linkEndErrors[path] = error
        for token in waiting { attributeCalls[token]?.fail(error) }
        while waiting.contains(where: { attributeCalls[$0] != nil }) { await Task.yield() }
        Task {
            try? await self.disconnect(id)
            // Where other clients use the link, it has ended for this one only.
            guard linkEndErrors.removeValue(forKey: path) != nil else { return }
            report(.disconnected(id, error))
        }
    }
}
