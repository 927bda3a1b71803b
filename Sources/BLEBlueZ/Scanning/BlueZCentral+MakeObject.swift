internal import BLE
internal import Waiting

extension BlueZCentral {
    /// How long bluetoothd may take to receive a peripheral that the kernel has heard.
    private static let objectLimit = Duration.seconds(5)

    /// Has bluetoothd make an object of a peripheral that only the kernel has heard: it scans until the next
    /// advertisement of the peripheral. Does nothing for any other peripheral.
    ///
    /// Throws `peripheralNotFound` if bluetoothd does not receive it within 5 s.
    func makeObject(of peripheral: Peripheral.ID) async throws(BLEError) {
        guard management != nil, knownPath(of: peripheral) == nil,
            onStack({ $0.tree.isStranger(peripheral, adapter: $0.choice.path) })
        else { return }
        guard !isShutDown else { throw .shutDown }
        try requirePower()
        let (wish, start) = onStack { $0.wantDiscovery(DiscoveryFilter()) }
        defer { onStack { $0.endDiscovery(wish) } }
        do throws(BLEError) {
            try await start.wait()
            try await stack.awaitDevice(peripheral, within: Self.objectLimit) { [weak self] in
                self?.enter { $0.isShutDown } ?? true
            }
        } catch {
            throw isShutDown ? .shutDown : error
        }
    }
}
