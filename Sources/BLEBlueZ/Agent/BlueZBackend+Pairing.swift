public import BLE
internal import DBus
internal import Logging

extension BlueZBackend {
    /// The maximum time for a pairing, including its prompts. The central's default deadline is shorter.
    private static let pairing = Duration.seconds(600)
    /// How long to retry while another pairing with the peripheral is ending.
    private static let busyLimit = Duration.seconds(2)

    /// Calls `Pair`, unless the peripheral is already paired: BlueZ 5.66 would then try to pair over BR/EDR, for 40 s.
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

    /// Calls `CancelPairing` after the caller has given up. Keeps a pairing that has succeeded meanwhile, whose bond
    /// BlueZ would remove.
    private func cancelPairing(_ path: String) async {
        await Task {
            guard (try? await self.refresh(path)) != nil, self.tree.devices[path]?.isPaired == false else { return }
            _ = try? await self.call(
                BlueZ.call(path, BlueZ.device, "CancelPairing"), during: .pairing, timeout: Self.promptly)
        }.value
    }

    /// Returns the actual cause of a failed pairing. If the link ends during a pairing, BlueZ reports that the pairing
    /// was cancelled.
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

    /// Calls `RemoveDevice`, which removes everything known about the device and ends its link.
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

    /// The pairing state, from the device's properties.
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
    public func set(_ setting: PeripheralSetting, to value: Bool, for peripheral: Peripheral.ID) async throws(BLEError)
    {
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

    /// Runs an attribute operation, which fails if this program refuses the pairing that the operation has started.
    ///
    /// If an attribute requires it, BlueZ raises the security of the link by pairing, and repeats the operation. If the
    /// pairing is refused, BlueZ answers neither that operation nor any other on the link for 30 s.
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

    /// Records the caller of an attribute operation, until the returned number is removed from `attributeCalls`.
    func noteCall(on device: String, fail: @escaping (BLEError) -> Void) -> Int {
        lastToken += 1
        attributeCalls[lastToken] = (device, fail)
        return lastToken
    }

    /// Handles this program's refusal of a pairing that was not requested with `Pair`. The operations that wait for it
    /// fail, and the link, which has stalled, is ended. Returns when the callers have been notified.
    func pairingRefused(_ path: String) async {
        guard !pairingDevices.contains(path) else { return }
        await failCalls(on: path, .pairingRefused)
    }

    /// Fails the pending attribute operations of a device, and ends the link after their callers have been notified.
    private func failCalls(on path: String, _ error: BLEError) async {
        let waiting = attributeCalls.filter { $0.value.device == path }.map(\.key)
        guard !waiting.isEmpty, let id = id(ofDevice: path) else { return }
        logger.debug("ending a link that has stalled", metadata: ["peripheral": "\(id)", "error": "\(error)"])
        // The failure and the end of the link report the same error, in either order.
        linkEndErrors[path] = error
        for token in waiting { attributeCalls[token]?.fail(error) }
        while waiting.contains(where: { attributeCalls[$0] != nil }) { await Task.yield() }
        Task {
            try? await self.disconnect(id)
            // If other clients use the link, it has ended only for this client.
            guard linkEndErrors.removeValue(forKey: path) != nil else { return }
            report(.linkEnded(id, error))
        }
    }
}
