import BLE

extension BLEError {
    /// Whether the error concerns the link, the adapter, Bluetooth itself, or the end of the work, so that no other
    /// operation on the peripheral can succeed. All other errors concern a single attribute.
    var endsLink: Bool {
        switch code {
        case .disconnected, .connectionFailed, .connectionCancelled, .serviceDiscoveryFailed, .peripheralNotFound,
            .bluetoothUnavailable, .bluetoothLost, .adapterNotFound, .poweredOff, .blocked, .unauthorized, .cancelled,
            .shutDown:
            true
        default: false
        }
    }

    /// Whether a maintained link outlasts the error. A timeout concerns the link if there is none.
    var isOutlasted: Bool { code == .timedOut || endsLink && ![.unauthorized, .cancelled, .shutDown].contains(code) }
}

extension Result where Failure == BLEError {
    /// Performs an operation on one attribute of a peripheral, and captures its errors.
    ///
    /// Throws errors that end the link, and `timedOut` if the link could not be established in time.
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
