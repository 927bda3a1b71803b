/// The progress of work, which begins with the first call, and ends with the iterator. A slow reader misses progress,
/// but not the last one.
package struct ProgressIterator<Progress: Sendable> {
    /// Performs the work, and reports its progress. What the function holds lasts as long as the iteration.
    package typealias Work =
        @Sendable (_ report: @escaping @Sendable (Progress) -> Void) async throws(BLEError) -> Void

    private let work: Work
    private var base: AsyncThrowingStream<Progress, any Error>.AsyncIterator?

    package init(_ work: @escaping Work) { self.work = work }

    /// Returns the next progress, or nil at the end, without leaving the caller's actor.
    package mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Progress? {
        if Task.isCancelled { throw .cancelled }
        if base == nil { base = start().makeAsyncIterator() }
        do {
            if let progress = try await base?.next(isolation: actor) { return progress }
        } catch {
            throw error as? BLEError ?? BLEError(.failed, "the transfer failed: \(error)", cause: error)
        }
        // A stream ends without an error when its reader is cancelled.
        if Task.isCancelled { throw .cancelled }
        return nil
    }

    /// Starts the work in a task, which ends with the stream.
    private func start() -> AsyncThrowingStream<Progress, any Error> {
        let (stream, continuation) = AsyncThrowingStream.makeStream(
            of: Progress.self, bufferingPolicy: .bufferingNewest(1))
        let task = Task { [work] in
            do throws(BLEError) {
                try await work { continuation.yield($0) }
                continuation.finish()
            } catch {
                continuation.finish(throwing: error)
            }
        }
        continuation.onTermination = { _ in task.cancel() }
        return stream
    }
}
