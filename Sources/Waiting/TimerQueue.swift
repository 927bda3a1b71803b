/// What is to be done at deadlines that have not passed, in their order.
package struct TimerQueue<Deadline: Comparable & Sendable, Work> {
    private struct Entry: Comparable {
        let deadline: Deadline
        let number: Int

        /// Those with one deadline are due in the order in which they were added.
        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.number < right.number : left.deadline < right.deadline
        }
    }

    /// A binary heap: no entry is due before the one above it. Entries without work are dropped when they come up.
    private var heap: [Entry] = []
    private var work: [Int: Work] = [:]
    private var last = 0

    package init() {}

    /// The next deadline, or one before it whose work was removed.
    package var next: Deadline? { heap.first?.deadline }
    package var count: Int { work.count }

    /// Returns how much of the work satisfies the predicate.
    package func count(where isCounted: (Work) -> Bool) -> Int { work.values.count(where: isCounted) }

    /// Adds work. Returns its number for ``remove(_:)``.
    package mutating func add(_ deadline: Deadline, _ work: Work) -> Int {
        last += 1
        self.work[last] = work
        heap.append(Entry(deadline: deadline, number: last))
        rise(from: heap.count - 1)
        return last
    }

    /// Removes work and returns it. Nil if it was taken.
    @discardableResult package mutating func remove(_ number: Int) -> Work? {
        let removed = work.removeValue(forKey: number)
        // Most deadlines never come.
        guard heap.count > 64, heap.count > 4 * work.count else { return removed }
        heap.removeAll { work[$0.number] == nil }
        // A sorted list is a heap.
        heap.sort()
        return removed
    }

    /// Removes the work whose deadlines have passed, and returns it in order.
    package mutating func takeDue(at now: Deadline) -> [Work] {
        var due: [Work] = []
        while let first = heap.first, first.deadline <= now || work[first.number] == nil {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            sink()
            if let work = work.removeValue(forKey: first.number) { due.append(work) }
        }
        return due
    }

    private mutating func rise(from start: Int) {
        var index = start
        while index > 0, case let parent = (index - 1) / 2, heap[index] < heap[parent] {
            heap.swapAt(index, parent)
            index = parent
        }
    }

    private mutating func sink() {
        var index = 0
        while true {
            let children = (2 * index + 1..<2 * index + 3).clamped(to: 0..<heap.count)
            guard let least = children.min(by: { heap[$0] < heap[$1] }), heap[least] < heap[index]
            else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
