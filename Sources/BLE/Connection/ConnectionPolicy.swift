/// When a link ends, and whether it is reestablished automatically.
///
/// With any policy, an operation connects if there is no link.
public enum ConnectionPolicy: Hashable, Sendable {
    /// The link stays until ``Peripheral/disconnect()``. If it is lost, the next operation reestablishes it.
    case manual
    /// The link is ended when it has been unused for `idle`: no operation, no stream of notifications, no
    /// ``Peripheral/withConnection(isolation:_:)``.
    case onDemand(idle: Duration)
    /// The link is established immediately, and again after a pause whenever it has ended, until the policy changes or
    /// ``Peripheral/disconnect()`` is called. Streams of notifications survive the gaps; see ``NotificationStream``.
    case maintained(backoff: Backoff = .standard)
}
