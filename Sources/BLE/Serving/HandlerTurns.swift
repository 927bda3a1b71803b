internal import Waiting

/// The turns at an attribute, in the order of arrival: for each central, one handler of a write runs at a time, and one
/// indication is on its way. Centrals do not wait for each other.
struct HandlerTurns {
    /// What waits for each other.
    struct Queue: Hashable {
        let attribute: ServedAttribute
        /// The central that writes, or that an indication is for. Nil for indications to all.
        let central: Peripheral.ID?
    }

    private var members: [Queue: [Int]] = [:]
    private var queues: [Int: Queue] = [:]
    private var waits: [Int: Outcome<Void>] = [:]
    /// Those whose handlers run.
    private var running: Set<Int> = []
    /// Those that have left while their handlers run.
    private var left: Set<Int> = []
    /// The full queues of which that is known.
    private var full: Set<Queue> = []

    /// Joins a queue. Returns what to wait for; nil if there are `limit` in the queue already.
    mutating func join(_ queue: Queue, _ number: Int, limit: Int) -> Outcome<Void>? {
        guard members[queue, default: []].count < limit else { return nil }
        let turn = Outcome<Void>()
        members[queue, default: []].append(number)
        queues[number] = queue
        if members[queue]?.count == 1 { turn.deliver(.success(())) } else { waits[number] = turn }
        return turn
    }

    /// Whether nothing has been refused since the queue was empty.
    mutating func isFirstRefusal(_ queue: Queue) -> Bool { full.insert(queue).inserted }

    /// A handler begins, and keeps the turn until it has returned, even if its request ends earlier.
    mutating func handlerBegan(_ number: Int) {
        if queues[number] != nil { running.insert(number) }
    }

    mutating func handlerReturned(_ number: Int) {
        running.remove(number)
        if left.remove(number) != nil { leave(number) }
    }

    /// Leaves the queue from any position, when the handler has returned.
    mutating func leave(_ number: Int) {
        guard !running.contains(number) else {
            left.insert(number)
            return
        }
        waits[number] = nil
        guard let queue = queues.removeValue(forKey: number), let index = members[queue]?.firstIndex(of: number) else {
            return
        }
        members[queue]?.remove(at: index)
        guard let next = members[queue]?.first else {
            members[queue] = nil
            full.remove(queue)
            return
        }
        if index == 0 { waits.removeValue(forKey: next)?.deliver(.success(())) }
    }
}
