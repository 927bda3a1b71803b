internal import BLE

/// The pauses between attempts.
struct Retry {
    /// The pause before the second attempt. Each further one is `factor` times as long, up to `longest`.
    var pause: Duration
    var factor = 1
    var longest = Duration.seconds(5)

    /// Runs `work` until it succeeds, or until its error is not worth another attempt. Throws the last error, or
    /// `cancelled` if the task is cancelled during a pause.
    ///
    /// - Parameter isWorthwhile: decides after an error whether to try again. Its second argument is the time spent in
    ///   pauses so far.
    func callAsFunction<Value>(
        clock: any Clock<Duration>, isolation: isolated (any Actor)? = #isolation,
        _ work: () async throws(BLEError) -> Value,
        while isWorthwhile: (BLEError, Duration) async throws(BLEError) -> Bool
    ) async throws(BLEError) -> Value {
        var waited = Duration.zero
        var pause = pause
        while true {
            do throws(BLEError) {
                return try await work()
            } catch {
                guard try await isWorthwhile(error, waited) else { throw error }
            }
            guard (try? await clock.sleep(for: pause)) != nil else { throw .cancelled }
            waited += pause
            pause = min(pause * factor, longest)
        }
    }
}
