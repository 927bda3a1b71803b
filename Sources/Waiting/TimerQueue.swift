/// A queue of work, in the order of its deadlines.
///
/// Public and inlinable for speed: the compiler does not specialize `package` declarations in other modules (Swift
/// 6.3), and an unspecialized step takes longer than the work itself.
public struct TimerQueue<Deadline: Comparable & Sendable, Work> {
    public typealias Number = UInt64

    @usableFromInline
    struct Entry: Comparable {
        @usableFromInline let deadline: Deadline
        @usableFromInline let order: UInt64
        @usableFromInline let number: Number

        @inlinable
        init(deadline: Deadline, order: UInt64, number: Number) {
            self.deadline = deadline
            self.order = order
            self.number = number
        }

        /// Entries with the same deadline are due in the order in which they were added.
        @inlinable
        static func < (left: Entry, right: Entry) -> Bool {
            left.deadline == right.deadline ? left.order < right.order : left.deadline < right.deadline
        }
    }

    /// A place for work. Its number changes with each use, so that a number is not found again when its work is gone.
    @usableFromInline
    struct Place {
        @usableFromInline var work: Work?
        @usableFromInline var number: Number

        @inlinable
        init(work: Work, number: Number) {
            self.work = work
            self.number = number
        }
    }

    /// A binary heap: no entry is due before the one above it. Entries without work are dropped when they come up.
    @usableFromInline var heap: [Entry] = []
    @usableFromInline var places: [Place] = []
    /// The indices of the places without work.
    @usableFromInline var free: [Int] = []
    @usableFromInline var last: UInt64 = 0

    /// The maximum number of places. The lower bits of a number are the index of its place, and the upper bits count
    /// how often the place was used before.
    @inlinable static var indices: UInt64 { 1 << 24 }

    @inlinable public init() {}

    /// The next deadline, or an earlier one whose work was removed.
    @inlinable public var next: Deadline? { heap.first?.deadline }
    @inlinable public var count: Int { places.count - free.count }

    /// The work, in no particular order.
    @inlinable public var pending: some Sequence<Work> { places.lazy.compactMap(\.work) }

    /// Adds work. Returns its number for ``remove(_:)``.
    @inlinable public mutating func add(_ deadline: Deadline, _ work: Work) -> Number {
        let number: Number
        if let index = free.popLast() {
            number = places[index].number &+ Self.indices
            places[index] = Place(work: work, number: number)
        } else {
            number = UInt64(places.count)
            precondition(number < Self.indices, "too much work")
            places.append(Place(work: work, number: number))
        }
        last &+= 1
        heap.append(Entry(deadline: deadline, order: last, number: number))
        rise(from: heap.count - 1)
        return number
    }

    /// Removes work and returns it. Nil if it was removed before.
    @inlinable @discardableResult public mutating func remove(_ number: Number) -> Work? {
        guard let removed = take(number) else { return nil }
        // Most work is removed before its deadline, so entries without work accumulate.
        guard heap.count > 64, heap.count > 4 * count else { return removed }
        heap = heap.filter { contains($0.number) }
        // A sorted list is a heap.
        heap.sort()
        return removed
    }

    /// Removes the work whose deadlines have passed, at most `limit` of it, and returns it in order.
    @inlinable public mutating func takeDue(at now: Deadline, limit: Int = .max) -> [Work] {
        var due: [Work] = []
        while due.count < limit, let first = heap.first, first.deadline <= now || !contains(first.number) {
            removeFirst()
            if let work = take(first.number) { due.append(work) }
        }
        return due
    }

    @inlinable func contains(_ number: Number) -> Bool {
        let place = places[Int(number % Self.indices)]
        return place.number == number && place.work != nil
    }

    @inlinable mutating func take(_ number: Number) -> Work? {
        let index = Int(number % Self.indices)
        guard places[index].number == number, let work = places[index].work.take() else { return nil }
        free.append(index)
        return work
    }

    @inlinable mutating func rise(from start: Int) {
        let entry = heap[start]
        var index = start
        while index > 0, case let parent = (index - 1) / 2, entry < heap[parent] {
            heap[index] = heap[parent]
            index = parent
        }
        heap[index] = entry
    }

    /// Replaces the first entry with the last one. The last one is mostly due late: instead of being compared at each
    /// level, it takes the place at the bottom that the others leave, and rises from there.
    @inlinable mutating func removeFirst() {
        let last = heap.removeLast()
        guard !heap.isEmpty else { return }
        var index = 0
        while case let left = 2 * index + 1, left < heap.count {
            let right = left + 1
            let least = right < heap.count && heap[right] < heap[left] ? right : left
            heap[index] = heap[least]
            index = least
        }
        heap[index] = last
        rise(from: index)
    }
}
