/// First-come, first-served queues for resources that serve one user at a time.
struct Turns<Key: Hashable> {
    typealias Ticket = Int

    /// The user of a resource, and those who wait for it. Most have no one who waits.
    private struct Queue {
        var head: Ticket
        var others: [Ticket] = []
    }

    private var queues: [Key: Queue] = [:]

    /// Joins a queue. Returns true if the ticket is at its head.
    mutating func join(_ key: Key, _ ticket: Ticket) -> Bool {
        let isFirst = queues[key]?.others.append(ticket) == nil
        if isFirst { queues[key] = Queue(head: ticket) }
        return isFirst
    }

    /// Removes a ticket from any position of a queue. Returns the ticket at the head if that has changed.
    mutating func leave(_ key: Key, _ ticket: Ticket) -> Ticket? {
        guard let index = queues.index(forKey: key) else { return nil }
        let queue = queues.values[index]
        if queue.head != ticket {
            queues.values[index].others.removeAll { $0 == ticket }
        } else if let next = queue.others.first {
            queues.values[index].head = next
            queues.values[index].others.removeFirst()
            return next
        } else {
            queues.remove(at: index)
        }
        return nil
    }
}
