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

    @Test func `work is due in order whatever is added and removed meanwhile`() {
        var (queue, kept, random) = (
            TimerQueue<Int, Int>(), [(deadline: Int, work: Int, number: UInt64)](), 1 as UInt64
        )
        func next(_ limit: Int) -> Int {
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(random >> 33) % limit
        }
        for work in 0..<5000 {
            let deadline = work / 4 + next(40)
            kept.append((deadline, work, queue.add(deadline, work)))
            if next(3) == 0 {
                let removed = kept.remove(at: next(kept.count))
                let work = queue.remove(removed.number)
                #expect(work == removed.work)
            }
            let due = queue.takeDue(at: work / 4, limit: 5)
            kept.sort { ($0.deadline, $0.work) < ($1.deadline, $1.work) }
            let expected = kept.prefix { $0.deadline <= work / 4 }.prefix(5)
            #expect(due == expected.map(\.work))
            kept.removeFirst(expected.count)
        }
        #expect(queue.count == kept.count)
    }
}
