internal import Synchronization

extension Central {
    /// The peripherals nearby, as a list that is kept up to date.
    ///
    /// ```swift
    /// for try await list in central.nearby(matching: .service(.heartRate)) { show(list.discoveries) }
    /// ```
    ///
    /// Each peripheral is in the list once, in the order of discovery, with its latest advertisement. Every change,
    /// including of signal strength, produces a new list; a slow reader receives only the newest. Iterating starts the
    /// scan; leaving the loop stops it. It throws the same errors as
    /// ``discoveryEvents(matching:duplicates:staleAfter:overflow:tolerance:)``.
    ///
    /// - Parameters:
    ///   - minimumRSSI: the weakest signal strength that counts as near, in dBm, inclusive. Weaker advertisements are
    ///     ignored. Nil to include all peripherals, even those of unknown strength.
    ///   - staleAfter: how long a peripheral without a link may be silent before it leaves the list. At least 1 s.
    public nonisolated func nearby(
        matching criteria: DiscoveryCriteria = .any, minimumRSSI: Int? = -80, staleAfter: Duration = .seconds(8)
    ) -> Nearby {
        Nearby(
            central: self, criteria: minimumRSSI.map { criteria && .rssi(atLeast: $0) } ?? criteria,
            staleAfter: max(staleAfter, .seconds(1)))
    }

    /// The tolerance of the scan behind a list. A delay of 20 ms is not visible.
    private static let nearbyTolerance = Duration.milliseconds(20)

    /// Applies the events of a scan to a list. The list is changed here, where the events occur, so that the loss of a
    /// peripheral is not missed, even with a slow reader or a busy machine.
    fileprivate func follow(_ nearby: Nearby) async throws(BLEError) -> Nearby.Following {
        try checkRunning()
        let token = token()
        let (changes, producer) = BoundedStream.make(of: Void.self, policy: .dropOldest(capacity: 1)) { [weak self] in
            Task { await self?.endScan(token) }
        }
        let list = SharedNearbyList()
        // With duplicates, because changes of signal strength are not reported otherwise.
        let tracker = DiscoveryTracker(criteria: nearby.criteria, duplicates: true, staleAfter: nearby.staleAfter)
        try await scan(
            tracker, token,
            into: Scanning.Sink { event in
                if list.take(event) { producer.yield(()) }
            } finish: {
                producer.finish(throwing: $0)
            }, tolerance: Self.nearbyTolerance)
        return Nearby.Following(list: list, changes: changes)
    }
}

/// A list that a scan changes and a reader reads.
final class SharedNearbyList: Sendable {
    private let list = Mutex(NearbyTracker())

    var current: NearbyList { list.withLock { NearbyList($0.discoveries) } }

    func take(_ event: DiscoveryEvent) -> Bool { list.withLock { $0.take(event) } }
}

/// The peripherals nearby; see ``Central/nearby(matching:minimumRSSI:staleAfter:)``.
public struct Nearby: AsyncSequence, Sendable {
    /// The type of element: the list at that time.
    public typealias Element = NearbyList
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let central: Central
    fileprivate let criteria: DiscoveryCriteria
    fileprivate let staleAfter: Duration

    /// A running scan, as a list.
    fileprivate struct Following: Sendable {
        let list: SharedNearbyList
        /// An element for each change of the list; unread elements are combined.
        let changes: BoundedStream<Void>
    }

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(nearby: self) }

    /// An iterator over the lists.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let nearby: Nearby
        private var list: SharedNearbyList?
        private var changes: BoundedStream<Void>.Iterator?

        fileprivate init(nearby: Nearby) { self.nearby = nearby }

        /// Returns the next list.
        public mutating func next() async throws(BLEError) -> NearbyList? {
            try await next(isolation: #isolation)
        }

        /// Returns the next list, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> NearbyList? {
            if Task.isCancelled { throw .cancelled }
            if list == nil {
                let following = try await nearby.central.follow(nearby)
                (list, changes) = (following.list, following.changes.makeAsyncIterator())
            }
            do throws(BLEError) {
                return try await changes?.next(isolation: actor).flatMap { list?.current }
            } catch {
                throw error.isCancellation ? await nearby.central.explained(error) : error
            }
        }
    }
}
