import Testing

@testable import BLE

@Suite struct TurnsTests {
    private var turns = Turns<String>()

    @Test mutating func `the first comes at once, the others in the order they came`() {
        #expect(turns.join("a", 1) == true)
        #expect(turns.join("a", 2) == false)
        #expect(turns.join("a", 3) == false)
        #expect(turns.leave("a", 1) == 2)
        #expect(turns.leave("a", 2) == 3)
        #expect(turns.leave("a", 3) == nil)
    }

    @Test mutating func `different things do not wait for each other`() {
        #expect(turns.join("a", 1) == true)
        #expect(turns.join("b", 2) == true)
        #expect(turns.join("a", 3) == false)
        #expect(turns.leave("b", 2) == nil)
        #expect(turns.leave("a", 1) == 3)
    }

    @Test mutating func `leaving from the middle does not change the order`() {
        for ticket in 1...4 { _ = turns.join("a", ticket) }
        #expect(turns.leave("a", 3) == nil)
        #expect(turns.leave("a", 2) == nil)
        #expect(turns.leave("a", 1) == 4)
    }

    @Test mutating func `leaving from the end does not change the order`() {
        for ticket in 1...2 { _ = turns.join("a", ticket) }
        #expect(turns.leave("a", 2) == nil)
        #expect(turns.leave("a", 1) == nil)
    }

    @Test mutating func `an operation that is not queued cannot leave`() {
        #expect(turns.leave("a", 1) == nil)
        _ = turns.join("a", 1)
        _ = turns.join("a", 2)
        #expect(turns.leave("a", 9) == nil)
        #expect(turns.leave("b", 1) == nil)
        #expect(turns.leave("a", 1) == 2)
        #expect(turns.leave("a", 1) == nil)
    }

    @Test mutating func `an empty queue starts again`() {
        _ = turns.join("a", 1)
        _ = turns.leave("a", 1)
        #expect(turns.join("a", 2) == true)
    }
}
