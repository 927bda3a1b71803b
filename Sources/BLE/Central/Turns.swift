/// First come, first served: who may use a thing that takes one user at a time.
struct Turns<Key: Hashable> {
    typealias Ticket = Int

    private var queues: [Key: [Ticket]] = [:]

    /// Queues up. True when it is this ticket's turn at once.
    mutating func join(_ key: Key, _ ticket: Ticket) -> Bool {
        queues[key, default: []].append(ticket)
        return queues[key]?.count == 1
    }

    /// Leaves the queue, from its head or from further back. The ticket whose turn it now has become, if it changed.
    mutating func leave(_ key: Key, _ ticket: Ticket) -> Ticket? {
        guard var queue = queues[key], let index = queue.firstIndex(of: ticket) else { return nil }
        queue.remove(at: index)
        queues[key] = queue.isEmpty ? nil : queue
        return index == 0 ? queue.first : nil
    }
}
