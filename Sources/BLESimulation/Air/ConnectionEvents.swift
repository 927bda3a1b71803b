internal import BLE

/// The moments at which the two sides of a link exchange packets, and which of them get lost.
///
/// They are multiples of the interval on the radio's clock. What either side sends arrives at the next one that is not
/// lost, and the link ends when all have been lost for the supervision timeout.
struct ConnectionEvents {
    enum Outcome {
        case received
        case lost
        case timedOut
    }

    /// The timing of a peripheral's links.
    struct Parameters: Sendable {
        /// The default is the longest that the kernel asks for, and its timeout.
        var interval = Duration.milliseconds(50)
        var supervisionTimeout = Duration.milliseconds(420)
    }

    private let parameters: Parameters
    private var random: SeededGenerator
    private var lastReceived: Duration

    init(_ parameters: Parameters, seed: UInt64, now: Duration) {
        self.parameters = parameters
        random = SeededGenerator(seed: seed)
        lastReceived = now
    }

    /// Returns the time of the first event after a time.
    func next(after now: Duration) -> Duration {
        let interval = parameters.interval.attoseconds
        return Duration(attoseconds: (now.attoseconds / interval + 1) * interval)
    }

    /// Decides about an event. `loss` is the probability that it is lost, 0 to 1.
    mutating func event(at now: Duration, loss: Double) -> Outcome {
        if loss <= 0 || Double.random(in: 0..<1, using: &random) >= loss {
            lastReceived = now
            return .received
        }
        return now - lastReceived >= parameters.supervisionTimeout ? .timedOut : .lost
    }

    /// Begins again after a time without events, in which nothing was lost.
    mutating func resume(at now: Duration) { lastReceived = now }
}
