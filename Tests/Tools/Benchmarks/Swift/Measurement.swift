internal import Glibc

/// The measurement of every receiver: whether all values came in order, and the processor time from the first value to
/// the marker.
struct Measurement {
    var count: UInt32 = 0
    var isInOrder = true
    /// The time of each value from its sender to this code, in microseconds. Nil if it is not measured.
    var latencies: [Double]?
    private var cpuStart = 0.0
    private var wallStart = ContinuousClock.now

    /// The clock of the process that is measured: this one, or the one whose number `MEASURED` is.
    private static let clock: clockid_t = {
        guard let process = getenv("MEASURED").flatMap({ pid_t(String(cString: $0)) }) else {
            return CLOCK_PROCESS_CPUTIME_ID
        }
        var clock = CLOCK_PROCESS_CPUTIME_ID
        guard clock_getcpuclockid(process, &clock) == 0 else { fatalError("there is no process \(process)") }
        return clock
    }()

    /// User and system time of the whole process, in microseconds.
    static var cpuTime: Double { time(of: clock) }

    private static func time(of clock: clockid_t) -> Double {
        var now = timespec()
        clock_gettime(clock, &now)
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
        if latencies != nil {
            let sent = Double(UInt64(Self.uint32(value, at: 8)) | UInt64(Self.uint32(value, at: 12)) << 32) / 1e3
            latencies?.append(Self.time(of: CLOCK_MONOTONIC) - sent)
        }
        if counter != count { isInOrder = false }
        count += 1
        return false
    }

    /// Starts the clocks.
    mutating func start() { (cpuStart, wallStart) = (Self.cpuTime, .now) }

    /// Prints the result: the number of values, whether they are complete, and for each value the microseconds of
    /// processor time and of elapsed time. If latencies are measured, also what half, 99 % and 99.9 % of them do not exceed.
    func report(total: UInt32) {
        let cpu = Self.cpuTime - cpuStart
        let wall = (ContinuousClock.now - wallStart) / .microseconds(1)
        let completeness = isInOrder && count == total ? "complete" : "incomplete"
        var line = "\(count) \(completeness) \(Self.perValue(cpu, count)) \(Self.perValue(wall, count))"
        if let sorted = latencies?.sorted() {
            for part in [0.5, 0.99, 0.999] { line += " \(sorted[Int(part * Double(sorted.count - 1))])" }
        }
        print(line)
    }

    /// Two decimals.
    private static func perValue(_ time: Double, _ count: UInt32) -> Double {
        (time / Double(count) * 100).rounded() / 100
    }
}
