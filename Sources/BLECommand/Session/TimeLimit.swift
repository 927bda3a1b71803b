import ArgumentParser
import BLE
import BLERecording
import Synchronization

/// How long a command that shows values as they arrive runs.
struct TimeLimit: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "End after this time with status 0, whatever has happened by then: while connecting, too.",
            valueName: "seconds"))
    var duration: Double?

    func validate() throws {
        guard let duration else { return }
        guard duration > 0, duration <= 31_536_000 else {
            throw ValidationError("--duration is a number of seconds above 0, at most a year.")
        }
    }

    /// The time after which the command ends. Nil for no limit.
    var limit: Duration? { duration.map { .milliseconds(Int64($0 * 1000)) } }

    /// Returns how long to wait for a value if a number of them is wanted. Nil to wait without a limit: until the link
    /// ends, until the duration is over, or for a peripheral that is to come back.
    func silence(count: Int?, _ maintain: MaintainOption, _ options: CommonOptions) -> Duration? {
        count == nil || limit != nil || maintain.maintain ? nil : options.timeoutDuration
    }

    /// Does the work until it has ended, or until the time is over. The work has ended in both cases.
    static func within(_ limit: Duration?, _ work: @escaping @Sendable () async throws -> Void) async throws {
        guard let limit else { return try await work() }
        try await withThrowingTaskGroup(of: Bool.self) { group in
            group.addTask {
                try await work()
                return true
            }
            group.addTask {
                try await CommandClock.sleep(for: limit)
                return false
            }
            defer { group.cancelAll() }
            guard try await group.next() == false else { return }
            group.cancelAll()
            do {
                _ = try await group.next()
            } catch let error as OutputClosed {
                throw error
            } catch let error as BLEError where error.code == .recordingFailed {
                throw error
            } catch {
                // The work was cancelled, and may have ended in any way.
            }
        }
    }
}

/// The number of values that a command has received.
final class ReceivedValues: Sendable {
    private let received = Mutex(0)

    var count: Int { received.withLock { $0 } }

    /// Counts a value, and returns the number so far.
    func add() -> Int {
        received.withLock { count in
            count += 1
            return count
        }
    }

    /// Does the work, which counts the values. Throws `timedOut` when none comes for the given time. Nil for no limit.
    func during(
        _ limit: Duration?, of peripheral: Peripheral, wanted: Int?,
        _ work: @escaping @Sendable (ReceivedValues) async throws -> Void
    ) async throws {
        guard let limit, let wanted else { return try await work(self) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await work(self) }
            group.addTask { try await self.waitForSilence(of: peripheral, for: limit, wanted: wanted) }
            defer { group.cancelAll() }
            try await group.next()
        }
    }

    /// Throws `timedOut` when no value was received for the given time, once or more often.
    ///
    /// - Parameters:
    ///   - wanted: the number of values that are waited for.
    ///   - isCounting: whether the time before the first value counts.
    func waitForSilence(
        of peripheral: Peripheral, for limit: Duration, wanted: Int, isCounting: Bool = true
    ) async throws {
        var before = 0
        while true {
            try await CommandClock.sleep(for: limit)
            let now = count
            guard now > before || now == 0 && !isCounting else {
                throw BLEError(
                    .timedOut, "no value came for \(limit); \(now) of \(wanted) were received",
                    peripheral: peripheral.id,
                    remedy: "Use a longer --timeout if it sends less often, or end with --duration.")
            }
            before = now
        }
    }
}
