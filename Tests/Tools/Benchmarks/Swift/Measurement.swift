internal import Glibc

/// The measurement of every receiver: whether all values came in order, and the processor time from the first value to
/// the marker.
struct Measurement {
    var count: UInt32 = 0
    var isInOrder = true
    private var cpuStart = 0.0
    private var wallStart = ContinuousClock.now

    /// User and system time of the whole process, in microseconds.
    static var cpuTime: Double {
        var now = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now)
        return Double(now.tv_sec) * 1e6 + Double(now.tv_nsec) / 1e3
    }

    static func uint32(_ bytes: [UInt8], at index: Int) -> UInt32 {
        (0..<4).reduce(0) { $0 | UInt32(bytes[index + $1]) << (8 * $1) }
    }

    /// Counts a value. Prints the result and returns true at the marker.
    mutating func take(_ value: [UInt8]) -> Bool {
        guard value.count >= 8 else { return false }
        let counter = Self.uint32(value, at: 0)
        if counter == .max {
            report(total: Self.uint32(value, at: 4))
            return true
        }
        if count == 0 { start() }
        if counter != count { isInOrder = false }
        count += 1
        return false
    }

    /// Starts the clocks.
    mutating func start() { (cpuStart, wallStart) = (Self.cpuTime, .now) }

    /// Prints the result: the number of values, whether they are complete, and for each value the microseconds of
    /// processor time and of elapsed time.
    func report(total: UInt32) {
        let cpu = Self.cpuTime - cpuStart
        let wall = (ContinuousClock.now - wallStart) / .microseconds(1)
        let completeness = isInOrder && count == total ? "complete" : "incomplete"
        print(count, completeness, Self.perValue(cpu, count), Self.perValue(wall, count))
    }

    /// Two decimals.
    private static func perValue(_ time: Double, _ count: UInt32) -> Double {
        (time / Double(count) * 100).rounded() / 100
    }
}
