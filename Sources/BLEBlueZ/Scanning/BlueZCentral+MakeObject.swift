internal import BLE

extension BlueZCentral {
    /// How long bluetoothd may take to receive a peripheral that the kernel has heard.
    private static let objectLimit = Duration.seconds(5)

    /// Has bluetoothd make an object of a peripheral that only the kernel has heard: with a session of its own, which
    /// ends with the next advertisement of the peripheral. Does nothing for any other peripheral.
    ///
    /// Throws `peripheralNotFound` if bluetoothd does not receive it within 5 s.
    func makeObject(of peripheral: Peripheral.ID) async throws(BLEError) {
        func isNeeded() -> Bool {
            management != nil && !discovery.isOn && knownPath(of: peripheral) == nil
                && onStack { $0.tree.isStranger(peripheral) }
        }
        guard isNeeded() else { return }
        let change = try await beginChange()
        defer { endChange(change) }
        guard isNeeded(), !isShutDown else { return }
        try requirePower()
        let (epoch, filter) = (discovery.epoch, DiscoveryFilter())
        try await setFilter(filter)
        try checkChange(in: epoch)
        try await startSession(filter)
        guard discovery.started(in: epoch) else { throw Self.disappeared }
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
        let stop = Task { await self.endSessionAnyway() }
        await stop.value
        try checkChange(in: epoch)
        try received.get()
    }

    private func endSessionAnyway() async { try? await stopSession() }
}
