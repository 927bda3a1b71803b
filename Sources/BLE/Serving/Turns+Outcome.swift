internal import Waiting

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
    mutating func endHold(_ ticket: Ticket) { release(ticket)?.wait.deliver(.success(())) }
}
