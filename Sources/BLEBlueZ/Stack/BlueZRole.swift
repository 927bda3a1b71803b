internal import BLE
internal import Loop
internal import Waiting

extension BlueZStack {
    /// Runs `body` in the stack's isolation, on its loop.
    nonisolated func enter<Value: Sendable>(_ body: (isolated BlueZStack) throws -> Value) rethrows -> Value {
        try enter(isCurrent: loop.isCurrent, body)
    }
}

/// An actor that uses the stack and runs on its executor, so that it can access the stack's state without waiting.
protocol BlueZRole: Actor {
    nonisolated var stack: BlueZStack { get }
}

extension BlueZRole {
    /// Runs `body` in this actor's isolation, on the stack's loop.
    nonisolated func enter<Value: Sendable>(_ body: (isolated Self) throws -> Value) rethrows -> Value {
        try enter(isCurrent: stack.loop.isCurrent, body)
    }

    /// Runs `body` in the isolation of the stack, on whose executor this actor runs.
    func onStack<Value: Sendable>(_ body: (isolated BlueZStack) -> Value) -> Value { stack.enter(body) }

    /// bluetoothd's objects.
    var objects: ObjectTree { onStack { $0.tree } }

    /// The object path of the adapter in use.
    var adapterPath: String { onStack { $0.choice.path } }

    /// Whether the adapter in use is on.
    var isPoweredOn: Bool { onStack { $0.adapterState } == .poweredOn }

    /// The error for a missing adapter.
    var unavailable: BLEError { onStack { $0.unavailable } }

    /// Throws the error for `NotReady` if the adapter is not powered on, without calling bluetoothd.
    func requirePower() throws(BLEError) {
        if let error = onStack({ $0.powerError }) { throw error }
    }

    /// Returns the path of a device on the adapter in use; nil if bluetoothd does not know it.
    func knownPath(of peripheral: DeviceID) -> String? { onStack { $0.path(of: peripheral) } }

    /// Returns the path of a device on the adapter in use. Throws `peripheralNotFound`, the error for a missing
    /// adapter, and `invalidArgument` for an id that is not an address.
    func path(of peripheral: DeviceID) throws(BLEError) -> String {
        if let path = knownPath(of: peripheral) { return path }
        guard objects.adapters[adapterPath] != nil else { throw unavailable }
        guard peripheral.isAddress else { throw .notAnAddress(peripheral) }
        throw BLEError(
            .peripheralNotFound, "bluetoothd does not know the peripheral",
            remedy: "It may be out of range, or switched off.")
    }

    /// Returns the id of a device on the adapter in use.
    func id(ofDevice path: String) -> DeviceID? { onStack { $0.id(ofDevice: path) } }

    /// Whether a device has a link.
    func isConnected(_ path: String) -> Bool { onStack { $0.tree.devices[path]?.isConnected == true } }
}
