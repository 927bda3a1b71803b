internal import Synchronization
internal import Waiting

/// The scans and searches of a central, and the filter that its backend runs with.
///
/// The backend runs one scan, whose filter serves all scans and searches. One task at a time updates the backend's
/// scan, and gets each step from ``nextChange()``.
struct Scanning {
    /// One scan. A class, so that its tracker is never copied.
    final class Scan: Sendable {
        let criteria: DiscoveryCriteria
        let tolerance: Duration
        /// Whether the scan waits while the adapter is off or absent. If not, it ends.
        let waits: Bool
        private let tracker: Mutex<DiscoveryTracker>
        private let sink: Sink
        /// The obstacles that the scan has reported since the backend last scanned.
        private let reported = Mutex(ToldReasons())
        private let staleness: Task<Void, Never>?
        /// Delivered when the backend runs a scan for this one.
        let started = Outcome<Void>()

        init(
            _ tracker: DiscoveryTracker, _ sink: Sink, tolerance: Duration = .zero, waits: Bool = true,
            staleness: Task<Void, Never>? = nil
        ) {
            criteria = tracker.criteria
            // Delayed events must not make a peripheral look silent.
            self.tolerance = min(
                tolerance, tracker.staleAfter.map { $0 / 4 } ?? tolerance,
                tracker.learnsIntervals ? Self.learningTolerance : tolerance)
            self.tracker = Mutex(tracker)
            (self.sink, self.staleness, self.waits) = (sink, staleness, waits)
        }

        /// The longest tolerance of a scan that learns intervals, which are those of what arrives together.
        private static let learningTolerance = Duration.milliseconds(500)

        /// The number of peripherals that are being tracked.
        var trackedCount: Int { tracker.withLock(\.count) }

        fileprivate func didReceive(
            _ advertisement: Advertisement, from id: Peripheral.ID, _ identity: String?, now: Duration,
            peripheral: (Peripheral.ID) -> Peripheral
        ) {
            let change = tracker.withLock { $0.record(id, advertisement, identity: identity, now: now) }
            guard let change else { return }
            let discovery = Discovery(peripheral: peripheral(id), advertisement: advertisement, identity: identity)
            sink.yield(change == .found ? .found(discovery) : .updated(discovery))
        }

        /// Whether the scan has found a peripheral, and not lost it.
        func hasFound(_ id: Peripheral.ID) -> Bool { tracker.withLock { $0.hasSeen(id) } }

        /// Reports a peripheral that has a link, and therefore does not advertise.
        func didFind(_ discovery: Discovery, now: Duration) {
            didReceive(discovery.advertisement, from: discovery.id, discovery.identity, now: now) { _ in
                discovery.peripheral
            }
        }

        fileprivate func refreshLastSeen(_ id: Peripheral.ID, now: Duration) {
            tracker.withLock { $0.refreshLastSeen(id, now: now) }
        }

        fileprivate func didRemove(_ peripheral: Peripheral) {
            let isLost = tracker.withLock { $0.removed(peripheral.id) && $0.staleAfter != nil }
            if isLost { sink.yield(.lost(peripheral)) }
        }

        /// Reports the peripherals that have been silent for too long.
        func reportStale(
            now: Duration, isConnected: (Peripheral.ID) -> Bool, peripheral: (Peripheral.ID) -> Peripheral
        ) {
            let stale = tracker.withLock { $0.removeStale(now: now, isConnected: isConnected) }
            for id in stale { sink.yield(.lost(peripheral(id))) }
        }

        /// Reports that nothing can be found at present, unless that was reported before. A waiting scan counts as
        /// started.
        ///
        /// - Parameter hasChanged: whether former reasons but the last one are reported again.
        func wait(for obstacle: BLEError, hasChanged: Bool = false) {
            let isNew = reported.withLock { reported in
                if hasChanged { reported.change() }
                return reported.tell(obstacle)
            }
            if isNew {
                tracker.withLock { $0.interrupt() }
                sink.yield(.waiting(obstacle))
            }
            hasStarted()
        }

        /// Records that the backend scans. Returns whether the scan has waited for it.
        fileprivate func resume() -> Bool {
            reported.withLock { $0.clear() }
        }

        fileprivate func hasStarted() { started.deliver(.success(())) }

        /// Ends the scan. Its stream throws the error if it is still read.
        func finish(_ error: BLEError) {
            staleness?.cancel()
            started.deliver(.failure(error))
            sink.finish(error)
        }

        fileprivate func cancel() { staleness?.cancel() }
    }

    /// The receiver of the events of a scan, on the central's executor, in order.
    struct Sink: Sendable {
        let yield: @Sendable (DiscoveryEvent) -> Void
        /// Called once, when the scan has ended.
        let finish: @Sendable (BLEError) -> Void

