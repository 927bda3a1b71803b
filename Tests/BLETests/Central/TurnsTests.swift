import Testing

@testable import BLE

@Suite struct TurnsTests {
    private var turns = Turns<String, String>()

    private mutating func join(_ key: String, _ ticket: Int, limit: Int = .max) -> Turns<String, String>.Joined {
        turns.join(key, ticket, limit: limit, wait: "turn of \(ticket)")
    }

    @Test mutating func `the first has its turn at once, the others in the order in which they came`() {
        #expect(join("a", 1) == .first)
        #expect(join("a", 2) == .waiting)
        #expect(join("a", 3) == .waiting)
        #expect(turns.leave(1)?.ticket == 2)
        #expect(turns.leave(2)?.ticket == 3)
        #expect(turns.leave(3)?.ticket == nil)
    }

    @Test mutating func `the turn of a ticket comes with what it joined with`() {
        _ = join("a", 1)
        _ = join("a", 2)
        #expect(turns.leave(1)?.wait == "turn of 2")
        #expect(!turns.isEmpty)
        _ = turns.leave(2)
        #expect(turns.isEmpty)
    }

    @Test mutating func `different things do not wait for each other`() {
        #expect(join("a", 1) == .first)
        #expect(join("b", 2) == .first)
        #expect(join("a", 3) == .waiting)
        #expect(turns.leave(2)?.ticket == nil)
        #expect(turns.leave(1)?.ticket == 3)
    }

    @Test mutating func `leaving from the middle or the end changes no other turn`() {
        for ticket in 1...5 { _ = join("a", ticket) }
        #expect(turns.leave(3)?.ticket == nil)
        #expect(turns.leave(2)?.ticket == nil)
        #expect(turns.leave(5)?.ticket == nil)
        #expect(turns.leave(1)?.ticket == 4)
        #expect(turns.leave(4)?.ticket == nil)
    }

    @Test mutating func `many that leave from the middle change no other turn`() {
        for ticket in 0...1000 { _ = join("a", ticket) }
        for ticket in (1...1000).reversed() where !ticket.isMultiple(of: 3) {
            #expect(turns.leave(ticket)?.ticket == nil)
        }
        var order: [Int] = []
        var next = turns.leave(0)
        while let (ticket, wait) = next {
            #expect(wait == "turn of \(ticket)")
            order.append(ticket)
            next = turns.leave(ticket)
        }
        #expect(order == Array(stride(from: 3, through: 1000, by: 3)))
        #expect(turns.isEmpty)
    }

    @Test mutating func `a ticket that is not in a queue cannot leave`() {
        #expect(turns.leave(1)?.ticket == nil)
        _ = join("a", 1)
        _ = join("a", 2)
        #expect(turns.leave(9)?.ticket == nil)
        #expect(turns.leave(1)?.ticket == 2)
        #expect(turns.leave(1)?.ticket == nil)
    }

    @Test mutating func `an empty queue begins again`() {
        _ = join("a", 1)
        _ = turns.leave(1)
        #expect(join("a", 2) == .first)
    }

    @Test mutating func `a turn that is held lasts until it is released`() {
        _ = join("a", 1)
        _ = join("a", 2)
        turns.hold(1)
        #expect(turns.leave(1)?.ticket == nil)
        #expect(join("a", 3) == .waiting)
        #expect(turns.release(1)?.ticket == 2)
        #expect(turns.release(1)?.ticket == nil)
    }

    @Test mutating func `a release before the ticket leaves does not end its turn`() {
        _ = join("a", 1)
        _ = join("a", 2)
        turns.hold(1)
        #expect(turns.release(1)?.ticket == nil)
        #expect(turns.leave(1)?.ticket == 2)
    }

    @Test mutating func `a ticket that leaves a full queue from the middle makes room`() {
        for ticket in 1...3 { _ = join("a", ticket, limit: 3) }
        #expect(join("a", 4, limit: 3) == .full(isFirst: true))
        #expect(turns.leave(2)?.ticket == nil)
        #expect(join("a", 5, limit: 3) == .waiting)
        #expect(join("a", 6, limit: 3) == .full(isFirst: false))
        #expect(turns.leave(1)?.ticket == 3)
        #expect(turns.leave(3)?.ticket == 5)
        #expect(turns.leave(5)?.ticket == nil)
        #expect(turns.isEmpty)
    }

    @Test mutating func `a full queue refuses, and says once that it does until it was empty`() {
        #expect(join("a", 1, limit: 2) == .first)
        #expect(join("a", 2, limit: 2) == .waiting)
        #expect(join("a", 3, limit: 2) == .full(isFirst: true))
        #expect(join("a", 4, limit: 2) == .full(isFirst: false))
        _ = turns.leave(1)
        #expect(join("a", 5, limit: 2) == .waiting)
        #expect(join("a", 6, limit: 2) == .full(isFirst: false))
        _ = turns.leave(2)
        _ = turns.leave(5)
        #expect(join("a", 7, limit: 1) == .first)
        #expect(join("a", 8, limit: 1) == .full(isFirst: true))
    }
}
