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

/// The pauses between attempts to connect, which grow with each failure up to a limit.
public struct Backoff: Hashable, Codable, Sendable {
    /// The pause after the loss of a link, and after the first failed attempt.
    public var initial: Duration
    /// The ratio of each pause to the one before it, at least 1.
    public var factor: Int
    /// The longest pause.
    public var maximum: Duration

    /// 0.5 s, 1 s, 2 s, … up to 30 s.
    public static let standard = Backoff(initial: .milliseconds(500), factor: 2, maximum: .seconds(30))

    /// Creates pauses that grow by `factor` from `initial` to `maximum`.
    public init(initial: Duration, factor: Int, maximum: Duration) {
        self.initial = initial
        self.factor = factor
        self.maximum = maximum
    }

    /// The pause after a number of consecutive failures, at least 1.
    func pause(afterFailures count: Int) -> Duration {
        var pause = initial
        for _ in 1..<max(1, count) {
            guard factor > 1 else { break }
            guard pause < maximum / factor else { return max(.zero, maximum) }
            pause *= factor
        }
        return min(pause, maximum)
    }
}

/// Stored and sent as an object with `initialSeconds`, `factor` and `maximumSeconds`.
extension Backoff {
    private enum CodingKeys: CodingKey {
        case initialSeconds, factor, maximumSeconds
    }

    /// Reads pauses. Throws `DecodingError` for one that is not between 0 and 10⁹ seconds.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: CodingKeys.self)
        func pause(_ key: CodingKeys) throws -> Duration {
            let seconds = try container.decode(Double.self, forKey: key)
            guard (0...1e9).contains(seconds) else {
                throw DecodingError.dataCorruptedError(
                    forKey: key, in: container, debugDescription: "\(seconds) s is out of range")
            }
            return .microseconds(Int64((seconds * 1e6).rounded()))
        }
        self.init(
            initial: try pause(.initialSeconds), factor: try container.decode(Int.self, forKey: .factor),
            maximum: try pause(.maximumSeconds))
    }

    /// Writes the pauses, at most 10⁹ seconds each, to the microsecond.
    public func encode(to encoder: any Encoder) throws {
        func seconds(_ pause: Duration) -> Double {
            let (seconds, attoseconds) = min(max(pause, .zero), .seconds(1_000_000_000)).components
            return Double(seconds * 1_000_000 + attoseconds / 1_000_000_000_000) / 1e6
        }
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(seconds(initial), forKey: .initialSeconds)
        try container.encode(factor, forKey: .factor)
        try container.encode(seconds(maximum), forKey: .maximumSeconds)
    }
}
