internal import BLESimulation

extension SimulatedWorld {
    /// Runs `body` while time passes, a tenth of a second at a time, as long as a sleep of at most `longest` is
    /// pending.
    ///
    /// For a test with tasks that ``run(_:)`` does not reach. A longer deadline does not pass while a step waits for a
    /// processor. It takes real time: a hundredth of the simulated time.
    public func asTimePasses<Value>(
        inSleepsOfAtMost longest: Duration = .seconds(5), isolation: isolated (any Actor)? = #isolation,
        _ body: () async throws -> Value
    ) async rethrows -> Value {
        let moving = Task { [clock] in
            while !Task.isCancelled {
                if let remaining = clock.remaining(ofSleepsUpTo: longest) {
                    clock.advance(by: min(remaining, .milliseconds(100)))
                }
                // Tasks that wait for a processor get one.
                try? await Task.sleep(for: .milliseconds(1))
            }
        }
        do {
            let value = try await body()
            await moving.end()
            return value
        } catch {
            await moving.end()
            throw error
        }
    }
}

extension Task where Success == Void, Failure == Never {
    /// Returns when the task has ended, after which the clock stands still.
    fileprivate func end() async {
        cancel()
        await value
    }
}
