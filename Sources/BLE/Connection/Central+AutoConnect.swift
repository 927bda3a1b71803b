internal import Logging
internal import Synchronization
internal import Waiting

extension Central {
    /// Connects to the peripherals in range that meet the criteria, strongest first, and reports each when its link is
    /// up and its services are discovered.
    ///
    /// ```swift
    /// for try await strap in central.autoConnections(matching: .service(.heartRate)) {
    ///     print("connected to", strap)
    /// }
    /// ```
    ///
    /// Iterating starts it; leaving the loop stops it and leaves the links as they are. A peripheral whose link is lost
    /// is a candidate again as soon as it is in range, and is reported again. One that this program disconnects, or whose
    /// policy ends the link, is not connected to again until the program connects to it itself; others are not affected. A peripheral that already
    /// has a link, to this or to another program, is adopted first. After a failed attempt, a peripheral is left alone
    /// for the pauses of ``Backoff/standard``.
    ///
    /// Throws the errors of a scan; errors of single attempts are logged. Keeps the newest 64 unread peripherals.
    ///
    /// - Parameters:
    ///   - minimumRSSI: the weakest signal strength to connect to, in dBm, inclusive.
    ///   - limit: the maximum number of links that are made this way and up at the same time, at least 1.
    ///   - settling: how long to listen for a stronger peripheral after the first was found.
    ///   - staleAfter: how long a peripheral may be silent before it is no longer a candidate. At least 1 s.
    public nonisolated func autoConnections(
        matching criteria: DiscoveryCriteria, minimumRSSI: Int = -80, limit: Int = 1,
        settling: Duration = .seconds(1), staleAfter: Duration = .seconds(8)
    ) -> AutoConnections {
        AutoConnections(
            connecting: AutoConnecting(
                central: self, criteria: criteria,
                events: discoveryEvents(
                    matching: criteria && .rssi(atLeast: minimumRSSI), duplicates: true, staleAfter: staleAfter),
                limit: limit, settling: settling))
    }
}

/// The peripherals that a central connects to by itself; see
/// ``Central/autoConnections(matching:minimumRSSI:limit:settling:staleAfter:)``.
public struct AutoConnections: AsyncSequence, Sendable {
    /// The type of element: a peripheral with a link.
    public typealias Element = Peripheral
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let connecting: AutoConnecting

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(connecting: connecting) }

    /// An iterator over the peripherals.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let connecting: AutoConnecting
        private var peripherals: BoundedStream<Peripheral>.Iterator?

        fileprivate init(connecting: AutoConnecting) { self.connecting = connecting }

        /// Returns the next peripheral.
        public mutating func next() async throws(BLEError) -> Peripheral? {
            try await next(isolation: #isolation)
        }

        /// Returns the next peripheral, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Peripheral? {
            if Task.isCancelled { throw .cancelled }
            if peripherals == nil { peripherals = connecting.start().makeAsyncIterator() }
            return try await peripherals?.next(isolation: actor)
        }
    }
}

/// Carries out what an ``AutoConnector`` decides.
private struct AutoConnecting: Sendable {
    let central: Central
    let criteria: DiscoveryCriteria
    let events: DiscoveryEvents
    let limit: Int
    let settling: Duration

    /// A run: the decisions, and a signal that there may be a new one.
    private final class Run: Sendable {
        private let connector: Mutex<AutoConnector>
        private let watched = Mutex<Set<Peripheral.ID>>([])
        let signals: BoundedStream<Void>
        private let signal: BoundedStream<Void>.Producer

        init(_ connector: AutoConnector) {
            self.connector = Mutex(connector)
            (signals, signal) = BoundedStream.make(policy: .dropOldest(capacity: 1))
        }

        /// Changes the state, and has the next step asked for.
        func change<Result: Sendable>(_ change: (inout AutoConnector) -> Result) -> Result {
            defer { signal.yield(()) }
            return connector.withLock { change(&$0) }
        }

        func next(now: Duration) -> AutoConnector.Step { connector.withLock { $0.next(now: now) } }

