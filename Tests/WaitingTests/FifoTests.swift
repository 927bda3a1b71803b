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

    @Test(arguments: [0, 1, 5, 40]) func `elements can be put back in front of the others`(count: Int) {
        var fifo = Fifo<Int>()
        for number in 0..<50 { fifo.append(number) }
        for _ in 0..<20 { _ = fifo.popFirst() }
        fifo.prepend(Array((20 - count)..<20))
        for number in (20 - count)..<50 { #expect(fifo.popFirst() == number) }
        #expect(fifo.isEmpty)
    }
}
