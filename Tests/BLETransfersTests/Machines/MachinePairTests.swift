import BLESimulation
import Testing

@testable import BLETransfers

@Suite struct MachinePairTests {
    static let shapes = [(0, 10, 50), (1, 10, 50), (100, 10, 50), (1000, 13, 100), (1000, 100, 7), (1000, 64, 1 << 20)]

    @Test(arguments: shapes)
    func `a file arrives, and no byte is sent twice`(_ count: Int, _ chunk: Int, _ window: Int) {
        var pair = MachinePair(.random(count), chunk: chunk, window: window)
        pair.run()
        #expect(pair.senderEnd == .finished && pair.isFinished)
        #expect(pair.stored == pair.bytes && pair.sentBytes == count)
        #expect(pair.openings == [false])
    }

    @Test(arguments: shapes)
    func `after a lost link at any step, only what was on its way is sent again`(
        _ count: Int, _ chunk: Int, _ window: Int
    ) {
        var whole = MachinePair(.random(count), chunk: chunk, window: window)
        let steps = whole.run()
        for step in 0...steps {
            var pair = MachinePair(whole.bytes, chunk: chunk, window: window)
            pair.run(steps: step)
            let (sent, stored) = (pair.sentBytes, pair.stored.count)
            pair.loseLink()
            pair.run()
            #expect(pair.senderEnd == .finished && pair.isFinished && pair.stored == pair.bytes, "step \(step)")
            #expect(pair.sentBytes - sent == count - stored, "step \(step)")
        }
    }

    @Test func `questions of both sides that cross have no more than two windows sent again`() {
        var pair = MachinePair(.random(5000), chunk: 10, window: 150)
        var rounds = 0
        while pair.senderEnd == nil, rounds < 10_000 {
            if rounds == 10 { pair.timeOut() }
            pair.round(steps: 8)
            rounds += 1
        }
        #expect(pair.senderEnd == .finished && pair.stored == pair.bytes)
        #expect(pair.sentBytes <= 5000 + 2 * 150)
    }

    @Test func `with any lost messages, a file arrives whole or the transfer ends`() {
        var finished = 0
        for seed in 0..<300 {
            var random = SeededGenerator(seed: UInt64(seed))
            var pair = MachinePair(.random(1000, seed: UInt64(seed)), chunk: 20, window: 150)
            pair.run(losing: 0.05, &random)
            #expect(pair.senderEnd != nil, "seed \(seed)")
            // Neither takes the other for one that does not follow the protocol.
            for end in [pair.senderEnd, pair.receiverEnd] {
                #expect(end != .failed(.invalidMessage) && end != .refused(.invalidMessage), "seed \(seed)")
            }
            if pair.senderEnd == .finished {
                finished += 1
                #expect(pair.stored == pair.bytes && pair.isFinished, "seed \(seed)")
            }
        }
        #expect(finished > 200)
    }

    @Test func `links that are lost at random do not keep a file from arriving`() {
        for seed in 0..<200 {
            var random = SeededGenerator(seed: UInt64(seed))
            var pair = MachinePair(.random(500, seed: UInt64(seed)), chunk: 7, window: 60)
            var links = 0
            while pair.senderEnd != .finished, links < 1000 {
                pair.loseLink()
                pair.run(steps: .random(in: 0...80, using: &random))
                links += 1
            }
            #expect(pair.stored == pair.bytes && pair.isFinished, "seed \(seed)")
        }
    }

    @Test func `a part that differs is discarded, and the file is sent from the beginning`() {
        var pair = MachinePair(.random(100), chunk: 10, window: 50)
        pair.stored = .random(40, seed: 2)
        pair.run()
        #expect(pair.senderEnd == .finished && pair.stored == pair.bytes)
        #expect(pair.openings == [false, true] && pair.sentBytes == 100)
    }

    @Test func `a file that is complete is not sent again`() {
        var pair = MachinePair(.random(100), chunk: 10, window: 50)
        pair.stored = pair.bytes
        pair.run()
        #expect(pair.senderEnd == .finished && pair.sentBytes == 0)
    }
}
