/// How long a link stays, and who makes it anew.
///
/// Whatever the policy, an operation connects when it must.
public enum ConnectionPolicy: Hashable, Sendable {
    /// The link stays until ``Peripheral/disconnect()``. One that ends by itself is made anew by the next operation.
    case manual
    /// The link is ended when nothing has used it for `idle`: no operation, no stream of notifications, no
    /// ``Peripheral/withConnection(_:)``.
    case onDemand(idle: Duration)
    /// The link is made now, and anew whenever it has ended, after a pause, until the policy is another or ``Peripheral/disconnect()`` is
    /// called. Streams of notifications outlast the gaps; see ``NotificationStream``.
    case maintained(backoff: Backoff = .standard)
}

/// How long to wait before the next attempt: longer after each that fails, up to a limit.
public struct Backoff: Hashable, Sendable {
    /// The pause after the end of a link, and after the first attempt that fails.
    public var initial: Duration
    /// How many times longer each pause is than the one before; at least 1.
    public var factor: Int
    /// The longest pause.
    public var maximum: Duration

    /// 0.5 s, 1 s, 2 s, … up to 30 s.
    public static let standard = Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(30))

    /// Pauses that grow by `factor` from `initial` to `maximum`.
    public init(initial: Duration, factor: Int, maximum: Duration) {
        self.initial = initial
        self.factor = factor
        self.maximum = maximum
    }

    /// The pause after so many failures in a row, from 1.
    func pause(afterFailures count: Int) -> Duration {
        var pause = initial
        for _ in 1..<max(1, count) {
            guard pause < maximum else { break }
            pause *= max(1, factor)
            if factor <= 1 { break }
        }
        return min(pause, maximum)
    }
}