        init(
            yield: @escaping @Sendable (DiscoveryEvent) -> Void, finish: @escaping @Sendable (BLEError) -> Void
        ) {
            (self.yield, self.finish) = (yield, finish)
        }

        /// The sink of a stream.
        init(_ producer: BoundedStream<DiscoveryEvent>.Producer) {
            self.init(yield: producer.yield, finish: { producer.finish(throwing: $0) })
        }
    }

    /// A change of the backend's scan.
    enum Change: Equatable {
        case start(DiscoveryFilter)
        case stop
    }

    /// What receives advertisements. Apart from the rest, because it is copied for each advertisement.
    struct Receivers {
        fileprivate var scans: [Int: Scan] = [:]
        /// The searches for peripherals that the system does not know, by peripheral. Delivered when the peripheral is
        /// found.
        fileprivate var searches: [Peripheral.ID: [Int: Outcome<Void>]] = [:]

        /// Reports an advertisement to the scans whose criteria it meets. Makes a peripheral and reads the clock only
        /// if necessary, because most advertisements do not change anything.
        func didReceive(
            _ advertisement: Advertisement, from id: Peripheral.ID, _ identity: String? = nil, now: () -> Duration,
            peripheral: (Peripheral.ID) -> Peripheral
        ) {
            if !searches.isEmpty {
                for found in (searches[id] ?? [:]).values { found.deliver(.success(())) }
            }
            guard !scans.isEmpty else { return }
            let now = now()
            for scan in scans.values {
                scan.didReceive(advertisement, from: id, identity, now: now, peripheral: peripheral)
            }
        }
    }

    private(set) var receivers = Receivers()
    /// The filter that the backend runs with. Nil if it does not scan.
    private var applied: DiscoveryFilter? {
        didSet {
            if applied == nil { obstacle = nil }
            publish()
        }
    }
    /// Why the backend's scan receives nothing at the moment. Nil if it does, or if the backend does not scan.
    private(set) var obstacle: BLEError? {
        didSet { publish() }
    }
    /// The last state that was published.
    private var wasRunning = false
    private var observers = Observers<Bool>()
    /// Whether the backend may still scan although the last change failed.
    private var mayBeScanning = false
    /// The number of times the backend has stopped scanning on its own.
    private var interruptions = 0
    private var isChanging = false

    private let didChange: @Sendable (_ isRunning: Bool) -> Void

    /// - Parameter didChange: called when ``isRunning`` has changed.
    init(didChange: @escaping @Sendable (_ isRunning: Bool) -> Void = { _ in }) { self.didChange = didChange }

    // MARK: Scans and searches

    mutating func add(_ scan: Scan, _ token: Int) { receivers.scans[token] = scan }

    /// Ends a scan that is no longer read.
    mutating func remove(_ token: Int) { receivers.scans.removeValue(forKey: token)?.cancel() }

    func scan(_ token: Int) -> Scan? { receivers.scans[token] }

    /// The scans that have not found a peripheral.
    func scans(without id: Peripheral.ID) -> [Scan] { receivers.scans.values.filter { !$0.hasFound(id) } }

    /// Whether the backend scans.
    var isRunning: Bool { applied != nil && obstacle == nil }

    private mutating func publish() {
        guard isRunning != wasRunning else { return }
        wasRunning = isRunning
        observers.yield(isRunning)
        didChange(isRunning)
    }

    /// Adds a reader of ``isRunning``.
    mutating func states(_ left: @escaping @Sendable (_ token: Int) -> Void) -> BoundedStream<Bool> {
        observers.add(capacity: 16, first: isRunning, left)
    }

    mutating func removeObserver(_ token: Int) { observers.remove(token) }

    /// Ends all scans and searches, and the streams of the scanning state.
    mutating func shutDown() {
        finish(.shutDown)
        observers.finish(.shutDown)
    }

    var trackedCount: Int { receivers.scans.values.reduce(0) { $0 + $1.trackedCount } }

    /// Starts to search for a peripheral, until ``endSearch(_:for:)``.
    mutating func beginSearch(_ token: Int, for id: Peripheral.ID) -> Outcome<Void> {
        let found = Outcome<Void>()
        receivers.searches[id, default: [:]][token] = found
        return found
    }

    mutating func endSearch(_ token: Int, for id: Peripheral.ID) {
        receivers.searches[id]?[token] = nil
        if receivers.searches[id]?.isEmpty == true { receivers.searches[id] = nil }
    }

    func isSearching(_ id: Peripheral.ID) -> Bool { receivers.searches[id] != nil }

    /// Ends all scans and searches.
    mutating func finish(_ error: BLEError) {
        let (ended, unfound) = (receivers.scans.values, receivers.searches.values)
        receivers.scans = [:]
        receivers.searches = [:]
        applied = nil
        for found in unfound.flatMap(\.values) { found.deliver(.failure(error)) }
        for scan in ended { scan.finish(error) }
    }

