/// An event of a peripheral's connection.
public enum ConnectionEvent: Sendable {
    /// An attempt to connect has started.
    case connecting
    /// The link is up, the services are discovered, and the subscriptions that survived a gap are restored.
    case connected
    /// An attempt to connect failed. The next one follows automatically after `retryAfter`. Nil if none follows, or if
    /// it waits for the adapter to be powered on.
    case connectFailed(BLEError, retryAfter: Duration?)
    /// Connecting waits, until a caller's deadline at most: for the peripheral to be heard (`peripheralNotFound`), for
    /// Bluetooth to return (`bluetoothLost`), or for the adapter (`poweredOff`, `adapterNotFound`).
    case waiting(BLEError)
    /// The link ended. The error's ``BLEError/disconnectReason`` is the reason.
    case disconnected(BLEError)
    /// A request to end the link failed. This central no longer uses the link, but it may still be up.
    case disconnectFailed(BLEError)
    /// The peripheral's services changed: on the link, or since the link before, as after an update of its firmware.
    /// In the latter case, the event follows ``connected``, as that of a change during the attempt does. With several
    /// radios, the services are compared with those of the last link of the same radio, since a stack may describe them
    /// in its own way. ``Peripheral/services()`` returns the new ones, whose handles may be others.
    case servicesChanged
}
