/// What is to be done at deadlines that have not passed, in their order.
///
/// Public and inlinable, because each step takes longer than its work where the types are not known, and the compiler
/// specializes nothing that is `package` in another module (Swift 6.3).
public struct TimerQueue<Deadline: Comparable & Sendable, Work> {
    @usableFromInline
    struct Entry: Comparable {
        @usableFromInline let deadline: Deadline
        @usableFromInline let number: Int

        @inlinable
        init(deadline: Deadline, number: Int) {
            self.deadline = deadline
            self.number = number
        }

        /// Those with one deadline are due in the order in which they were added.
        @inlinable
        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.number < right.number : left.deadline < right.deadline
        }
    }

    /// A binary heap: no entry is due before the one above it. Entries without work are dropped when they come up.
    @usableFromInline var heap: [Entry] = []
    @usableFromInline var work: [Int: Work] = [:]
    @usableFromInline var last = 0

    @inlinable public init() {}

    /// The next deadline, or one before it whose work was removed.
    @inlinable public var next: Deadline? { heap.first?.deadline }
    @inlinable public var count: Int { work.count }

    /// Returns how much of the work satisfies the predicate.
    @inlinable public func count(where isCounted: (Work) -> Bool) -> Int { work.values.count(where: isCounted) }

    /// Adds work. Returns its number for ``remove(_:)``.
    @inlinable public mutating func add(_ deadline: Deadline, _ work: Work) -> Int {
        last += 1
        self.work[last] = work
        heap.append(Entry(deadline: deadline, number: last))
        rise(from: heap.count - 1)
        return last
    }

    /// Removes work and returns it. Nil if it was taken.
    @inlinable @discardableResult public mutating func remove(_ number: Int) -> Work? {
        let removed = work.removeValue(forKey: number)
        // Most deadlines never come.
        guard heap.count > 64, heap.count > 4 * work.count else { return removed }
        heap.removeAll { work[$0.number] == nil }
        // A sorted list is a heap.
        heap.sort()
        return removed
    }

    /// Removes the work whose deadlines have passed, at most `limit` of it, and returns it in order.
    @inlinable public mutating func takeDue(at now: Deadline, limit: Int = .max) -> [Work] {
        var due: [Work] = []
        while due.count < limit, let first = heap.first, first.deadline <= now || work[first.number] == nil {
            heap.swapAt(0, heap.count - 1)
            heap.removeLast()
            sink()
            if let work = work.removeValue(forKey: first.number) { due.append(work) }
        }
        return due
    }

    @inlinable mutating func rise(from start: Int) {
        var index = start
        while index > 0, case let parent = (index - 1) / 2, heap[index] < heap[parent] {
            heap.swapAt(index, parent)
            index = parent
        }
    }

    @inlinable mutating func sink() {
        var index = 0
        while case let left = 2 * index + 1, left < heap.count {
            let right = left + 1
            let least = right < heap.count && heap[right] < heap[left] ? right : left
            guard heap[least] < heap[index] else { return }
            heap.swapAt(index, least)
            index = least
        }
    }
}
