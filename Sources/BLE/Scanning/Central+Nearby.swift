internal import Synchronization

extension Central {
    /// The peripherals that are near, as a list that is kept up to date.
    ///
    /// ```swift
    /// for try await list in central.nearby(matching: .service(.heartRate)) { show(list) }
    /// ```
    ///
    /// Each peripheral is in the list once, in the order in which they were found, with what it said last. A snapshot comes
    /// with every change, signal strength included; a reader that is slow gets the newest and misses those between. Iterating
    /// starts the scan, leaving the loop stops it; it throws as ``discoveryEvents(matching:duplicates:staleAfter:)`` does.
    ///
    /// - Parameters:
    ///   - minimumRSSI: the weakest strength that counts as near, in dBm, inclusive. What is heard weaker is as good as
    ///     silent.
    ///   - staleAfter: how long a peripheral without a link may be silent before it leaves the list. At least 1 s.
    public nonisolated func nearby(
        matching criteria: DiscoveryCriteria = .any, minimumRSSI: Int = -80, staleAfter: Duration = .seconds(8)
    ) -> Nearby {
        // With duplicates, for only then are changes of strength reported.
        Nearby(
            central: self,
            events: discoveryEvents(
                matching: criteria && .rssi(atLeast: minimumRSSI), duplicates: true, staleAfter: staleAfter))
    }

    /// Follows a scan as a list. The list's changes are made here and not by the reader, so that a slow one cannot miss that
    /// a peripheral has gone.
    fileprivate func follow(_ events: DiscoveryEvents) -> Nearby.Following {
        let follower = Outcome<Task<Void, Never>>()
        let (changes, producer) = BoundedStream.make(of: Void.self, policy: .dropOldest(capacity: 1)) {
            Task { try? await follower.wait().cancel() }
        }
        let list = SharedNearbyList()
        let task = Task {
            do throws(BLEError) {
                for try await event in events where list.take(event) { producer.yield(()) }
                producer.finish()
            } catch {
                producer.finish(throwing: error)
            }
        }
        follower.deliver(.success(task))
        return Nearby.Following(list: list, changes: changes)
    }
}

/// The peripherals that a scan has reported and not reported lost, in the order in which they were found.
///
/// An event costs the same however many there are.
struct NearbyList {
    /// In order; nil where one has been lost.
    private var places: [Discovery?] = []
    private var indices: [Peripheral.ID: Int] = [:]

    /// Those that are there. Costs as much as there are.
    var discoveries: [Discovery] { places.compactMap { $0 } }

    /// Takes an event in. True when the list is another than before.
    mutating func take(_ event: DiscoveryEvent) -> Bool {
        switch event {
        case .found(let discovery), .updated(let discovery):
            guard let index = indices[discovery.peripheral.id] else {
                indices[discovery.peripheral.id] = places.count
                places.append(discovery)
                return true
            }
            guard places[index]?.advertisement != discovery.advertisement else { return false }
            places[index] = discovery
            return true
        case .lost(let peripheral):
            guard let index = indices.removeValue(forKey: peripheral.id) else { return false }
            places[index] = nil
            // Once for as many losses as there are peripherals left.
            if places.count > 2 * indices.count { close() }
            return true
        }
    }

    /// Closes the gaps.
    private mutating func close() {
        places.removeAll { $0 == nil }
        for (index, discovery) in places.enumerated() {
            if let discovery { indices[discovery.peripheral.id] = index }
        }
    }
}

/// A list that one side changes and the other looks at.
final class SharedNearbyList: Sendable {
    private let list = Mutex(NearbyList())

    var discoveries: [Discovery] { list.withLock { $0.discoveries } }

    func take(_ event: DiscoveryEvent) -> Bool { list.withLock { $0.take(event) } }
}

/// The peripherals that are near; see ``Central/nearby(matching:minimumRSSI:staleAfter:)``.
public struct Nearby: AsyncSequence, Sendable {
    /// What arrives: the list as it is then.
    public typealias Element = [Discovery]
    /// Why iterating can fail.
    public typealias Failure = BLEError

    fileprivate let central: Central
    fileprivate let events: DiscoveryEvents

    /// A scan that is under way, as a list.
    fileprivate struct Following: Sendable {
        let list: SharedNearbyList
        /// That the list has changed.
        let changes: BoundedStream<Void>
    }

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(nearby: self) }

    /// Reads the lists.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let nearby: Nearby
        private var list: SharedNearbyList?
        private var changes: BoundedStream<Void>.Iterator?

        fileprivate init(nearby: Nearby) { self.nearby = nearby }

        /// The next list.
        public mutating func next() async throws(BLEError) -> [Discovery]? {
            try await next(isolation: #isolation)
        }

        /// The next list, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> [Discovery]? {
            if Task.isCancelled { throw .cancelled }
            if list == nil {
                let following = await nearby.central.follow(nearby.events)
                (list, changes) = (following.list, following.changes.makeAsyncIterator())
            }
            guard try await changes?.next(isolation: actor) != nil else { return nil }
            return list?.discoveries
        }
    }
}
