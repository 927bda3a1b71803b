internal import Waiting

/// The continuous clock, with sleeps that end on an event loop's thread: a task that runs there continues without a
/// switch between threads. A sleep on Swift's own clock ends on a thread of Dispatch first.
package struct LoopClock: CallbackClock {
    package typealias Instant = ContinuousClock.Instant

    private let loop: EventLoop

    init(_ loop: EventLoop) { self.loop = loop }

    package var now: Instant { .now }
    package var minimumResolution: Duration { ContinuousClock().minimumResolution }

    /// Sleeps until a deadline. Throws `CancellationError`. The tolerance is not used.
    package func sleep(until deadline: Instant, tolerance: Duration? = nil) async throws {
        let outcome = LoopOutcome<Void>()
        let number = loop.addTimer(deadline) { outcome.deliver(.success(())) }
        defer { loop.removeTimer(number) }
        do throws(LoopError) {
            try await outcome.wait()
        } catch {
            throw CancellationError()
        }
    }

    /// Calls `work` on the loop's thread.
    package func call(after duration: Duration, _ work: @escaping @Sendable () -> Void) -> UInt64 {
        loop.addTimer(.now + duration, work)
    }

    package func cancelCall(_ number: UInt64) { loop.removeTimer(number) }
}
