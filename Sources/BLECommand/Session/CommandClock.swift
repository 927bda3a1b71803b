import BLESimulation
import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#endif

/// The clock of commands and their centrals.
///
/// Tests of timeouts run the tool with `BLE_CLOCK=stdin`. The clock then stands still. Each line on standard input is a
/// number of milliseconds, by which the clock advances as soon as a task sleeps for exactly that time.
enum CommandClock {
    static let isVirtual = getenv("BLE_CLOCK").map { String(cString: $0) == "stdin" } ?? false

    static let current: any Clock<Duration> = {
        guard isVirtual else { return ContinuousClock() }
        let clock = ManualClock()
        let (lines, line) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(1000))
        DispatchQueue.global().async {
            while let text = readLine() { line.yield(text) }
            line.finish()
        }
        Task {
            for await text in lines {
                guard let milliseconds = Int(text) else {
                    fatalError("BLE_CLOCK: not a number of milliseconds: \(text)")
                }
                let duration = Duration.milliseconds(milliseconds)
                await clock.sleepers(for: duration)
                clock.advance(by: duration)
            }
        }
        return clock
    }()

    /// Returns a function that returns the time since this call, such as `1.250 s`.
    static func stopwatch() -> @Sendable () -> String {
        let elapsed = elapsed(current)
        return {
            let (seconds, attoseconds) = elapsed().components
            let milliseconds = String(attoseconds / 1_000_000_000_000_000 + 1000).dropFirst()
            return "\(seconds).\(milliseconds) s"
        }
    }

    /// Returns a function that returns the time since this call.
    static func elapsed(_ clock: some Clock<Duration>) -> @Sendable () -> Duration {
        let start = clock.now
        return { start.duration(to: clock.now) }
    }

    /// Sleeps for the given duration. Throws `CancellationError` if the task is cancelled.
    static func sleep(for duration: Duration) async throws { try await current.sleep(for: duration) }
}
