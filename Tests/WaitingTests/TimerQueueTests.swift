import Testing
import Waiting

@Suite struct TimerQueueTests {
    @Test func `work is due in the order of its deadlines, and then in that in which it was added`() {
        var queue = TimerQueue<Int, String>()
        for (deadline, work) in [(30, "c"), (10, "a"), (20, "b1"), (20, "b2"), (40, "d")] {
            _ = queue.add(deadline, work)
        }
        #expect(queue.next == 10)
        let (first, second) = (queue.takeDue(at: 30, limit: 2), queue.takeDue(at: 30))
        #expect(first == ["a", "b1"] && second == ["b2", "c"])
        #expect(queue.count == 1)
    }

    @Test func `the number of work that is gone removes nothing, though its place is used again`() {
        var queue = TimerQueue<Int, String>()
        let removed = queue.add(10, "removed")
        let first = queue.remove(removed)
        let taken = queue.add(20, "taken")
        let due = queue.takeDue(at: 20)
        _ = queue.add(30, "last")
        let others = [queue.remove(removed), queue.remove(taken)]
        #expect(first == "removed" && due == ["taken"])
        #expect(others == [nil, nil])
        #expect(queue.count == 1)
    }
}
