/// What happens to a ``PeripheralHost`` and what it serves.
public enum PeripheralHostEvent: Sendable {
    /// A central has made a link. The host does not know whether it will use the host's services.
    case centralConnected(DeviceID)
    /// A central's link has ended.
    case centralDisconnected(DeviceID)
    /// A central has subscribed.
    case subscribed(Subscriber)
    /// A subscription has ended.
    case unsubscribed(Subscriber)
    /// The services of a definition are no longer served. The host serves them again when it can.
    case servicesLost(BLEError)
    /// The services of a definition are served again.
    case servicesRestored
    /// The host has started to advertise, for the first time or again.
    case advertisingStarted
    /// The host has ceased to advertise. Nil if the duration has passed; after an error, it advertises again when it
    /// can.
    case advertisingEnded(BLEError?)
    /// Something went wrong that no call reports: a handler that did not answer in time, or whose answer could not be
    /// sent.
    case failed(BLEError)

    /// A central that receives the values of a characteristic.
    public struct Subscriber: Hashable, Sendable {
        /// The service's type.
        public let service: BluetoothUUID
        /// The characteristic's type.
        public let characteristic: BluetoothUUID
        /// The central. Nil if the system does not tell subscribers apart: then the event stands for the first that
        /// subscribes, and the last that ceases to.
        public let central: DeviceID?
        /// The ATT MTU of the link, in bytes. Nil if the system does not report it.
        public let attMTU: Int?
    }
}
