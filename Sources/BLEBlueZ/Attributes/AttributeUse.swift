internal import DBus

/// How clients of bluetoothd use a characteristic, according to its properties.
struct AttributeUse: OptionSet, Hashable {
    let rawValue: UInt8

    /// `Notifying`: a client has called `StartNotify`.
    static let notifying = AttributeUse(rawValue: 1)
    /// `NotifyAcquired`: a client holds the socket for its notifications.
    static let notifyAcquired = AttributeUse(rawValue: 2)
    /// `WriteAcquired`: a client holds the socket for its writes.
    static let writeAcquired = AttributeUse(rawValue: 4)

    /// The use that a property reports; nil for other properties.
    init?(property: MessageString) {
        switch property {
        case "Notifying": self = .notifying
        case "NotifyAcquired": self = .notifyAcquired
        case "WriteAcquired": self = .writeAcquired
        default: return nil
        }
    }

    init(rawValue: UInt8) { self.rawValue = rawValue }
}
