internal import BLE

/// An event that the stack reports to its roles, in its isolation and in order with bluetoothd's signals.
enum StackEvent: Sendable {
    /// bluetoothd or the bus is gone, and with it every object; `former` contains the objects before that. The
    /// adapter's state follows, and changes again when bluetoothd is back.
    case stackLost(message: String, former: ObjectTree)
    /// bluetoothd has listed its objects, at the start or after a loss. It is the same process if only the connection
    /// to the bus was lost.
    case objectsListed(isSameStack: Bool)
    /// The state of the adapter in use changed, or another adapter is in use.
    case adapterStateChanged(AdapterState)
    /// An adapter changed, or a device of the adapter in use. For a change of an adapter, its state was reported
    /// before.
    case changed(ObjectTree.Change)
    /// No client uses a characteristic in that way any more. Its device is one of the adapter in use.
    case useEnded(path: String, AttributeUse)

    /// The path of the device, or of the object of a device, that the event is about; nil for other events.
    var deviceObject: String? {
        switch self {
        case .changed(let change): change.device
        case .useEnded(let path, _): path
        case .stackLost, .objectsListed, .adapterStateChanged: nil
        }
    }

    /// Whether bluetoothd's discovery sessions have ended.
    var endsDiscovery: Bool {
        switch self {
        case .stackLost: true
        case .adapterStateChanged(let state): state != .poweredOn
        case .objectsListed, .changed, .useEnded: false
        }
    }
}
