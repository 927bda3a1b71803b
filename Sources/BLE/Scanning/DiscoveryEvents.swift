internal import Synchronization

/// The events of a scan; see ``Central/discoveryEvents(matching:duplicates:staleAfter:overflow:tolerance:)``.
public struct DiscoveryEvents: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = DiscoveryEvent
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    let central: Central
    let criteria: DiscoveryCriteria
    let duplicates: Bool
    let staleness: Staleness
    let overflow: OverflowPolicy
    let tolerance: Duration
    let reportsUpdates: Bool
    /// Whether the scan waits while the adapter is off or absent. If not, it throws.
    let waits: Bool
    fileprivate let dropped = DroppedCount()

    init(
        central: Central, criteria: DiscoveryCriteria, duplicates: Bool, staleness: Staleness,
        overflow: OverflowPolicy, tolerance: Duration, reportsUpdates: Bool = true, waits: Bool = true
    ) {
        (self.central, self.criteria, self.duplicates) = (central, criteria, duplicates)
        (self.staleness, self.overflow, self.reportsUpdates) = (staleness, overflow, reportsUpdates)
        (self.tolerance, self.waits) = (tolerance, waits)
    }

    /// The number of events that the overflow policy has dropped so far, in the iteration that began last.
    public var droppedCount: Int { dropped.count }

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(scan: self) }

    /// An iterator over a scan.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let scan: DiscoveryEvents
        /// Nil before the scan has started.
        @usableFromInline var events: BoundedStream<DiscoveryEvent>.Iterator?

        fileprivate init(scan: DiscoveryEvents) { self.scan = scan }

        /// Returns the next event.
        @inlinable
        public mutating func next() async throws(BLEError) -> DiscoveryEvent? {
            try await next(isolation: #isolation)
        }

        /// Returns the next event, without leaving the caller's actor.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> DiscoveryEvent? {
            if let event = events?.nextOfBatch() { return event }
            return try await wait(isolation: actor)
        }

        /// Starts the scan, unless it has started. Returns when the backend scans, or when the scan waits for the
        /// ``Central/obstacle`` to go.
        package mutating func start(isolation actor: isolated (any Actor)? = #isolation) async throws(BLEError) {
            if events == nil {
                let tracker = DiscoveryTracker(
                    criteria: scan.criteria, duplicates: scan.duplicates, staleAfter: scan.staleness.duration,
                    learnsIntervals: scan.staleness.isLearned,
                    minimumPatience: scan.central.several == nil ? .zero : Staleness.handover,
                    reportsUpdates: scan.reportsUpdates)
                let stream = try await scan.central.scan(
                    tracker, overflow: scan.overflow, tolerance: scan.tolerance, waits: scan.waits)
                scan.dropped.set(stream.drops)
                events = stream.makeAsyncIterator()
            }
        }

        /// Returns the next event after starting the scan, or waiting for the event.
        @usableFromInline
        mutating func wait(isolation actor: isolated (any Actor)?) async throws(BLEError) -> DiscoveryEvent? {
            try await start(isolation: actor)
            do throws(BLEError) {
                return try await events?.next(isolation: actor)
            } catch {
                throw error.isCancellation ? await scan.central.explained(error) : error
            }
        }
    }
}

/// The peripherals that a scan finds; see ``Central/discoveries(matching:overflow:)``.
public struct Discoveries: AsyncSequence, Sendable {
    /// The type of element produced by the sequence.
    public typealias Element = Discovery
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    let events: DiscoveryEvents

    /// The number of events that the overflow policy has dropped so far, in the iteration that began last.
    public var droppedCount: Int { events.droppedCount }

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(events: events.makeAsyncIterator()) }

    /// An iterator over a scan.
    public struct Iterator: AsyncIteratorProtocol {
        @usableFromInline var events: DiscoveryEvents.Iterator

        init(events: DiscoveryEvents.Iterator) { self.events = events }

        /// Returns the next peripheral found.
        @inlinable
        public mutating func next() async throws(BLEError) -> Discovery? {
            try await next(isolation: #isolation)
        }

        /// Returns the next peripheral found, without leaving the caller's actor.
        @inlinable
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Discovery? {
            while let event = try await events.next(isolation: actor) {
                if case .found(let discovery) = event { return discovery }
            }
            return nil
        }
    }
}

/// The number of elements dropped by the stream that a sequence made last.
private final class DroppedCount: Sendable {
    private let current = Mutex<@Sendable () -> Int>({ 0 })

    var count: Int { current.withLock(\.self)() }

    func set(_ count: @escaping @Sendable () -> Int) { current.withLock { $0 = count } }
}
