import Testing
import Waiting

@Suite struct FifoTests {
    @Test func `a queue of any length is first in, first out`() {
        var fifo = Fifo<Int>()
        var (last, next) = (0, 0)
        for round in 0..<1000 {
            for _ in 0..<(round % 7) {
                fifo.append(last)
                last += 1
            }
            for _ in 0..<(round % 5) {
                guard let number = fifo.popFirst() else { break }
                #expect(number == next)
                next += 1
            }
        }
        while let number = fifo.popFirst() {
            #expect(number == next)
            next += 1
        }
        #expect(next == last && fifo.isEmpty)
    }
}
