internal import BLE
internal import DBus
internal import Waiting

extension BlueZStack {
    /// The state of the adapter in use: unavailable if it is unplugged, and resetting while bluetoothd or the bus is
    /// gone.
    var adapterState: AdapterState { isRunning ? choice.state(in: tree) : .resetting }

    /// The error for a missing adapter.
    var unavailable: BLEError {
        isRunning
            ? BLEError(.adapterNotFound, "the adapter was removed", remedy: "Plug it in.")
            : .lost("bluetoothd is not running, or the bus is gone")
    }

    /// The error for an adapter that is not powered on, the same as for `NotReady`. Nil if it is on.
    var powerError: BLEError? {
        switch adapterState {
        case .poweredOn: nil
        case .poweredOff: BLEError(.remote("org.bluez.Error.NotReady", "Resource Not Ready"), during: .discovery)
        case .unavailable, .resetting: unavailable
        }
    }

    /// Returns the path of a device on the adapter in use; nil if bluetoothd does not know it.
    func path(of peripheral: Peripheral.ID) -> String? {
        tree.device(peripheral, adapter: choice.path)
    }

    /// Returns the id of a device on the adapter in use.
    func id(ofDevice path: String) -> Peripheral.ID? {
        guard let device = tree.devices[path], device.adapter == choice.path else { return nil }
        return device.id
    }

    /// The paths of the devices on the adapter in use that have a link.
    var connectedDevices: [String] {
        tree.devices.paths(where: \.isConnected).filter(choice.includes)
    }

    /// Returns the id and the advertisement of a device on the adapter in use, if an advertisement was received.
    func heard(_ path: String) -> (Peripheral.ID, Advertisement)? {
        guard let device = tree.devices[path], device.isHeard, device.adapter == choice.path else { return nil }
        return (device.id, device.advertisement)
    }

    /// Waits until bluetoothd has an object for a device on the adapter in use.
    ///
    /// Throws `peripheralNotFound` if it has none in time, `cancelled` if the wait is given up, and the error for an
    /// adapter that is not powered on.
    ///
    /// - Parameter isGivenUp: whether to wait no longer. Called in the stack's isolation, after each change.
    func awaitDevice(
        _ id: DeviceID, within limit: Duration, isGivenUp: @escaping @Sendable () -> Bool
    ) async throws(BLEError) {
        guard let path = DevicePath(id, adapter: choice.path)?.text else { throw .notAnAddress(id) }
        do throws(BLEError) {
            try await waits.wait(forObject: path, within: limit, clock: clock) { () throws(BLEError) -> Void? in
                if self.path(of: id) != nil { return () }
                if isGivenUp() { throw .cancelled }
                if let error = self.powerError { throw error }
                return nil
            }
        } catch {
            guard error.code == .timedOut else { throw error }
            throw BLEError(
                .peripheralNotFound, "bluetoothd has not received the peripheral within \(limit)",
                remedy: "It may be out of range, or switched off.")
        }
    }
}
