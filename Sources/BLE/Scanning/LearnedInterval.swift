/// The advertising interval of a peripheral as learned from the gaps between its advertisements: the longest of the
/// last 16, and of up to 16 before them.
struct LearnedInterval: Sendable {
    private var longest = Duration.zero
    private var formerLongest = Duration.zero
    private var count = 0

    /// Nil before the first gap.
    var value: Duration? {
        let longest = max(longest, formerLongest)
        return longest > .zero ? longest : nil
    }

    /// How long the peripheral may be silent: one and a half of the interval, and `slack`. Nil before the first gap.
    func patience(slack: Duration = .seconds(2)) -> Duration? { value.map { $0 * 3 / 2 + slack } }

    mutating func add(_ gap: Duration) {
        if count == 16 { (formerLongest, longest, count) = (longest, .zero, 0) }
        longest = max(longest, gap)
        count += 1
    }
}
