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
        // (with duplicates, for only then are changes of strength reported)
        Nearby(
            central: self,
            events: discoveryEvents(
                matching: criteria && .rssi(atLeast: minimumRSSI), duplicates: true, staleAfter: staleAfter))
    }

    /// Follows a scan as a list. The list's changes are made here and not by the reader, so that a slow one cannot miss that
    /// a peripheral has gone.
    fileprivate func follow(_ events: DiscoveryEvents) -> BoundedStream<[Discovery]> {
        let follower = Outcome<Task<Void, Never>>()
        let (stream, producer) = BoundedStream.make(of: [Discovery].self, policy: .dropOldest(capacity: 1)) {
            Task { try? await follower.wait().cancel() }
        }
        let task = Task {
            var list = NearbyList()
            do throws(BLEError) {
                for try await event in events where list.take(event) { producer.yield(list.discoveries) }
                producer.finish()
            } catch {
                producer.finish(throwing: error)
            }
        }
        follower.deliver(.success(task))
        return stream
    }
}

/// The peripherals that a scan has reported and not reported lost, in the order in which they were found.
struct NearbyList {
    private(set) var discoveries: [Discovery] = []

    /// Takes an event in. True when the list is another than before.
    mutating func take(_ event: DiscoveryEvent) -> Bool {
        switch event {
        case .found(let discovery), .updated(let discovery):
            guard let index = index(of: discovery.peripheral) else {
                discoveries.append(discovery)
                return true
            }
            guard discoveries[index].advertisement != discovery.advertisement else { return false }
            discoveries[index] = discovery
            return true
        case .lost(let peripheral):
            guard let index = index(of: peripheral) else { return false }
            discoveries.remove(at: index)
            return true
        }
    }

    private func index(of peripheral: Peripheral) -> Int? {
        discoveries.firstIndex { $0.peripheral == peripheral }
    }
}

/// The peripherals that are near; see ``Central/nearby(matching:minimumRSSI:staleAfter:)``.
public struct Nearby: AsyncSequence, Sendable {
    /// What arrives: the list as it is then.
    public typealias Element = [Discovery]
    /// Why iterating can fail.
    public typealias Failure = BLEError

    fileprivate let central: Central
    fileprivate let events: DiscoveryEvents

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(nearby: self) }

    /// Reads the lists.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let nearby: Nearby
        private var lists: BoundedStream<[Discovery]>.Iterator?

        fileprivate init(nearby: Nearby) { self.nearby = nearby }

        /// The next list.
        public mutating func next() async throws(BLEError) -> [Discovery]? {
            try await next(isolation: #isolation)
        }

        /// The next list, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> [Discovery]? {
            if Task.isCancelled { throw .cancelled }
            if lists == nil { lists = await nearby.central.follow(nearby.events).makeAsyncIterator() }
            return try await lists?.next(isolation: actor)
        }
    }
}
