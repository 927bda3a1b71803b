import Observation

/// Returns once `holds` is true. It is evaluated again after each change of a property that it reads.
@MainActor func observed(_ holds: () -> Bool) async throws {
    while true {
        let (changes, change) = AsyncStream.makeStream(of: Void.self)
        if withObservationTracking(holds, onChange: { change.yield() }) { return }
        for await _ in changes { break }
        try Task.checkCancellation()
    }
}
