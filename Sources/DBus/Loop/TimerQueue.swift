internal import Waiting

/// The sleeps that have not ended, in the order of their deadlines.
struct TimerQueue {
    typealias Deadline = ContinuousClock.Instant

    private struct Entry: Comparable {
        let deadline: Deadline
        let number: Int

        /// Those with one deadline are due in the order in which they were added.
        static func < (left: Entry, right: Entry) -> Bool {
            (left.deadline, left.number) < (right.deadline, right.number)
        }
    }

    /// A binary heap: no entry is due before the one above it. Entries without a sleeper are dropped when they come up.
    private var heap: [Entry] = []
    private var sleepers: [Int: BusOutcome<Void>] = [:]
    private var last = 0

    /// The next deadline.
    var next: Deadline? { heap.first?.deadline }
    var count: Int { sleepers.count }

    /// Adds a sleep. Returns its number for ``remove(_:)``.
    mutating func add(_ deadline: Deadline, _ sleeper: BusOutcome<Void>) -> Int {
        last += 1
        sleepers[last] = sleeper
        heap.append(Entry(deadline: deadline, number: last))
        rise(from: heap.count - 1)
        return last
    }

    /// Removes a sleep, which may have ended.
    mutating func remove(_ number: Int) {
        sleepers[number] = nil
        // Most sleeps are deadlines that never come.
        guard heap.count > 64, heap.count > 4 * sleepers.count else { return }
        heap.removeAll { sleepers[$0.number] == nil }
        // A sorted list is a heap.
        heap.sort()
    }

    /// Removes the sleeps whose deadlines have passed, and returns them in order.
    mutating func takeDue(at now: Deadline) -> [BusOutcome<Void>] {
        var due: [BusOutcome<Void>] = []
        while let first = heap.first, first.deadline <= now || sleepers[first.number] == nil {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            sink()
            if let sleeper = sleepers.removeValue(forKey: first.number) { due.append(sleeper) }
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
