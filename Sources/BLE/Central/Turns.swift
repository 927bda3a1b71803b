internal import Waiting

/// First-come, first-served queues for resources that serve one user at a time, such as the value of an attribute.
struct Turns<Key: Hashable> {
    typealias Ticket = Int

    /// The result of joining a queue.
    enum Joined: Equatable {
        /// It is the ticket's turn.
        case first
        case waiting
        /// The queue has no room for the ticket. `isFirst` is false if it has refused another one since it was empty.
        case full(isFirst: Bool)
    }

    private struct Member {
        let key: Key
        let begin: (() -> Void)?
        /// The turn lasts until it is released, even if its ticket leaves before.
        var isHeld = false
        var hasLeft = false
    }

    /// The user of a resource, and those who wait for it. Most have no one who waits.
    private struct Queue {
        var head: Ticket
        var others: [Ticket] = []
        var hasRefused = false
    }

    private var members: [Ticket: Member] = [:]
    private var queues: [Key: Queue] = [:]

    /// Joins a queue, of at most `limit` tickets.
    ///
    /// - Parameter begin: returned when the turn of the ticket comes, unless that is now.
    mutating func join(
        _ key: Key, _ ticket: Ticket, limit: Int = .max, begin: @escaping () -> Void
    ) -> Joined {
        guard let index = queues.index(forKey: key) else {
            guard limit > 0 else { return .full(isFirst: true) }
            queues[key] = Queue(head: ticket)
            members[ticket] = Member(key: key, begin: nil)
            return .first
        }
        guard queues.values[index].others.count + 1 < limit else {
            defer { queues.values[index].hasRefused = true }
            return .full(isFirst: !queues.values[index].hasRefused)
        }
        queues.values[index].others.append(ticket)
        members[ticket] = Member(key: key, begin: begin)
        return .waiting
    }

    /// Keeps the turn of a ticket until ``release(_:)``.
    mutating func hold(_ ticket: Ticket) { members[ticket]?.isHeld = true }

    /// Ends a hold. Returns what begins if the ticket has left.
    mutating func release(_ ticket: Ticket) -> (ticket: Ticket, begin: () -> Void)? {
        guard members[ticket]?.isHeld == true else { return nil }
        members[ticket]?.isHeld = false
        return members[ticket]?.hasLeft == true ? leave(ticket) : nil
    }

    /// Leaves the queue from any position. Returns what begins if this ends the ticket's turn.
    mutating func leave(_ ticket: Ticket) -> (ticket: Ticket, begin: () -> Void)? {
        guard let member = members[ticket] else { return nil }
        guard !member.isHeld else {
            members[ticket]?.hasLeft = true
            return nil
        }
        members[ticket] = nil
        guard let index = queues.index(forKey: member.key) else { return nil }
        if queues.values[index].head != ticket {
            queues.values[index].others.removeAll { $0 == ticket }
        } else if let next = queues.values[index].others.first {
            queues.values[index].head = next
            queues.values[index].others.removeFirst()
            return members[next]?.begin.map { (next, $0) }
        } else {
            queues.remove(at: index)
        }
        return nil
    }
}

extension Turns {
    /// Joins a queue. Returns the wait for the ticket's turn, and what joining has resulted in.
    mutating func wait(_ key: Key, _ ticket: Ticket, limit: Int = .max) -> (turn: Outcome<Void>, joined: Joined) {
        let turn = Outcome<Void>()
        let joined = join(key, ticket, limit: limit) { turn.deliver(.success(())) }
        if joined == .first { turn.deliver(.success(())) }
        return (turn, joined)
    }
}
