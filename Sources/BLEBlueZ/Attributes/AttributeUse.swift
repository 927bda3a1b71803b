internal import DBus

/// How the clients of bluetoothd use a characteristic, as its properties tell.
struct AttributeUse: OptionSet, Hashable {
    let rawValue: UInt8

    /// `Notifying`: somebody has called `StartNotify`.
    static let notifying = AttributeUse(rawValue: 1)
    /// `NotifyAcquired`: somebody has the socket of its notifications.
    static let notifyAcquired = AttributeUse(rawValue: 2)
    /// `WriteAcquired`: somebody has the socket for its writes.
    static let writeAcquired = AttributeUse(rawValue: 4)

    /// That of a property; nil for other properties.
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
