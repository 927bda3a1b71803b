import BLE

extension BLEError {
    /// Whether it is about the link, the adapter or Bluetooth itself, or the end of the work: with it nothing else can be had from
    /// the peripheral either. All others are about the one attribute.
    var endsLink: Bool {
        switch code {
        case .disconnected, .connectionFailed, .connectionCancelled, .serviceDiscoveryFailed, .peripheralNotFound,
            .bluetoothUnavailable, .bluetoothLost, .adapterNotFound, .poweredOff, .blocked, .unauthorized, .cancelled,
            .shutDown:
            true
        default: false
        }
    }

    /// Whether a maintained link outlasts it. (What takes too long is about the link where there is none.)
    var isOutlasted: Bool { code == .timedOut || endsLink && ![.unauthorized, .cancelled, .shutDown].contains(code) }
}

extension Result where Failure == BLEError {
    /// What came of asking for one attribute of a peripheral.
    ///
    /// Throws what ends the link, and `timedOut` where it was the link that could not be made in time.
    init(of peripheral: Peripheral, _ work: () async throws(BLEError) -> Success) async throws(BLEError) {
        do throws(BLEError) {
            self = .success(try await work())
        } catch {
            if error.endsLink { throw error }
            if error.code == .timedOut, await peripheral.connectionState != .connected { throw error }
            self = .failure(error)
        }
    }
}
