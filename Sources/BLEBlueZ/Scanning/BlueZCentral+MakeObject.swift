internal import BLE

extension BlueZCentral {
    /// How long bluetoothd may take to receive a peripheral that the kernel has heard.
    private static let objectLimit = Duration.seconds(5)

    /// Has bluetoothd make an object of a peripheral that only the kernel has heard: with a session of its own, which
    /// ends with the next advertisement of the peripheral, or of the last one that is awaited. Does nothing for any
    /// other peripheral.
    ///
    /// Throws `peripheralNotFound` if bluetoothd does not receive it within 5 s.
    func makeObject(of peripheral: Peripheral.ID) async throws(BLEError) {
        guard needsObject(peripheral) else { return }
        if discovery.isOn {
            discovery.beginObject()
        } else if try await !beginObject(of: peripheral) {
            return
        }
        let received: Result<Void, BLEError>
        do throws(BLEError) {
            received = .success(
                try await stack.awaitDevice(peripheral, within: Self.objectLimit) { [weak self] in
                    self?.enter { $0.isShutDown } ?? true
                })
        } catch {
            received = .failure(error)
        }
        // Also for a caller that has given up.
        let end = Task { await self.endObject() }
        await end.value
        guard !isShutDown else { throw .shutDown }
        try received.get()
    }

    private func needsObject(_ peripheral: Peripheral.ID) -> Bool {
        management != nil && knownPath(of: peripheral) == nil
            && onStack { $0.tree.isStranger(peripheral, adapter: $0.choice.path) }
    }

    /// Begins a session, unless there is one by now. Returns false if there is an object by now.
    private func beginObject(of peripheral: Peripheral.ID) async throws(BLEError) -> Bool {
        let change = try await beginChange()
        defer { endChange(change) }
        guard !isShutDown else { throw .shutDown }
        guard needsObject(peripheral) else { return false }
        if !discovery.isOn {
            try requirePower()
            let (epoch, filter) = (discovery.epoch, DiscoveryFilter())
            try await setFilter(filter)
            try checkChange(in: epoch)
            try await startSession(filter, for: change)
            guard discovery.started(in: epoch) else { throw Self.disappeared }
        }
        discovery.beginObject()
        return true
    }

    /// The last one ends the session, unless another begins to await an object before its turn has come.
    private func endObject() async {
        guard discovery.isForOneObject, let change = try? await beginChange() else {
            _ = discovery.endObject()
            return
        }
        defer { endChange(change) }
        if discovery.endObject() { try? await endSession() }
    }
}
