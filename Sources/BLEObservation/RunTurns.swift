internal import BLE

/// Lets one run of an object take place at a time. Another begins after its end: the content is that of one run.
@MainActor final class RunTurns {
    private var isTaken = false
    private(set) var waiting: [Int: AsyncStream<Void>.Continuation] = [:]
    private var lastToken = 0

    /// Returns when no other run takes place. Throws `cancelled` if the task is cancelled.
    func begin() async throws(BLEError) {
        while isTaken {
            let (ends, end) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            lastToken += 1
            let token = lastToken
            waiting[token] = end
            for await _ in ends {}
            waiting[token] = nil
            if Task.isCancelled { throw .cancelled }
        }
        isTaken = true
    }

    /// Ends a run that has begun.
    func end() {
        isTaken = false
        for end in waiting.values { end.finish() }
    }
}
