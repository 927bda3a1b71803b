import Testing

@testable import BLEBlueZ

@Suite struct PendingReadsTests {
    @Test func `the last value before the answer is the read's`() {
        var reads = PendingReads()
        #expect(reads.hold([1], number: 1) == nil)
        #expect(reads.hold([7], number: 2) == [1])
        #expect(reads.answered([7], offset: 0) == nil)
        #expect(reads.held == nil)
    }

    @Test func `a notification that equals what is read stays`() {
        var reads = PendingReads()
        #expect(reads.hold([7], number: 1) == nil)
        #expect(reads.hold([7], number: 2) == [7])
        #expect(reads.answered([7], offset: 0) == nil)
    }

    @Test func `another value than the one read is a notification`() {
        var reads = PendingReads()
        #expect(reads.hold([1], number: 1) == nil)
        #expect(reads.answered([7], offset: 0) == [1])
        #expect(reads.answered([7], offset: 0) == nil)
    }

    @Test func `a read that fails has sent nothing`() {
        var reads = PendingReads()
        #expect(reads.hold([1], number: 1) == nil)
        #expect(reads.answered(nil, offset: 0) == [1])
    }

    @Test func `of a read at an offset the signal has the whole value`() {
        var reads = PendingReads()
        #expect(reads.hold([1, 2, 3], number: 1) == nil)
        #expect(reads.answered([2, 3], offset: 1) == nil)
        #expect(reads.hold([2, 3], number: 2) == nil)
        #expect(reads.answered([2, 3], offset: 1) == [2, 3])
        #expect(reads.hold([1], number: 3) == nil)
        #expect(reads.answered([], offset: 1) == nil)
    }

    @Test func `what no answer follows is let go, once`() {
        var reads = PendingReads()
        #expect(reads.hold([1], number: 1) == nil)
        #expect(reads.letGo(1) == [1])
        #expect(reads.letGo(1) == nil)
        #expect(reads.hold([2], number: 2) == nil)
        #expect(reads.hold([3], number: 3) == [2])
        #expect(reads.letGo(2) == nil)
        #expect(reads.answered([3], offset: 0) == nil)
        #expect(reads.letGo(3) == nil)
    }
}
