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
    /// is a candidate again as soon as it is heard, and is reported again. One that this program disconnects, or whose
    /// policy ends the link, is not connected to again until the program connects to it itself; others are not
    /// affected. A peripheral that already has a link, to this or to another program, is adopted first. After a failed
    /// attempt, a peripheral is left alone for the pauses of ``Backoff/standard``, and comes after those that have not
    /// failed: one that accepts no links does not keep the others waiting. Nor do ever new addresses that accept none:
    /// after each that fails, the next attempt is for the peripheral whose failure or release is longest ago.
    ///
    /// Only this loop connects again: a policy of the configuration that maintains links does not apply, one that was
    /// set for a peripheral does. Throws the errors of a scan; for those of single attempts, see ``unhandledErrors()``.
    /// Keeps the newest 64 unread peripherals.
    ///
    /// ``AutoConnections/events`` has the attempts, their failures and the ends of links as well, and
    /// ``AutoConnections/values(of:overflow:)`` the values of all of them.
    /// ``AutoConnections/release(_:for:)`` gives the place of a peripheral to the next one.
    ///
    /// - Parameters:
    ///   - minimumRSSI: the weakest signal strength to connect to, in dBm, inclusive.
    ///   - limit: the maximum number of links that are made this way and up at the same time, at least 1. When a link
    ///     is lost, the strongest peripheral in range takes its place. It is the limit of each iteration: two of
    ///     them, such as that of the peripherals and that of their ``AutoConnections/events``, may make twice as many.
    ///   - settling: how long to listen for a stronger peripheral after the first was found.
    ///   - staleAfter: how long a peripheral may be silent before it is no longer a candidate. At least 1 s.
    public nonisolated func autoConnections(
        matching criteria: DiscoveryCriteria, minimumRSSI: Int = -80, limit: Int = 1,
        settling: Duration = .seconds(1), staleAfter: Duration = .seconds(8)
    ) -> AutoConnections {
        AutoConnections(
            connecting: AutoConnecting(
                central: self, criteria: criteria, minimumRSSI: minimumRSSI, limit: limit, settling: settling,
                staleAfter: staleAfter))
    }
}

/// The peripherals that a central connects to by itself; see
/// ``Central/autoConnections(matching:minimumRSSI:limit:settling:staleAfter:)``.
public struct AutoConnections: AsyncSequence, Sendable {
    /// The type of element: a peripheral with a link.
    public typealias Element = Peripheral
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    let connecting: AutoConnecting

    /// Ends the link of a peripheral, or the attempt to connect, and gives its place to the strongest other peripheral
    /// in range.
    ///
    /// ```swift
    /// let sensors = central.autoConnections(matching: .service(.environmentalSensing), limit: 2)
    /// for try await sensor in sensors {
    ///     do {
    ///         print(sensor, try await sensor.read(.temperature))
    ///     } catch {
    ///         print("cannot read \(sensor): \(error)")
    ///     }
    ///     try await sensors.release(sensor, for: .seconds(60))
    /// }
    /// ```
    ///
    /// The peripheral is left alone for the pause. Then it is a candidate again, after all others in range that were
    /// never released, or longer ago: with more peripherals than places, each has its turn. The last 1024 released
    /// peripherals are remembered. A peripheral that this program has disconnected, and that is therefore left alone,
    /// is a candidate again after the pause, too. Other loops are not affected by the pause: for them, this program
    /// disconnects the peripheral. One of which this loop knows nothing, for example because it does not meet the
    /// criteria, is only disconnected.
    ///
    /// As after ``Peripheral/disconnect()``, a policy of the peripheral that maintains links no longer applies. Does
    /// nothing else if there is neither a link nor an attempt. Throws the same errors as that method, after which a
    /// peripheral with a link is left alone as after a disconnect by this program. Throws `invalidArgument` for a
    /// peripheral of another central.
    ///
    /// - Parameter pause: how long the peripheral is left alone, from the end of the link, on the clock of the
    ///   central's configuration. At most 100 years.
    public func release(_ peripheral: Peripheral, for pause: Duration = .seconds(30)) async throws(BLEError) {
        let (id, central) = (peripheral.id, connecting.central)
        guard peripheral.central === central else {
            throw BLEError(.invalidArgument, "the peripheral belongs to another central", peripheral: id)
        }
        // The end of an attempt tells of the pause, which begins when the link has ended.
        await central.release(id, in: connecting.runs, for: pause)
        try await central.disconnect(id)
        await central.release(id, in: connecting.runs, for: pause)
    }

