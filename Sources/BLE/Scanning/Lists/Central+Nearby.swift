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
            scan: FollowedScan(
                central: self, criteria: minimumRSSI.map { criteria && .rssi(atLeast: $0) } ?? criteria,
                staleAfter: max(staleAfter, .seconds(1)), initial: NearbyTracker()
            ) { $0.take($1) })
    }
}

/// The peripherals nearby; see ``Central/nearby(matching:minimumRSSI:staleAfter:)``.
public struct Nearby: AsyncSequence, Sendable {
    /// The type of element: the list at that time.
    public typealias Element = NearbyList
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let scan: FollowedScan<NearbyTracker>

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(base: scan.makeAsyncIterator()) }

    /// An iterator over the lists.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var base: FollowedScan<NearbyTracker>.Iterator

        /// Returns the next list.
        public mutating func next() async throws(BLEError) -> NearbyList? {
            try await next(isolation: #isolation)
        }

        /// Returns the next list, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> NearbyList? {
            try await base.next(isolation: actor).map { NearbyList($0.discoveries) }
        }
    }
}
