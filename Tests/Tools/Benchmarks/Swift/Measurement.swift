internal import Glibc

/// What every receiver measures: whether everything came in order, and the processor time from the first value to the marker.
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

    /// Takes a value in. True at the marker, for which it has printed the result.
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

    /// Prints the result: values, complete or not, microseconds of processor time for each value, and of time that passed.
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
