/// A set that forgets: of more elements than its capacity, it keeps those that were inserted last.
struct RecentSet<Element: Hashable> {
    private let capacity: Int
    /// When each was inserted last.
    private var times: [Element: Int] = [:]
    private var time = 0

    init(capacity: Int) { self.capacity = capacity }

    func contains(_ element: Element) -> Bool { times[element] != nil }

    mutating func insert(_ element: Element) {
        time += 1
        times[element] = time
        // Half at once, so that it is rarely done.
        guard times.count > capacity else { return }
        let kept = times.values.sorted()[times.count - capacity / 2]
        times = times.filter { $0.value >= kept }
    }
}
