internal import Waiting

/// First-come, first-served queues for resources that serve one user at a time, such as the value of an attribute.
///
/// A `Wait` is what begins with the turn of a ticket.
package struct Turns<Key: Hashable, Wait> {
    package typealias Ticket = Int

    /// The result of joining a queue.
    package enum Joined: Equatable {
        /// It is the ticket's turn.
        case first
        case waiting
        /// The queue has no room for the ticket. `isFirst` is false if it has refused another one since it was empty.
        case full(isFirst: Bool)
    }

    fileprivate struct Member {
        let key: Key
        /// Nil if the ticket did not have to wait.
        let wait: Wait?
        /// The turn lasts until it is released, even if its ticket leaves before.
        var isHeld = false
        var hasLeft = false
    }

    /// The ticket whose turn it is, and the tickets that wait. Most queues have none that waits.
    private struct Queue {
        var head: Ticket
        /// The other tickets, and tickets that have left.
        var others = Fifo<Ticket>()
        /// The number of the others.
        var waitingCount = 0
        var hasRefused = false
    }

    package init() {}

    /// Whether all queues are empty.
    package var isEmpty: Bool { members.isEmpty }
    /// The number of tickets in all queues.
    package var count: Int { members.count }

    private var members: [Ticket: Member] = [:]
    private var queues: [Key: Queue] = [:]

    /// Joins a queue, of at most `limit` tickets.
    ///
    /// - Parameter wait: returned when the turn of the ticket comes, unless that is now.
    package mutating func join(_ key: Key, _ ticket: Ticket, limit: Int = .max, wait: Wait) -> Joined {
        guard let index = queues.index(forKey: key) else {
            guard limit > 0 else { return .full(isFirst: true) }
            queues[key] = Queue(head: ticket)
            members[ticket] = Member(key: key, wait: nil)
            return .first
        }
        guard queues.values[index].waitingCount + 1 < limit else {
            defer { queues.values[index].hasRefused = true }
            return .full(isFirst: !queues.values[index].hasRefused)
        }
        queues.values[index].others.append(ticket)
        queues.values[index].waitingCount += 1
        members[ticket] = Member(key: key, wait: wait)
        return .waiting
    }

    /// Keeps the turn of a ticket until ``release(_:)``.
    package mutating func hold(_ ticket: Ticket) { members[ticket]?.isHeld = true }

    /// Ends a hold. Returns what begins if the ticket has left.
    package mutating func release(_ ticket: Ticket) -> (ticket: Ticket, wait: Wait)? {
        guard members[ticket]?.isHeld == true else { return nil }
        members[ticket]?.isHeld = false
        return members[ticket]?.hasLeft == true ? leave(ticket) : nil
    }

    /// Leaves the queue from any position. Returns what begins if this ends the ticket's turn.
    package mutating func leave(_ ticket: Ticket) -> (ticket: Ticket, wait: Wait)? {
        guard let member = members[ticket] else { return nil }
        guard !member.isHeld else {
            members[ticket]?.hasLeft = true
            return nil
        }
        members[ticket] = nil
        guard let index = queues.index(forKey: member.key) else { return nil }
        guard queues.values[index].head == ticket else {
            queues.values[index].waitingCount -= 1
            return nil
        }
        while let next = queues.values[index].others.popFirst() {
            guard let wait = members[next]?.wait else { continue }
            queues.values[index].head = next
            queues.values[index].waitingCount -= 1
            return (next, wait)
        }
        queues.remove(at: index)
        return nil
    }

    /// Whether the turn of a resource is that of a ticket that has left.
    package func hasLeft(_ key: Key) -> Bool {
        queues[key].map { members[$0.head]?.hasLeft == true } ?? false
    }
}

extension Turns: Sendable where Key: Sendable, Wait: Sendable {}
extension Turns.Member: Sendable where Key: Sendable, Wait: Sendable {}

extension Turns where Wait == Outcome<Void> {
    /// Joins a queue. Returns the wait for the ticket's turn, and what joining has resulted in.
    package mutating func wait(
        _ key: Key, _ ticket: Ticket, limit: Int = .max
    ) -> (turn: Outcome<Void>, joined: Joined) {
        let turn = Outcome<Void>()
        let joined = join(key, ticket, limit: limit, wait: turn)
        if joined == .first { turn.deliver(.success(())) }
        return (turn, joined)
    }

    /// Leaves the queue, and begins the next turn.
    package mutating func end(_ ticket: Ticket) { leave(ticket)?.wait.deliver(.success(())) }

    /// Ends a hold, and begins the next turn if the ticket has left.
    package mutating func endHold(_ ticket: Ticket) { release(ticket)?.wait.deliver(.success(())) }
}
