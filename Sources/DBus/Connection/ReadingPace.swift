/// When a connection reads what has arrived: at once, or, while much arrives, a little later with what follows it.
///
/// Waking up for a message costs more than handling it. While messages are frequent, they are therefore read at most
/// once in the time that their receiver tolerates. A message after a quiet time of that length is read at once.
struct ReadingPace {
    /// How much later than it could be a message may be read. Zero to read each at once.
    var tolerance = Duration.zero
    private var lastReading: ContinuousClock.Instant?
    /// Whether the socket had more than was read.
    private var isBehind = false

    /// Returns how long to wait before reading what has arrived. Nil to read it now.
    func pause(at now: ContinuousClock.Instant) -> Duration? {
        guard tolerance > .zero, !isBehind, let lastReading else { return nil }
        let left = tolerance - (now - lastReading)
        return left > .zero ? left : nil
    }

    /// Records a reading.
    ///
    /// - Parameters:
    ///   - count: the number of messages.
    ///   - isBehind: whether the socket may have more.
    /// - Returns: how long to wait before the next reading, without looking whether anything has arrived; nil to look.
    mutating func hasRead(_ count: Int, isBehind: Bool, at now: ContinuousClock.Instant) -> Duration? {
        guard tolerance > .zero else { return nil }
        if count > 0 { lastReading = now }
        self.isBehind = isBehind
        return count > 1 && !isBehind ? tolerance : nil
    }
}
