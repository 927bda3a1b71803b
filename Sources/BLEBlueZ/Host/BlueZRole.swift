internal import BLE
internal import Loop
internal import Waiting

extension BlueZHost {
    /// Runs `body` in the host's isolation, on its loop.
    nonisolated func enter<Value: Sendable>(_ body: (isolated BlueZHost) throws -> Value) rethrows -> Value {
        try enter(isCurrent: loop.isCurrent, body)
    }
}

/// An actor that uses a host and runs on its executor, so that it can access the host's state without waiting.
protocol BlueZRole: Actor {
    nonisolated var host: BlueZHost { get }
}

extension BlueZRole {
    /// Runs `body` in this actor's isolation, on the host's loop.
    nonisolated func enter<Value: Sendable>(_ body: (isolated Self) throws -> Value) rethrows -> Value {
        try enter(isCurrent: host.loop.isCurrent, body)
    }

    /// Runs `body` in the isolation of the host, on whose executor this actor runs.
    func onHost<Value: Sendable>(_ body: (isolated BlueZHost) -> Value) -> Value { host.enter(body) }

    /// bluetoothd's objects.
    var objects: ObjectTree { onHost { $0.tree } }

    /// The object path of the adapter in use.
    var adapterPath: String { onHost { $0.choice.path } }

    /// Whether the adapter in use is on.
    var isPoweredOn: Bool { onHost { $0.adapterState } == .poweredOn }

    /// The error for a missing adapter.
    var unavailable: BLEError { onHost { $0.unavailable } }

    /// Throws the error for `NotReady` if the adapter is not powered on, without calling bluetoothd.
    func requirePower() throws(BLEError) {
        if let error = onHost({ $0.powerError }) { throw error }
    }

    /// Returns the path of a device on the adapter in use; nil if bluetoothd does not know it.
    func knownPath(of peripheral: Peripheral.ID) -> String? { onHost { $0.path(of: peripheral) } }

    /// Returns the path of a device on the adapter in use. Throws `peripheralNotFound`, the error for a missing
    /// adapter, and `invalidArgument` for an id that is not an address.
    func path(of peripheral: Peripheral.ID) throws(BLEError) -> String {
        if let path = knownPath(of: peripheral) { return path }
        guard objects.adapters[adapterPath] != nil else { throw unavailable }
        guard peripheral.isAddress else { throw .notAnAddress(peripheral) }
        throw BLEError(
            .peripheralNotFound, "bluetoothd does not know the peripheral",
            remedy: "It may be out of range, or switched off.")
    }

    /// Returns the id of a device on the adapter in use.
    func id(ofDevice path: String) -> Peripheral.ID? { onHost { $0.id(ofDevice: path) } }

    /// Whether a device has a link.
    func isConnected(_ path: String) -> Bool { onHost { $0.tree.devices[path]?.isConnected == true } }
}
