internal import Logging
internal import Synchronization

/// A peripheral that was heard, and what it said.
public struct Discovery: Sendable {
    /// The peripheral.
    public let peripheral: Peripheral
    /// What it said.
    public let advertisement: Advertisement
}

/// What a scan reports.
public enum DiscoveryEvent: Sendable {
    /// A peripheral is heard that this scan has not reported, or that it has reported lost.
    case found(Discovery)
    /// A reported peripheral says something new; with duplicates, says anything.
    case updated(Discovery)
    /// A reported peripheral has been silent for the staleness interval, or was forgotten by the system.
    case lost(Peripheral)
}

/// The scans of a central, and what its backend has been told of them.
struct Scanning {
    /// One scan. An object, so that what it has seen is never copied.
    final class Scan: Sendable {
        let criteria: DiscoveryCriteria
        let tracker: Mutex<DiscoveryTracker>
        let producer: BoundedStream<DiscoveryEvent>.Producer
        let staleness: Task<Void, Never>?
        /// Delivered when the backend scans for this scan.
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
    /// Peripherals that are to be connected to and are not known to the system; delivered when they are heard.
    var searches: [Int: (peripheral: Peripheral.ID, found: Outcome<Void>)] = [:]
    /// The filter that the backend runs with; nil when it does not scan.
    var applied: DiscoveryFilter?
    /// How often the backend has stopped scanning by itself.
    var interruptions = 0
    var reconciler: Task<Void, Never>?

    /// What the backend has to look for so that every scan gets its own: the union. Nil when there is no scan.
    var wanted: DiscoveryFilter? {
        // A search for a peripheral needs all.
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
    /// The peripherals in range that meet the criteria, each once, as they are found.
    ///
    /// Iterating starts the scan, leaving the loop stops it. Any number of scans share one on the radio. The newest 1024
    /// that are not read yet are kept.
    ///
    /// While the adapter is off or gone, and while Bluetooth is being restarted, nothing is heard; the scan goes on by itself
    /// when it can. See ``adapterStates()`` to tell a person.
    public nonisolated func discoveries(matching criteria: DiscoveryCriteria = .any) -> Discoveries {
        Discoveries(events: DiscoveryEvents(central: self, criteria: criteria, duplicates: false, staleAfter: nil))
    }

    /// Everything that happens to the peripherals in range that meet the criteria.
    ///
    /// Iterating starts the scan, leaving the loop stops it. The newest 1024 events that are not read yet are kept.
    ///
    /// - Parameters:
    ///   - duplicates: report every advertisement as an update, not only those that say something new. Signal strength
    ///     alone is nothing new.
    ///   - staleAfter: how long a peripheral without a link may be silent before it is lost; nil for ever. At least 1 s.
    public nonisolated func discoveryEvents(
        matching criteria: DiscoveryCriteria = .any, duplicates: Bool = false, staleAfter: Duration? = .seconds(8)
    ) -> DiscoveryEvents {
        DiscoveryEvents(
            central: self, criteria: criteria, duplicates: duplicates,
            staleAfter: staleAfter.map { max($0, .seconds(1)) })
    }

    /// Starts a scan; it ends with the stream.
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

    /// The backend no longer scans, and does not until the adapter is on again. Scans wait for that; who searches for a
    /// peripheral to connect to hears why not.
    func interruptScanning(_ error: BLEError) {
        for search in scanning.searches.values { search.found.deliver(.failure(error)) }
        scanning.applied = nil
        scanning.interruptions += 1
        for scan in scanning.scans.values { scan.hasStarted() }
    }

    /// Brings the backend to what the scans want. One task does so at a time, until there is nothing left to do.
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
                    // Whether or not the adapter's state has been heard of yet, it comes back as a state.
                    guard (try? await configuration.clock.sleep(for: Self.scanPause)) != nil else { return }
                } else if wanted != nil {
                    scanning.finish(error)
                }
                // A stop that fails leaves nothing that could be told to anybody.
            }
        }
        guard scanning.applied != nil else { return }
        for scan in scanning.scans.values { scan.hasStarted() }
        logger.debug("scanning")
    }

    /// How long to wait before a scan is tried again that the adapter's state has refused, although it seems to be on.
    private static let scanPause = Duration.milliseconds(500)

    /// Begins to scan for a peripheral, until ``endSearch(_:)``. The outcome is delivered when it is heard.
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

    // MARK: What is heard

    func heard(_ id: Peripheral.ID, _ advertisement: Advertisement) {
        for search in scanning.searches.values where search.peripheral == id { search.found.deliver(.success(())) }
        guard !scanning.scans.isEmpty else { return }
        let now = elapsed()
        for scan in scanning.scans.values {
            guard let change = scan.tracker.withLock({ $0.heard(id, advertisement, now: now) }) else { continue }
            let discovery = Discovery(peripheral: peripheral(id), advertisement: advertisement)
            scan.producer.yield(change == .found ? .found(discovery) : .updated(discovery))
        }
    }

    /// A peripheral's link has ended: it has been there until now.
    func seeAgain(_ id: Peripheral.ID) {
        let now = elapsed()
        for scan in scanning.scans.values { scan.tracker.withLock { $0.sign(of: id, now: now) } }
    }

    func forgotten(_ id: Peripheral.ID) {
        for scan in scanning.scans.values {
            let isLost = scan.tracker.withLock { $0.removed(id) && $0.staleAfter != nil }
            if isLost { scan.producer.yield(.lost(peripheral(id))) }
        }
    }

    /// Looks for silent peripherals every second, the precision of `staleAfter`.
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

/// A scan's events; see ``Central/discoveryEvents(matching:duplicates:staleAfter:)``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// What arrives.
    public typealias Element = DiscoveryEvent
    /// Why iterating can fail.
    public typealias Failure = BLEError

    fileprivate let central: Central
    fileprivate let criteria: DiscoveryCriteria
    fileprivate let duplicates: Bool
    fileprivate let staleAfter: Duration?

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(scan: self) }

    /// Reads a scan.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let scan: DiscoveryEvents
        private var events: BoundedStream<DiscoveryEvent>.Iterator?

        fileprivate init(scan: DiscoveryEvents) { self.scan = scan }

        /// The next event.
        public mutating func next() async throws(BLEError) -> DiscoveryEvent? {
            try await next(isolation: #isolation)
        }

        /// The next event, without leaving the caller's actor.
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
    /// What arrives.
    public typealias Element = Discovery
    /// Why iterating can fail.
    public typealias Failure = BLEError

    fileprivate let events: DiscoveryEvents

    /// An iterator; its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

    /// Reads a scan.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var events: DiscoveryEvents.Iterator

        /// The next peripheral found.
        public mutating func next() async throws(BLEError) -> Discovery? {
            try await next(isolation: #isolation)
        }

        /// The next peripheral found, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Discovery? {
            while let event = try await events.next(isolation: actor) {
                if case .found(let discovery) = event { return discovery }
            }
            return nil
        }
    }
}
