/// When refusals are told, so that one who asks again and again does not push out other events: the first one at once,
/// and then at most once in a second how many there were.
struct Refusals<Subject> {
    /// What is told.
    struct Told {
        /// The number of refusals since the last time.
        let count: Int
        /// What the last one of them was about.
        let last: Subject
    }

    /// The time after something was told at which ``next()`` is called.
    static var pause: Duration { .seconds(1) }

    private var untold: Told?
    private var isPausing = false

    /// Records a refusal. Returns what is told at once, if anything is.
    mutating func record(_ subject: Subject) -> Told? {
        guard isPausing else {
            isPausing = true
            return Told(count: 1, last: subject)
        }
        untold = Told(count: (untold?.count ?? 0) + 1, last: subject)
        return nil
    }

    /// Returns what was not told yet, if anything, when the pause has passed or when nothing follows.
    mutating func next() -> Told? {
        defer { untold = nil }
        isPausing = untold != nil
        return untold
    }
}
