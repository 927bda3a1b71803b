/// Runs `body` and cancels it when it is not done within `duration`, which covers everything inside: waiting for the adapter,
/// connecting, discovering, operations, streams.
///
/// Throws `timedOut` then; otherwise what `body` throws. Returns once `body` has ended, which after its cancellation every wait of
/// this framework does at once.
///
/// ```swift
/// let level = try await withDeadline(.seconds(5)) { try await peripheral.read(.batteryLevel) }
/// ```
///
/// - Parameter clock: measures the time; see also ``Central/withDeadline(_:_:)``, which takes the central's.
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
        // A timer that is cancelled with the caller must not hide what the body makes of that.
        while let result = await group.nextResult() {
            switch result {
            case .success(let value?): return value
            case .success(nil): throw BLEError(.timedOut, "it was not done within \(duration)")
            case .failure(is CancellationError) where Task.isCancelled: continue
            case .failure(let error): throw error
            }
        }
        throw BLEError.cancelled
    }
}

extension Central {
    /// Runs `body` under a deadline that is measured by the central's clock; see ``withDeadline(_:clock:_:)``.
    public nonisolated func withDeadline<Value: Sendable>(
        _ duration: Duration, _ body: @escaping @Sendable () async throws -> Value
    ) async throws -> Value {
        try await BLE.withDeadline(duration, clock: configuration.clock, body)
    }
}
