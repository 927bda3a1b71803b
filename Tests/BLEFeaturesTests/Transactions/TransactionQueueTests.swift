import BLETestSupport
import Testing

@testable import BLEFeatures

@Suite struct TransactionQueueTests {
    private var queue = TransactionQueue<String>()

    @Test mutating func `of each key one request is under way, in order`() {
        queue.add(1, "a")
        queue.add(2, "a")
        queue.add(3, "b")
        #expect([queue.next(), queue.next(), queue.next()] == [1, 3, nil])
        #expect(queue.reply("a") == .request(1))
        #expect(queue.next() == 2)
        #expect(queue.reply("b") == .request(3))
        #expect(queue.reply("b") == .none)
        #expect(!queue.isEmpty)
        #expect(queue.reply("a") == .request(2))
        #expect(queue.isEmpty)
    }

    @Test mutating func `a request that was not written is given up without a trace`() {
        queue.add(1, "a")
        queue.add(2, "a")
        let left = queue.giveUp(2, "a")
        #expect(!left)
        #expect(queue.next() == 1)
        #expect(queue.reply("a") == .request(1))
        #expect(queue.next() == nil)
    }

    @Test mutating func `the place of a request given up is free with its late reply, or when its grace is over`() {
        for id in 1...3 { queue.add(id, "a") }
        _ = queue.next()
        let mayComeLate = queue.giveUp(1, "a")
        #expect(mayComeLate)
        #expect(queue.next() == nil)
        #expect(queue.reply("a") == .late(1))
        #expect(queue.next() == 2)
        _ = queue.giveUp(2, "a")
        queue.graceEnded(1, "a")
        #expect(queue.next() == nil)
        queue.graceEnded(2, "a")
        #expect(queue.next() == 3)
    }

    @Test mutating func `an interruption ends what is under way and lets the rest wait`() {
        for (id, key) in [(1, "a"), (2, "a"), (3, "b")] { queue.add(id, key) }
        _ = queue.next()
        #expect(queue.interrupt() == [1])
        #expect(queue.next() == 2)
        #expect(queue.removeWaiting() == [3])
        #expect(queue.next() == nil)
    }

    /// Random requests, replies, cancellations and graces: no reply goes to a request of another key, to one that was not
    /// written, to one that was given up, or to two.
    @Test(arguments: 1...20) mutating func `no reply is ever given to the wrong request`(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var keys: [Int: String] = [:]
        var (written, over, late) = (Set<Int>(), Set<Int>(), Set<Int>())
        for id in 1...2000 {
            let key = ["a", "b", "c"].randomElement(using: &random) ?? "a"
            switch Int.random(in: 0..<6, using: &random) {
            case 0, 1:
                keys[id] = key
                queue.add(id, key)
            case 2:
                guard let next = queue.next() else { break }
                #expect(!over.contains(next) && written.insert(next).inserted)
                let busy = written.subtracting(over).filter { keys[$0] == keys[next] }
                #expect(busy == [next])
            case 3:
                guard case .request(let to) = queue.reply(key) else { break }
                #expect(keys[to] == key && written.contains(to) && over.insert(to).inserted)
            case 4:
                guard let (given, key) = keys.filter({ !over.contains($0.key) }).randomElement(using: &random) else {
                    break
                }
                over.insert(given)
                let mayComeLate = queue.giveUp(given, key)
                #expect(mayComeLate == written.contains(given))
                if mayComeLate { late.insert(given) }
            default:
                guard let given = late.randomElement(using: &random), let key = keys[given] else { break }
                late.remove(given)
                queue.graceEnded(given, key)
            }
        }
        #expect(over.count > 100)
    }
}
