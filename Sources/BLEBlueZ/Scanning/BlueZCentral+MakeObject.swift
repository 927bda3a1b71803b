internal import BLE
internal import Waiting

extension BlueZCentral {
    /// How long bluetoothd may take to receive a peripheral that the kernel has heard.
    private static let objectLimit = Duration.seconds(5)

    /// Has bluetoothd make an object of a peripheral that only the kernel has heard: with a session, which ends with
    /// the next advertisement of the peripheral, or of the last one that is awaited. Does nothing for any other
    /// peripheral.
    ///
    /// Throws `peripheralNotFound` if bluetoothd does not receive it within 5 s.
    func makeObject(of peripheral: Peripheral.ID) async throws(BLEError) {
        guard management != nil, knownPath(of: peripheral) == nil,
            onStack({ $0.tree.isStranger(peripheral, adapter: $0.choice.path) })
        else { return }
        let (batch, isNew, start) = discovery.objects.join()
        defer { discovery.objects.leave(batch) }
        if isNew { Task { await self.makeObjects(batch) } }
        try await start.wait()
        do throws(BLEError) {
            try await stack.awaitDevice(peripheral, within: Self.objectLimit) { [weak self] in
                self?.enter { $0.isShutDown } ?? true
            }
        } catch {
            throw isShutDown ? .shutDown : error
        }
    }

    /// Has bluetoothd scan for a batch of connections.
    private func makeObjects(_ batch: Int) async {
        // Nobody cancels the task.
        guard let change = try? await beginChange(follows: false) else { return }
        defer { endChange(change) }
        defer { discovery.objects.remove(batch) }
        guard !discovery.objects.isEmpty(batch) else { return }
        let epoch = discovery.epoch
        var result = Result<Void, BLEError>.success(())
        // A scan that has begun meanwhile is that of bluetoothd's.
        let hasScan = discovery.isOn
        do throws(BLEError) {
            if !hasScan {
                try checkChange(in: epoch)
                try requirePower()
                try await setFilter(DiscoveryFilter())
                try await startSession(DiscoveryFilter(), for: change, in: epoch)
            }
        } catch {
            result = .failure(error)
        }
        let end = discovery.objects.begin(batch, result)
        guard case .success = result else { return }
        try? await end?.wait()
        if !hasScan, discovery.epoch == epoch { try? await endSession(of: change) }
    }
}
