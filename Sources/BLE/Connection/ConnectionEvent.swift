/// What happens to a peripheral's connection.
public enum ConnectionEvent: Sendable {
    /// An attempt to make the link has begun.
    case connecting
    /// There is a link, the services are known, and the subscriptions that outlasted a gap are on again.
    case connected
    /// An attempt failed. The next one follows by itself after `retryAfter`; nil when none does, or not before the adapter is
    /// switched on.
    case connectFailed(BLEError, retryAfter: Duration?)
    /// The link has ended; the error's ``BLEError/disconnectReason`` says why.
    case disconnected(BLEError)
    /// The peripheral's services are others than before; ``Peripheral/services()`` has the new ones.
    case servicesChanged
}

/// Why a link ended. Open: later versions may add reasons.
public struct DisconnectReason: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    /// A stable name, the same as the constant's.
    public let rawValue: String
    /// Any reason.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// The name.
    public var description: String { rawValue }

    /// Somebody on this side asked for it.
    public static let local = DisconnectReason(rawValue: "local")
    /// The peripheral ended it.
    public static let remote = DisconnectReason(rawValue: "remote")
    /// Nothing was heard of the peripheral for the supervision timeout.
    public static let timeout = DisconnectReason(rawValue: "timeout")
    /// The two sides' keys do not fit.
    public static let authentication = DisconnectReason(rawValue: "authentication")
    /// The adapter was switched off or unplugged, or the machine was suspended.
    public static let adapterGone = DisconnectReason(rawValue: "adapterGone")
    /// Bluetooth, or the bus to it, has stopped.
    public static let bluetoothLost = DisconnectReason(rawValue: "bluetoothLost")
    /// The system does not say: bluetoothd before 5.82, for one.
    public static let unknown = DisconnectReason(rawValue: "unknown")
}