    // MARK: The backend's scan

    /// The filter that the backend needs to serve every scan: the union of their criteria. Nil if there is no scan.
    var wanted: DiscoveryFilter? {
        // A search for a peripheral needs all advertisements.
        let criteria = receivers.scans.values.map(\.criteria) + (receivers.searches.isEmpty ? [] : [.any])
        guard !criteria.isEmpty else { return nil }
        var filter = DiscoveryFilter(uniting: criteria)
        filter.tolerance = receivers.searches.isEmpty ? receivers.scans.values.map(\.tolerance).min() ?? .zero : .zero
        return filter
    }

    /// Begins to change the backend's scan. Returns false if a change is already in progress, or if none is needed; in
    /// the latter case, the scans have started.
    mutating func beginChanging() -> Bool {
        guard !isChanging else { return false }
        guard needsChange else {
            markStarted()
            return false
        }
        isChanging = true
        return true
    }

    private var needsChange: Bool { applied != wanted || mayBeScanning }

    /// Marks the scans that the backend serves as started.
    private func markStarted() {
        guard applied != nil else { return }
        for scan in receivers.scans.values {
            if let obstacle { scan.wait(for: obstacle) } else { scan.hasStarted() }
        }
    }

    /// The next change, with a mark to pass on with its result. Nil when nothing is left to change.
    func nextChange() -> (change: Change, mark: Int)? {
        guard needsChange else { return nil }
        return (wanted.map { .start($0) } ?? .stop, interruptions)
    }

    /// Records the result of a change. A scan that the backend has ended in the meantime does not count.
    ///
    /// - Parameter obstacle: why the backend's scan receives nothing. Nil if it does.
    /// - Returns: the scans that have waited for the backend's.
    mutating func changed(_ change: Change, mark: Int, obstacle: BLEError? = nil) -> [Scan] {
        mayBeScanning = false
        guard case .start(let filter) = change, mark == interruptions else {
            applied = nil
            return []
        }
        self.obstacle = obstacle
        applied = filter
        return obstacle == nil ? resume() : []
    }

    /// Records why the backend's scan receives nothing. Scans wait, and report this. Returns those that have waited if
    /// it receives again.
    mutating func setObstacle(_ error: BLEError?) -> [Scan] {
        guard applied != nil else { return [] }
        obstacle = error
        guard let error else { return resume() }
        for scan in receivers.scans.values { scan.wait(for: error) }
        return []
    }

    private func resume() -> [Scan] { receivers.scans.values.filter { $0.resume() } }

    /// Ends the scans that do not wait: the adapter is off or absent. They throw the error.
    mutating func refuse(_ error: BLEError) {
        for (token, scan) in receivers.scans where !scan.waits {
            receivers.scans[token] = nil
            scan.finish(error)
        }
    }

    /// Ends the scans for whose criteria there is a reason to. They throw it.
    mutating func end(_ reason: (DiscoveryCriteria) -> BLEError?) {
        for (token, scan) in receivers.scans {
            guard let error = reason(scan.criteria) else { continue }
            receivers.scans[token] = nil
            scan.finish(error)
        }
    }

    /// Records that a change failed. After a failed change of the filter, the backend may still scan with the old
    /// filter, and is told once to stop if no scan is left.
    mutating func changeFailed(_ change: Change) {
        mayBeScanning = change != .stop && (applied != nil || mayBeScanning)
        applied = nil
    }

    /// Ends the changes. Scans that the backend now serves have started.
    mutating func endChanging() {
        isChanging = false
        markStarted()
    }

    /// Handles a backend that has stopped scanning until the adapter is on again. Scans wait for the adapter, and
    /// report this, unless they must not wait for an adapter that is off or absent. Searches fail with the error.
    mutating func interrupt(_ error: BLEError) {
        for found in receivers.searches.values.flatMap(\.values) { found.deliver(.failure(error)) }
        applied = nil
        mayBeScanning = false
        interruptions += 1
        if error.code != .bluetoothLost { refuse(error) }
        for scan in receivers.scans.values { scan.wait(for: error, hasChanged: true) }
    }

    /// Scans that wait for the adapter report why they still do.
    func keepWaiting(for obstacle: BLEError) {
        for scan in receivers.scans.values { scan.wait(for: obstacle) }
    }

    // MARK: Peripherals

    /// Refreshes the last-seen time of a peripheral whose link has ended: it was present until now.
    func refreshLastSeen(_ id: Peripheral.ID, now: Duration) {
        for scan in receivers.scans.values { scan.refreshLastSeen(id, now: now) }
    }

    func didRemove(_ peripheral: Peripheral) {
        for scan in receivers.scans.values { scan.didRemove(peripheral) }
    }
}
