internal import Logging
internal import Synchronization

/// A discovered peripheral, with its advertisement.
public struct Discovery: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    /// The data that it advertises.
    public let advertisement: Advertisement
}

/// An event of a scan.
public enum DiscoveryEvent: Sendable {
    /// A peripheral was found that this scan had not reported before, or had reported lost.
    case found(Discovery)
    /// A reported peripheral sent a changed advertisement or, with duplicates, any advertisement.
    case updated(Discovery)
    /// A reported peripheral was silent for the staleness interval, or was removed by the system.
    case lost(Peripheral)
}

/// The scans of a central, and the filter that its backend runs with.
struct Scanning {
    /// One scan. A class, so that its tracker is never copied.
    final class Scan: Sendable {
        let criteria: DiscoveryCriteria
        let tracker: Mutex<DiscoveryTracker>
        let producer: BoundedStream<DiscoveryEvent>.Producer
        let staleness: Task<Void, Never>?
        /// Delivered when the backend runs a scan for this one.
        let started: Outcome<Void>

        init(
            tracker: DiscoveryTracker, producer: BoundedStream<DiscoveryEvent>.Producer,
            staleness: Task<Void, Never>?, started: Outcome<Void>
        ) {
            criteria = tracker.criteria
            self.tracker = Mutex(tracker)
            (self.producer, self.staleness, self.started) = (producer, staleness, started)
        }

        func hasStarted() { started.deliver(.success(())) }

        func finish(_ error: BLEError) {
            staleness?.cancel()
            started.deliver(.failure(error))
            producer.finish(throwing: error)
        }
    }

    var scans: [Int: Scan] = [:]
    /// Searches for peripherals to connect to that the system does not know. Delivered when the peripheral is found.
    var searches: [Int: (peripheral: Peripheral.ID, found: Outcome<Void>)] = [:]
    /// The filter that the backend runs with. Nil if it does not scan.
    var applied: DiscoveryFilter?
    /// The number of times that the backend has stopped scanning on its own.
    var interruptions = 0
    var reconciler: Task<Void, Never>?

    /// The filter that the backend needs to serve every scan: the union of their criteria. Nil if there is no scan.
    var wanted: DiscoveryFilter? {
        // A search for a peripheral needs all advertisements.
        let criteria = scans.values.map(\.criteria) + (searches.isEmpty ? [] : [.any])
        return criteria.isEmpty ? nil : DiscoveryFilter(uniting: criteria)
    }

    mutating func finish(_ error: BLEError) {
        let (scans, searches) = (scans.values, searches.values)
        self.scans = [:]
        self.searches = [:]
        applied = nil
        for search in searches { search.found.deliver(.failure(error)) }
        for scan in scans { scan.finish(error) }
    }
}

extension Central {
    /// The peripherals in range that meet the criteria, each reported once when it is found.
    ///
    /// Iterating starts the scan; leaving the loop stops it. Any number of scans share one scan of the radio. Keeps the
    /// newest 1024 unread discoveries.
    ///
    /// While the adapter is off or absent, or Bluetooth restarts, nothing is found. The scan resumes automatically. Use
    /// ``adapterStates()`` to inform the user.
    public nonisolated func discoveries(matching criteria: DiscoveryCriteria = .any) -> Discoveries {
        Discoveries(events: DiscoveryEvents(central: self, criteria: criteria, duplicates: false, staleAfter: nil))
    }

    /// The events of the peripherals in range that meet the criteria.
    ///
    /// Iterating starts the scan; leaving the loop stops it. Keeps the newest 1024 unread events.
    ///
    /// - Parameters:
    ///   - duplicates: whether to report every advertisement as an update, not only changed ones. A different signal
    ///     strength alone is not a change.
    ///   - staleAfter: how long a peripheral without a link may be silent before it is reported lost, at least 1 s. Nil
    ///     to never report a peripheral lost.
    public nonisolated func discoveryEvents(
        matching criteria: DiscoveryCriteria = .any, duplicates: Bool = false, staleAfter: Duration? = .seconds(8)
    ) -> DiscoveryEvents {
        DiscoveryEvents(
            central: self, criteria: criteria, duplicates: duplicates,
            staleAfter: staleAfter.map { max($0, .seconds(1)) })
    }

    /// Starts a scan, which ends with the stream.
    fileprivate func scan(_ tracker: DiscoveryTracker) async throws(BLEError) -> BoundedStream<DiscoveryEvent> {
        try checkRunning()
        let token = token()
        let (stream, producer) = BoundedStream.make(of: DiscoveryEvent.self, policy: .dropOldest(capacity: 1024)) {
            [weak self] in
            Task { await self?.endScan(token) }
        }
        let started = Outcome<Void>()
        scanning.scans[token] = Scanning.Scan(
            tracker: tracker, producer: producer, staleness: watchStaleness(of: token, tracker), started: started)
        guard adapterState == .poweredOn else { return stream }
        let deadline = deadline(configuration.operationTimeout, "starting the scan") { started.deliver(.failure($0)) }
        defer { deadline.cancel() }
        reconcile()
        try await started.wait()
        return stream
    }

    private func endScan(_ token: Int) {
        guard let scan = scanning.scans.removeValue(forKey: token) else { return }
        scan.staleness?.cancel()
        reconcile()
    }

    /// Handles a backend that has stopped scanning until the adapter is on again. Scans wait for that. Searches for a
    /// peripheral to connect to fail with the error.
    func interruptScanning(_ error: BLEError) {
        for search in scanning.searches.values { search.found.deliver(.failure(error)) }
        scanning.applied = nil
        scanning.interruptions += 1
        for scan in scanning.scans.values { scan.hasStarted() }
    }

