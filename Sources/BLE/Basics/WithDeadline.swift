/// Runs `body` and cancels it if it has not finished within `duration`.
///
/// The deadline covers everything that `body` does: waiting for the adapter, connecting, discovering, operations,
/// streams. Throws `timedOut` when the deadline passes, otherwise the errors of `body`. Returns when `body` has ended;
/// after a cancellation, every wait of this framework ends immediately. If `body` waited for the adapter, for Bluetooth
/// or for an advertisement of a peripheral, and throws the error of that wait, ``BLEError/cause`` is the obstacle.
///
/// ```swift
/// let level = try await withDeadline(.seconds(5)) { try await peripheral.read(.batteryLevel) }
/// ```
///
/// - Parameter clock: measures the time. ``Central/withDeadline(_:_:)`` uses the central's clock.
public func withDeadline<Value: Sendable>(
    _ duration: Duration, clock: any Clock<Duration> = ContinuousClock(),
    _ body: @escaping @Sendable () async throws -> Value
) async throws -> Value {
    try await withThrowingTaskGroup(of: Value?.self) { group in
        group.addTask { try await body() }
        group.addTask {
            try await clock.sleep(for: duration)
            return nil
        }
        defer { group.cancelAll() }
        // The timer is cancelled along with the caller. Its error must not hide the result of the body.
        while let result = await group.nextResult() {
            switch result {
            case .success(let value?): return value
            case .success(nil):
                group.cancelAll()
                var obstacle: BLEError?
                // The error of a cancelled wait contains the obstacle.
                if case .failure(let error as BLEError)? = await group.nextResult(), error.isCancellation {
                    obstacle = error.cause as? BLEError
                }
                throw BLEError(.timedOut, "the deadline of \(duration) passed").waiting(for: obstacle)
            case .failure(is CancellationError) where Task.isCancelled: continue
            case .failure(let error): throw error
            }
        }
        throw BLEError.cancelled
    }
}
