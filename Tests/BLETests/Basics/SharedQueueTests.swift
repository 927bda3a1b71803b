import BLETestSupport
import Testing

@testable import BLE

@Suite(.hangLimit) struct SharedQueueTests {
    private final class Thing: Sendable {}

    @Test func `it keeps nothing that was taken`() async throws {
        let queue = SharedQueue<Thing>(capacity: 4)
        weak var first: Thing?
        do {
            let thing = Thing()
            first = thing
            #expect(queue.add(thing))
        }
        #expect(queue.add(Thing()))
        #expect(try await queue.next(isolation: nil) === first)
        #expect(first == nil)
    }

    @Test func `readers take elements one at a time, and room is reported at half`() async throws {
        let room = SharedValue(0)
        let queue = SharedQueue<Int>(capacity: 4) { room.change { $0 += 1 } }
        for number in 0..<3 { #expect(queue.offer(number) == true) }
        #expect(queue.offer(3) == false)
        #expect(!queue.add(4))
        for number in 0..<2 { #expect(try await queue.next(isolation: nil) == number) }
        #expect(room.value == 1)
        queue.finish()
        #expect(queue.offer(5) == nil)
        for number in 2..<4 { #expect(try await queue.next(isolation: nil) == number) }
        #expect(try await queue.next(isolation: nil) == nil)
    }

    @Test func `an element for a reader that has given up is the next one's`() async throws {
        let queue = SharedQueue<Int>(capacity: 4)
        for _ in 0..<50 {
            let one = Task { try await queue.next(isolation: nil) }
            let other = Task { try await queue.next(isolation: nil) }
            for _ in 0..<5 { await Task.yield() }
            one.cancel()
            _ = queue.offer(1)
            if (try? await one.value) == nil { #expect(try await other.value == 1) } else { other.cancel() }
            _ = await other.result
        }
    }
}
