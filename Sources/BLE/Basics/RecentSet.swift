/// A set of limited capacity that keeps the most recently inserted elements.
struct RecentSet<Element: Hashable> {
    private let capacity: Int
    /// The time of each element's last insertion.
    private var times: [Element: Int] = [:]
    private var time = 0

    init(capacity: Int) { self.capacity = capacity }

    func contains(_ element: Element) -> Bool { times[element] != nil }

    mutating func insert(_ element: Element) {
        time += 1
        times[element] = time
        // Removes half of the elements at once, so that removals are rare.
        guard times.count > capacity else { return }
        let kept = times.values.sorted()[times.count - capacity / 2]
        times = times.filter { $0.value >= kept }
    }
}
