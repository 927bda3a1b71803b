internal import Synchronization

/// A scan whose events change a value, of which a reader gets the newest.
///
/// The value is changed where the events occur, so that none is missed, even with a slow reader or a busy machine.
struct FollowedScan<Value: Sendable>: Sendable {
    let central: Central
    let criteria: DiscoveryCriteria
    let staleAfter: Duration
    /// The value before the first event.
    let initial: Value
    /// Applies an event. Returns whether it has changed the value.
    let apply: @Sendable (inout Value, DiscoveryEvent) -> Bool

    /// A running scan.
    struct Running: Sendable {
        let content: SharedContent
        /// An element for each change of the value; unread elements are combined.
        let changes: BoundedStream<Void>
    }

    /// A value that a scan changes and a reader reads.
    final class SharedContent: Sendable {
        let value: Mutex<Value>

        init(_ value: Value) { self.value = Mutex(value) }
    }

    func makeAsyncIterator() -> Iterator { Iterator(scan: self) }

    /// An iterator over the values.
    struct Iterator {
        private let scan: FollowedScan
        private var content: SharedContent?
        private var changes: BoundedStream<Void>.Iterator?

        init(scan: FollowedScan) { self.scan = scan }

        /// Starts the scan with the first call, and returns the next value.
        mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Value? {
            if Task.isCancelled { throw .cancelled }
            if content == nil {
                let running = try await scan.central.follow(scan)
                (content, changes) = (running.content, running.changes.makeAsyncIterator())
            }
            do throws(BLEError) {
                guard try await changes?.next(isolation: actor) != nil else { return nil }
                return content?.value.withLock { $0 }
            } catch {
                throw error.isCancellation ? await scan.central.explained(error) : error
            }
        }
    }
}

extension Central {
    /// The tolerance of a scan for a list. A delay of 20 ms is not visible.
    private static let listTolerance = Duration.milliseconds(20)

    fileprivate func follow<Value>(
        _ followed: FollowedScan<Value>
    ) async throws(BLEError) -> FollowedScan<Value>.Running {
        try checkRunning()
        let token = token()
        let (changes, producer) = BoundedStream.make(of: Void.self, policy: .dropOldest(capacity: 1)) { [weak self] in
            Task { await self?.endScan(token) }
        }
        let content = FollowedScan<Value>.SharedContent(followed.initial)
        // With duplicates, because changes of signal strength, and values that are sent again, are not reported
        // otherwise.
        let tracker = DiscoveryTracker(criteria: followed.criteria, duplicates: true, staleAfter: followed.staleAfter)
        try await scan(
            tracker, token,
            into: Scanning.Sink { event in
                if content.value.withLock({ followed.apply(&$0, event) }) { producer.yield(()) }
            } finish: {
                producer.finish(throwing: $0)
            }, tolerance: Self.listTolerance)
        return FollowedScan<Value>.Running(content: content, changes: changes)
    }
}
