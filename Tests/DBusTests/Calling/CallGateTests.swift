@testable import DBus
import Testing

struct CallGateTests {
    private static func turns(_ gate: inout CallGate) -> [Int] {
        var turns: [Int] = []
        while let ticket = gate.next() { turns.append(ticket) }
        return turns
    }

    @Test func `calls that take long leave places to the others`() {
        var gate = CallGate()
        let long = (0..<200).map { gate.join(.long, object: "/\($0)") }
        #expect(Self.turns(&gate) == Array(long.prefix(CallGate.longCapacity)))
        let slow = (0..<200).map { gate.join(.slow, object: "/\($0)") }
        #expect(Self.turns(&gate) == Array(slow.prefix(gate.slowCapacity - CallGate.longCapacity)))
        let prompt = (0..<50).map { _ in gate.join(.prompt, object: "/") }
        #expect(Self.turns(&gate) == Array(prompt.prefix(gate.capacity - gate.slowCapacity)))
        #expect(gate.sentCount == gate.capacity)
        // One place is one turn, for what is prompt first.
        gate.answered(long[0])
        #expect(Self.turns(&gate) == [prompt[16]])
        for ticket in prompt { gate.answered(ticket) }
        _ = Self.turns(&gate)
        for ticket in prompt { gate.answered(ticket) }
        gate.answered(slow[0])
        gate.answered(long[1])
        #expect(Set(Self.turns(&gate)).isSuperset(of: [slow[72]]))
    }

    @Test func `one object has only some of the places, and the others take turns`() {
        var gate = CallGate()
        let stalled = (0..<100).map { _ in gate.join(.slow, object: "/stalled") }
        #expect(Self.turns(&gate) == Array(stalled.prefix(CallGate.objectCapacity)))
        let other = gate.join(.slow, object: "/other")
        #expect(Self.turns(&gate) == [other])
        gate.answered(stalled[3])
        #expect(Self.turns(&gate) == [stalled[16]])
        for ticket in stalled.prefix(17) { gate.answered(ticket) }
        #expect(Self.turns(&gate) == Array(stalled[17..<33]))
    }

    @Test func `a call that will never be answered delays only what the bus would refuse`() {
        var gate = CallGate()
        let stalled = (0..<CallGate.objectCapacity + 2).map { _ in gate.join(.slow, object: "/stalled") }
        #expect(Self.turns(&gate) == Array(stalled.prefix(CallGate.objectCapacity)))
        gate.lose(stalled[0])
        #expect(Self.turns(&gate) == [stalled[16]])
        gate.lose(stalled[0])
        #expect(Self.turns(&gate).isEmpty)
        #expect(gate.sentCount == CallGate.objectCapacity + 1)
        // The answer may come nevertheless.
        gate.answered(stalled[0])
        #expect(Self.turns(&gate).isEmpty)
        #expect(gate.sentCount == CallGate.objectCapacity)
        gate.answered(stalled[1])
        #expect(Self.turns(&gate) == [stalled[17]])
    }

    @Test func `calls that will never be answered leave places to those that are answered at once`() {
        var gate = CallGate()
        let lost = (0..<63).map { gate.join(.slow, object: "/\($0)") }
        #expect(Self.turns(&gate) == lost)
        for ticket in lost { gate.lose(ticket) }
        let slow = (0..<200).map { gate.join(.slow, object: "/\($0)") }
        #expect(Self.turns(&gate) == Array(slow.prefix(gate.slowCapacity - 63)))
        let prompt = gate.join(.prompt, object: "/")
        #expect(Self.turns(&gate) == [prompt])
        // A late answer frees its place.
        gate.answered(lost[0])
        #expect(gate.lostCount == 62)
        #expect(Self.turns(&gate) == [slow[gate.slowCapacity - 63]])
    }

    @Test func `a shared connection has room for the calls of others`() {
        var gate = CallGate()
        gate.share()
        let calls = (0..<200).map { _ in gate.join(.prompt, object: "/") }
        #expect(Self.turns(&gate) == Array(calls.prefix(gate.capacity)))
        // The bus permits 128.
        #expect(gate.capacity < 128 / 2)
    }

    @Test func `objects take turns while there are not places for all`() {
        var gate = CallGate()
        let long = (0..<CallGate.longCapacity).map { _ in gate.join(.long, object: "/") }
        #expect(Self.turns(&gate) == long)
        let (first, second) = ((0..<3).map { _ in gate.join(.long, object: "/1") }, gate.join(.long, object: "/2"))
        for (answered, next) in zip(long, [first[0], second, first[1], first[2]]) {
            gate.answered(answered)
            #expect(Self.turns(&gate) == [next])
        }
    }

    @Test func `a call that leaves the queue loses its turn, and one under way keeps its place`() {
        var gate = CallGate()
        let long = (0..<CallGate.longCapacity + 2).map { gate.join(.long, object: "/\($0)") }
        _ = Self.turns(&gate)
        gate.leave(long[0])
        gate.leave(long[32])
        #expect(Self.turns(&gate).isEmpty)
        gate.answered(long[0])
        #expect(Self.turns(&gate) == [long[33]])
        gate.answered(long[0])
        #expect(gate.sentCount == CallGate.longCapacity)
    }
}