    /// The same with everything that happens on the way, for all peripherals in one stream: attempts, failures, links
    /// and their ends. Iterating starts it, independently of an iteration over the peripherals.
    ///
    /// ```swift
    /// for try await (strap, event) in central.autoConnections(matching: .service(.heartRate), limit: 3).events {
    ///     if case .disconnected(let error) = event { print("lost", strap, error) }
    /// }
    /// ```
    ///
    /// After `connectFailed`, `retryAfter` is the pause before this peripheral is a candidate again. After
    /// `disconnectFailed`, the link may still be up, and its end is not told. Keeps the newest 256 unread events.
    public var events: AutoConnectionEvents { AutoConnectionEvents(connecting: connecting) }

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
            if peripherals == nil {
                peripherals =
                    connecting.start(capacity: 64) { peripheral, event in
                        if case .connected = event { peripheral } else { nil }
                    }.makeAsyncIterator()
            }
            return try await peripherals?.next(isolation: actor)
        }
    }
}

/// What happens to the peripherals that a central connects to by itself; see ``AutoConnections/events``.
public struct AutoConnectionEvents: AsyncSequence, Sendable {
    /// The type of element: a peripheral, and what has happened.
    public typealias Element = (peripheral: Peripheral, event: ConnectionEvent)
    /// The type of error that iteration throws.
    public typealias Failure = BLEError

    fileprivate let connecting: AutoConnecting

    /// Creates an iterator. Its first `next()` starts the scan.
    public func makeAsyncIterator() -> Iterator { Iterator(connecting: connecting) }

    /// An iterator over the events.
    public struct Iterator: AsyncIteratorProtocol {
        fileprivate let connecting: AutoConnecting
        private var events: BoundedStream<Element>.Iterator?

        fileprivate init(connecting: AutoConnecting) { self.connecting = connecting }

        /// Returns the next event.
        public mutating func next() async throws(BLEError) -> Element? { try await next(isolation: #isolation) }

        /// Returns the next event, without leaving the caller's actor.
        public mutating func next(isolation actor: isolated (any Actor)?) async throws(BLEError) -> Element? {
            if Task.isCancelled { throw .cancelled }
            if events == nil { events = connecting.start(capacity: 256) { ($0, $1) }.makeAsyncIterator() }
            return try await events?.next(isolation: actor)
        }
    }
}

extension Central {
    /// Starts to tell a run of discoveries, of what happens to links, and of the adapter, in order. Ends with
    /// ``endRun(_:)``.
    fileprivate func beginRun(
        _ run: AutoConnecting.Run, _ token: Int, _ tracker: DiscoveryTracker, adopting criteria: DiscoveryCriteria
    ) async throws(BLEError) {
        try checkRunning()
        run.adapterChanged(isOn: adapterState == .poweredOn)
        for linked in connected(matching: criteria) {
            run.found(linked)
            if connectionState(linked.peripheral.id) == .connected { run.linkUp(linked.peripheral.id) }
        }
        autoConnecting[token] = run
        try await scan(
            tracker, token,
            into: Scanning.Sink {
                run.take($0)
            } finish: {
                run.loop.finish($0)
            }, tolerance: .zero)
    }

    fileprivate func release(_ id: Peripheral.ID, in runs: AutoConnecting.RunGroup, for pause: Duration) {
        let century = Duration.seconds(100 * 365 * 86_400)
        let end = elapsed() + min(max(.zero, pause), century)
        for run in autoConnecting.values where run.group === runs { run.loop.record { $0.release(id, until: end) } }
    }

    fileprivate func endRun(_ token: Int) {
        autoConnecting[token] = nil
        endScan(token)
    }

    /// Connects for a run. Only the run retries: the configuration's policy is not applied.
    fileprivate func connect(_ id: Peripheral.ID, for run: AutoConnecting.Run) async {
        guard run.attemptBegins(id) else { return }
        do throws(BLEError) {
            try await connectToStay(id, timeout: nil, appliesPolicy: false)
            // The link may have been there before.
            if connectionState(id) == .connected { run.linkUp(id) }
        } catch {
            // It may have succeeded at its deadline.
            guard connectionState(id) != .connected else { return run.linkUp(id) }
            report(unhandled: error, while: "connecting automatically", of: id)
            run.attemptFailed(id, error, now: elapsed())
        }
    }
}

/// Carries out what an ``AutoConnector`` decides.
struct AutoConnecting: Sendable {
    let central: Central
    fileprivate let criteria: DiscoveryCriteria
    fileprivate let minimumRSSI: Int
    fileprivate let limit: Int
    fileprivate let settling: Duration
    fileprivate let staleAfter: Duration
    fileprivate let runs = RunGroup()