        /// Records a peripheral in range. Only a new one can change the next step before its time.
        func found(_ discovery: Discovery) {
            let isNew = connector.withLock {
                $0.found(discovery.peripheral.id, rssi: discovery.advertisement.rssi)
            }
            if isNew { wake() }
        }

        /// Returns true for the first call with a peripheral.
        func beginWatching(_ id: Peripheral.ID) -> Bool { watched.withLock { $0.insert(id).inserted } }

        func wake() { signal.yield(()) }
        func finish(_ error: BLEError) { signal.finish(throwing: error) }
    }

    /// Starts, until the stream is no longer read.
    func start() -> BoundedStream<Peripheral> {
        let running = Outcome<Task<Void, Never>>()
        let (peripherals, producer) = BoundedStream.make(of: Peripheral.self, policy: .dropOldest(capacity: 64)) {
            Task { try? await running.wait().cancel() }
        }
        let task = Task {
            do throws(BLEError) {
                try await run(producer)
                producer.finish()
            } catch {
                producer.finish(throwing: error)
            }
        }
        running.deliver(.success(task))
        return peripherals
    }

    private func run(_ producer: BoundedStream<Peripheral>.Producer) async throws(BLEError) {
        let run = Run(AutoConnector(limit: limit, settling: settling))
        let result = await withDiscardingTaskGroup { group -> Result<Void, BLEError> in
            group.addTask { await scan(run) }
            let result: Result<Void, BLEError>
            do throws(BLEError) {
                for linked in await central.connected(matching: criteria) {
                    run.found(linked)
                }
                var alarm: Duration?
                for try await _ in run.signals {
                    switch run.next(now: central.elapsed()) {
                    case .idle: break
                    case .wait(let time):
                        let now = central.elapsed()
                        if let alarm, alarm > now, alarm <= time { break }
                        alarm = time
                        group.addTask {
                            try? await central.configuration.clock.sleep(for: time - now)
                            run.wake()
                        }
                    case .connect(let id):
                        let peripheral = central.peripheral(id)
                        if run.beginWatching(id) {
                            let (events, isConnected) = await central.observeLink(of: id)
                            group.addTask { await watch(peripheral, events, run, producer) }
                            if isConnected {
                                linkUp(peripheral, run, producer)
                                break
                            }
                        }
                        group.addTask { await connect(peripheral, run) }
                    }
                }
                result = .success(())
            } catch {
                result = .failure(error)
            }
            group.cancelAll()
            return result
        }
        try result.get()
    }

    private func scan(_ run: Run) async {
        do throws(BLEError) {
            for try await event in events {
                switch event {
                case .found(let discovery), .updated(let discovery): run.found(discovery)
                case .lost(let peripheral): run.change { $0.lost(peripheral.id) }
                }
            }
        } catch {
            run.finish(error)
        }
    }

    /// Connects. The link itself is reported by its events, which are in order with its end.
    private func connect(_ peripheral: Peripheral, _ run: Run) async {
        do throws(BLEError) {
            try await peripheral.connect()
        } catch {
            await central.report(unhandled: error, while: "connecting automatically", of: peripheral.id)
            run.change {
                $0.attemptFailed(
                    peripheral.id, isRequested: error.code == .connectionCancelled, now: central.elapsed())
            }
        }
    }

    private func linkUp(
        _ peripheral: Peripheral, _ run: Run, _ producer: BoundedStream<Peripheral>.Producer
    ) {
        if run.change({ $0.linkUp(peripheral.id) }) { producer.yield(peripheral) }
    }

    /// Follows the link of a peripheral, whoever makes and ends it.
    private func watch(
        _ peripheral: Peripheral, _ events: BoundedStream<ConnectionEvent>, _ run: Run,
        _ producer: BoundedStream<Peripheral>.Producer
    ) async {
        do throws(BLEError) {
            for try await event in events {
                switch event {
                case .connected: linkUp(peripheral, run, producer)
                case .disconnected(let error):
                    run.change { $0.linkEnded(peripheral.id, isRequested: error.disconnectReason == .local) }
                case .disconnectFailed: run.change { $0.linkEnded(peripheral.id, isRequested: true) }
                case .connecting, .connectFailed, .waiting, .servicesChanged: break
                }
            }
        } catch {
            run.finish(error)
        }
    }
}
