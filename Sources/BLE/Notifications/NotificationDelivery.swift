/// How a peripheral's notifications reach this process.
///
/// All streams of a characteristic share one registration. It uses the delivery that the first of them requested.
public enum NotificationDelivery: Hashable, Sendable {
    /// With the stack's other traffic; with BlueZ, signals on the bus. No early value is lost, and every peripheral is
    /// supported.
    case standard
    /// A dedicated socket from bluetoothd (AcquireNotify), at a fraction of the cost. Suitable for many values per
    /// second.
    ///
    /// While a stream is full, values wait in the socket until its reader has caught up. The overflow policy's capacity
    /// applies, but the stream drops nothing. bluetoothd drops values that do not fit the socket, which holds about 200
    /// short values.
    ///
    /// If no socket is available, because the characteristic only indicates or another program has its notifications
    /// on, values are delivered in the standard way. If another program takes the socket away, the stream continues in
    /// the standard way after a gap.
    case socket
}