    /// The identity of the runs that one sequence has begun.
    final class RunGroup: Sendable {}

    /// A run: the decisions, and what is told of them.
    final class Run: Sendable {
        fileprivate let loop: AutoConnectorLoop<Peripheral.ID>
        fileprivate let group: RunGroup
        private let central: Central
        private let tell: @Sendable (Peripheral, ConnectionEvent) -> Void

        fileprivate init(
            _ connector: AutoConnector<Peripheral.ID>, _ central: Central, _ group: RunGroup,
            tell: @escaping @Sendable (Peripheral, ConnectionEvent) -> Void
        ) {
            loop = AutoConnectorLoop(connector)
            (self.central, self.group, self.tell) = (central, group, tell)
        }

        func found(_ discovery: Discovery) {
            loop.found(discovery.peripheral.id, rssi: discovery.advertisement.rssi)
        }

        func take(_ event: DiscoveryEvent) {
            switch event {
            case .found(let discovery), .updated(let discovery): found(discovery)
            case .lost(let peripheral): loop.record { $0.lost(peripheral.id) }
            case .waiting: break
            }
        }

        /// Records what a connection has decided, as far as it concerns the link.
        ///
        /// - Parameter error: why the link has ended, if it has.
        func take(_ action: ConnectionMachine.Action, of id: Peripheral.ID, _ error: BLEError?) {
            switch action {
            case .publish(.connected): linkUp(id)
            case .tell(.linkEnded): linkEnded(id, isRequested: false, error)
            case .tell(.endedHere): linkEnded(id, isRequested: true, error)
            case .tell(.disconnectFailed): linkEnded(id, isRequested: true, hasFailed: true, error)
            case .fail(_, .cancelledByDisconnect): loop.record { $0.attemptCancelled(id) }
            default: break
            }
        }

        func linkUp(_ id: Peripheral.ID) {
            if loop.record({ $0.linkUp(id) }) { tell(central.peripheral(id), .connected) }
        }

        private func linkEnded(
            _ id: Peripheral.ID, isRequested: Bool, hasFailed: Bool = false, _ error: BLEError?
        ) {
            guard loop.record({ $0.linkEnded(id, isRequested: isRequested) }) else { return }
            let error = error ?? BLEError(.disconnected, "the link ended", peripheral: id, disconnectReason: .unknown)
            tell(central.peripheral(id), hasFailed ? .disconnectFailed(error) : .disconnected(error))
        }

        func adapterChanged(isOn: Bool) { loop.record { $0.adapterChanged(isOn: isOn) } }

        /// Returns false if the attempt is not to be made any longer.
        fileprivate func attemptBegins(_ id: Peripheral.ID) -> Bool {
            guard loop.record({ $0.attemptBegins(id) }) else { return false }
            tell(central.peripheral(id), .connecting)
            return true
        }

        fileprivate func attemptFailed(_ id: Peripheral.ID, _ error: BLEError, now: Duration) {
            let pause = loop.record { $0.attemptFailed(id, now: now) }
            tell(central.peripheral(id), .connectFailed(error, retryAfter: pause))
        }
    }

    /// Starts a run. It ends when its stream is no longer read.
    ///
    /// - Parameters:
    ///   - capacity: the maximum number of unread elements.
    ///   - element: returns what is told of an event, nil if nothing.
    func start<Element: Sendable>(
        capacity: Int, _ element: @escaping @Sendable (Peripheral, ConnectionEvent) -> Element?
    ) -> BoundedStream<Element> {
        AutoConnectorLoop<Peripheral.ID>.start(
            on: central, policy: .dropOldest(capacity: capacity)
        ) { (producer) throws(BLEError) in
            try await run { if let element = element($0, $1) { producer.yield(element) } }
        }
    }

    private func run(tell: @escaping @Sendable (Peripheral, ConnectionEvent) -> Void) async throws(BLEError) {
        let run = Run(AutoConnector(limit: limit, settling: settling), central, runs, tell: tell)
        let token = await central.token()
        let tracker = DiscoveryTracker(
            // With duplicates, because changes of signal strength are not reported otherwise.
            criteria: criteria && .rssi(atLeast: minimumRSSI), duplicates: true,
            staleAfter: max(staleAfter, .seconds(1)))
        let failure: BLEError?
        do throws(BLEError) {
            try await run.loop.run(on: central) { () throws(BLEError) in
                try await central.beginRun(run, token, tracker, adopting: criteria)
            } connect: { [central] id in
                await central.connect(id, for: run)
            }
            failure = nil
        } catch {
            failure = error
        }
        await central.endRun(token)
        if let failure { throw failure }
    }
}