    /// Updates the backend's scan to the filter that the scans need. One task at a time does this, until nothing is
    /// left to update.
    func reconcile() {
        guard scanning.reconciler == nil, adapterState == .poweredOn else { return }
        scanning.reconciler = Task { await self.reconcileUntilDone() }
    }

    private func reconcileUntilDone() async {
        defer { scanning.reconciler = nil }
        while scanning.applied != scanning.wanted, adapterState == .poweredOn {
            let (wanted, interruptions) = (scanning.wanted, scanning.interruptions)
            do throws(BLEError) {
                if let wanted {
                    try await backend.startDiscovery(wanted)
                } else {
                    try await backend.stopDiscovery()
                }
                scanning.applied = interruptions == scanning.interruptions ? wanted : nil
            } catch {
                logger.debug("scan failed", metadata: ["error": "\(error)"])
                scanning.applied = nil
                if [.poweredOff, .adapterNotFound, .bluetoothLost].contains(error.code) {
                    // Even if the adapter's state has not been reported yet, its return will be reported as a state.
                    guard (try? await configuration.clock.sleep(for: Self.scanPause)) != nil else { return }
                } else if wanted != nil {
                    scanning.finish(error)
                }
                // A failed stop has no caller to report it to.
            }
        }
        guard scanning.applied != nil else { return }
        for scan in scanning.scans.values { scan.hasStarted() }
        logger.debug("scanning")
    }

    /// The pause before retrying a scan that failed because of the adapter's state, although the adapter seems to be
    /// on.
    private static let scanPause = Duration.milliseconds(500)

    /// Starts a search for a peripheral, until ``endSearch(_:)``. The outcome is delivered when the peripheral is
    /// found.
    func beginSearch(for id: Peripheral.ID) -> (token: Int, found: Outcome<Void>) {
        let (token, found) = (token(), Outcome<Void>())
        scanning.searches[token] = (id, found)
        reconcile()
        return (token, found)
    }

    func endSearch(_ token: Int) {
        scanning.searches[token] = nil
        reconcile()
    }

    // MARK: Received advertisements

    func didReceive(_ advertisement: Advertisement, from id: Peripheral.ID) {
        for search in scanning.searches.values where search.peripheral == id { search.found.deliver(.success(())) }
        guard !scanning.scans.isEmpty else { return }
        let now = elapsed()
        for scan in scanning.scans.values {
            guard let change = scan.tracker.withLock({ $0.record(id, advertisement, now: now) }) else { continue }
            let discovery = Discovery(peripheral: peripheral(id), advertisement: advertisement)
            scan.producer.yield(change == .found ? .found(discovery) : .updated(discovery))
        }
    }

    /// Refreshes the last-seen time of a peripheral whose link has ended: it was present until now.
    func refreshLastSeen(_ id: Peripheral.ID) {
        let now = elapsed()
        for scan in scanning.scans.values { scan.tracker.withLock { $0.sign(of: id, now: now) } }
    }

    func didRemove(_ id: Peripheral.ID) {
        for scan in scanning.scans.values {
            let isLost = scan.tracker.withLock { $0.removed(id) && $0.staleAfter != nil }
            if isLost { scan.producer.yield(.lost(peripheral(id))) }
        }
    }

    /// Checks for silent peripherals every second, which is the precision of `staleAfter`.
    private func watchStaleness(of token: Int, _ tracker: DiscoveryTracker) -> Task<Void, Never>? {
        guard tracker.staleAfter != nil else { return nil }
        return Task { [weak self, clock = configuration.clock] in
            while (try? await clock.sleep(for: .seconds(1))) != nil {
                guard let self else { return }
                await reportLost(token)
            }
        }
    }

    private func reportLost(_ token: Int) {
        guard let scan = scanning.scans[token] else { return }
        let now = elapsed()
        let lost = scan.tracker.withLock { $0.lost(now: now) { connectionState($0) == .connected } }
        for id in lost { scan.producer.yield(.lost(peripheral(id))) }
    }
}

/// The events of a scan; see ``Central/discoveryEvents(matching:duplicates:staleAfter:)``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = DiscoveryEvent
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let central: Central
    fileprivate let criteria: DiscoveryCriteria
    fileprivate let duplicates: Bool
    fileprivate let staleAfter: Duration?

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(scan: self) }

    /// An iterator over a scan.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let scan: DiscoveryEvents
        private var events: BoundedStream<DiscoveryEvent>.Iterator?

        fileprivate init(scan: DiscoveryEvents) { self.scan = scan }

        /// Returns the next event.
        public mutating func next() async throws(BLEError) -> DiscoveryEvent? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> DiscoveryEvent? {
            if events == nil {
                let tracker = DiscoveryTracker(
                    criteria: scan.criteria, duplicates: scan.duplicates, staleAfter: scan.staleAfter)
                events = try await scan.central.scan(tracker).makeAsyncIterator()
            }
            return try await events?.next(isolation: actor)
        }
    }
}

/// The peripherals that a scan finds; see ``Central/discoveries(matching:)``.
public struct Discoveries: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = Discovery
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let events: DiscoveryEvents

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

    /// An iterator over a scan.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: DiscoveryEvents.Iterator

        /// Returns the next peripheral found.
        public mutating func next() async throws(BLEError) -> Discovery? {
            try await next(isolation: #isolation)
        }

        /// Returns the next peripheral found, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Discovery? {
            while let event = try await events.next(isolation: actor) {
                if case .found(let discovery) = event { return discovery }
            }
            return nil
        }
    }
}
