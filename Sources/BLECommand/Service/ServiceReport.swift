/// What the service manager is told of a gateway, and when. Times are those since the gateway has started.
///
/// A pure value: a proof that the gateway lives goes in, and the message that is due comes out.
struct ServiceReport: Sendable {
    /// The longest pause between two looks at the status, and the shortest between two messages that contain it.
    static let statusInterval: Duration = .seconds(5)

    /// The longest pause between two signs of life. Nil if none are expected.
    private let watchdogInterval: Duration?
    private var isReady = false
    private var status: String?
    private var statusTime: Duration?
    private var watchdogTime: Duration?

    init(watchdogInterval: Duration?) { self.watchdogInterval = watchdogInterval }

    /// Sends what is due, as one message, and returns the pause until the next report.
    ///
    /// What the service manager does not take is sent again, with the status of then.
    ///
    /// - Parameters:
    ///   - status: a line for people.
    ///   - send: returns whether the service manager has taken the message.
    mutating func report(_ status: String, at now: Duration, _ send: (String) -> Bool) -> Duration {
        var (next, lines) = (self, [String]())
        if !isReady {
            next.isReady = true
            lines.append("READY=1")
        }
        if status != self.status, statusTime.map({ now - $0 >= Self.statusInterval }) ?? true {
            (next.status, next.statusTime) = (status, now)
            lines.append("STATUS=\(status)")
        }
        if let watchdogInterval, watchdogTime.map({ now - $0 >= watchdogInterval }) ?? true {
            next.watchdogTime = now
            lines.append("WATCHDOG=1")
        }
        guard lines.isEmpty || send(lines.joined(separator: "\n")) else {
            // Several attempts fit into the time after which the service manager takes the gateway for dead.
            return min(Self.statusInterval, (watchdogInterval ?? Self.statusInterval) / 4)
        }
        self = next
        guard let watchdogInterval, let watchdogTime else { return Self.statusInterval }
        return min(Self.statusInterval, watchdogTime + watchdogInterval - now)
    }
}
