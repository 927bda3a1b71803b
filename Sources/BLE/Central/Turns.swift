/// First-come, first-served queues for resources that serve one user at a time.
struct Turns<Key: Hashable> {
    typealias Ticket = Int

    private var queues: [Key: [Ticket]] = [:]

    /// Joins a queue. Returns true if the ticket is at its head.
    mutating func join(_ key: Key, _ ticket: Ticket) -> Bool {
        queues[key, default: []].append(ticket)
        return queues[key]?.count == 1
    }

    /// Removes a ticket from any position of a queue. Returns the ticket at the head if that has changed.
    mutating func leave(_ key: Key, _ ticket: Ticket) -> Ticket? {
        guard var queue = queues[key], let index = queue.firstIndex(of: ticket) else { return nil }
        queue.remove(at: index)
        queues[key] = queue.isEmpty ? nil : queue
        return index == 0 ? queue.first : nil
    }
}
