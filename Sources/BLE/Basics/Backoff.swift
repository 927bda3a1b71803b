/// The pauses between attempts, such as to connect, which grow with each failure up to a limit.
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

    /// Equal pauses.
    package init(every pause: Duration) { self.init(initial: pause, factor: 1, maximum: pause) }

    /// The pause after a number of consecutive failures, at least 1.
    package func pause(afterFailures count: Int) -> Duration {
        var pause = max(.zero, initial)
        let maximum = max(.zero, maximum)
        for _ in 1..<max(1, count) {
            guard factor > 1, pause > .zero else { break }
            guard pause < maximum / factor else { return maximum }
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

extension Backoff {
    /// The pauses of one series of attempts.
    package struct Pauses: Sendable {
        fileprivate let backoff: Backoff
        private var failures = 0
        /// The time spent in pauses so far.
        package private(set) var waited = Duration.zero

        fileprivate init(_ backoff: Backoff) { self.backoff = backoff }

        /// The next pause.
        package var next: Duration { backoff.pause(afterFailures: failures + 1) }

        /// Waits for the next pause to pass. Returns false if the task is cancelled meanwhile.
        ///
        /// - Parameter isLongest: whether the longest pause is waited for instead.
        package mutating func wait(
            _ clock: any Clock<Duration>, isLongest: Bool = false, isolation: isolated (any Actor)? = #isolation
        ) async -> Bool {
            let pause = isLongest ? max(.zero, backoff.maximum) : next
            failures += 1
            guard (try? await clock.sleep(for: pause)) != nil else { return false }
            waited += pause
            return true
        }
    }

    package var pauses: Pauses { Pauses(self) }

    /// Runs `work` until it succeeds, or fails in a way that is final. Throws the last error, or `cancelled` if the
    /// task is cancelled during a pause.
    ///
    /// - Parameter isWorthwhile: decides after an error whether to try again. Its second argument is the time spent in
    ///   pauses so far.
    package func retry<Value>(
        clock: any Clock<Duration>, isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws(BLEError) -> Value,
        while isWorthwhile: (BLEError, Duration) async throws(BLEError) -> Bool
    ) async throws(BLEError) -> Value {
        var pauses = pauses
        while true {
            do throws(BLEError) {
                return try await work()
            } catch {
                guard try await isWorthwhile(error, pauses.waited) else { throw error }
            }
            guard await pauses.wait(clock) else { throw .cancelled }
        }
    }
}
