import BLEBTHome
import Testing

@Suite struct BTHomeCounterTests {
    private func orders(_ counters: [UInt32]) -> [BTHomeCounter.Order] {
        var counter = BTHomeCounter()
        return counters.map { counter.accept($0) }
    }

    @Test func `a higher counter is new, the same one repeated, and a lower one outdated`() {
        #expect(orders([1000, 1000, 1001, 1001, 5000]) == [.new, .repeated, .new, .repeated, .new])
        #expect(
            orders([5000, 4999, 1000, 100, 5000, 5001]) == [.new, .outdated, .outdated, .outdated, .repeated, .new])
    }

    @Test func `an outdated counter changes nothing`() {
        var counter = BTHomeCounter()
        #expect(counter.latest == nil)
        _ = counter.accept(5000)
        #expect(counter.accept(4000) == .outdated)
        #expect(counter.latest == 5000)
    }

    @Test(arguments: [UInt32(0), 1, 99]) func `a device may begin again with a low counter`(first: UInt32) {
        #expect(
            orders([3_000_000_000, first, first, first + 1, 2_999_999_999]) == [.new, .new, .repeated, .new, .new])
    }

    @Test func `a low counter is outdated if the device cannot have restarted`() {
        var counter = BTHomeCounter()
        #expect(counter.accept(5, mayRestart: false) == .new)
        #expect(counter.accept(4, mayRestart: false) == .outdated)
        #expect(counter.accept(6, mayRestart: false) == .new)
        #expect(counter.accept(5) == .new)
    }

    @Test func `after the highest counter follow the low ones`() {
        #expect(orders([.max - 1, .max, 0, 1, 1]) == [.new, .new, .new, .new, .repeated])
        #expect(orders([50, 40, 40, 41]) == [.new, .new, .repeated, .new])
    }
}
