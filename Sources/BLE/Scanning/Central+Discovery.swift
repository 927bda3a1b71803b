internal import Logging
internal import Waiting

extension Central {
    /// The peripherals in range that meet the criteria, each reported once when it is found.
    ///
    /// Iterating starts the scan; leaving the loop stops it. Any number of scans share one scan of the radio.
    ///
    /// A peripheral that already has a link, to this or to another program, does not advertise. It is reported first,
    /// without a signal strength, if its known advertising data meets the criteria.
    ///
    /// While the adapter is off or absent, or Bluetooth restarts, nothing is found. The scan resumes automatically.
    /// ``discoveryEvents(matching:duplicates:staleAfter:overflow:tolerance:)`` reports such times.
    ///
    /// - Parameter overflow: how the scan handles events if the reader is slower than the radio. By default, the newest
    ///   1024 unread events are kept; ``Discoveries/droppedCount`` counts the others.
    public nonisolated func discoveries(
        matching criteria: DiscoveryCriteria = .any, overflow: OverflowPolicy = .dropOldest(capacity: 1024)
    ) -> Discoveries {
        Discoveries(
            events: DiscoveryEvents(
                central: self, criteria: criteria, duplicates: false, staleness: .never, overflow: overflow,
                tolerance: .zero, reportsUpdates: false))
    }

    /// The events of the peripherals in range that meet the criteria.
    ///
    /// Iterating starts the scan; leaving the loop stops it. Peripherals that already have a link are reported first,
    /// as by ``discoveries(matching:overflow:)``. While the adapter is off or absent, or Bluetooth restarts, the scan
    /// waits, and reports the obstacle (``DiscoveryEvent/waiting(_:)``).
    ///
    /// - Parameters:
    ///   - duplicates: whether to report every advertisement as an update, not only changed ones. A different signal
    ///     strength alone is not a change.
    ///   - staleAfter: how long a peripheral without a link may be silent before it is reported lost, at least 1 s. Nil
    ///     to never report a peripheral lost.
    ///   - overflow: how the scan handles events if the reader is slower than the radio. By default, the newest 1024
    ///     unread events are kept; ``DiscoveryEvents/droppedCount`` counts the others. For a list that never misses the
    ///     loss of a peripheral, use ``nearby(matching:minimumRSSI:staleAfter:)``.
    ///   - tolerance: the maximum delay of an event after its advertisement. While many advertisements arrive, BlueZ's
    ///     signals are then handled together, at a fraction of the cost of waking up for each. There is no delay for an
    ///     advertisement that follows a quiet time of that length, nor for any event while a call is pending, values
    ///     are notified, or this connection serves a peripheral. Unawaited events, such as the loss of a link, may have
    ///     the same delay. At most a quarter of `staleAfter`; zero for no delay.
    public nonisolated func discoveryEvents(
        matching criteria: DiscoveryCriteria = .any, duplicates: Bool = false, staleAfter: Duration? = .seconds(8),
        overflow: OverflowPolicy = .dropOldest(capacity: 1024), tolerance: Duration = .milliseconds(5)
    ) -> DiscoveryEvents {
        discoveryEvents(
            matching: criteria, duplicates: duplicates, staleness: staleAfter.map { .after($0) } ?? .never,
            overflow: overflow, tolerance: tolerance)
    }

    /// The events of the peripherals in range that meet the criteria, which are lost as `staleness` says:
    /// ``Staleness/learned`` suits sensors and beacons whose advertising intervals differ.
    ///
    /// Otherwise, as ``discoveryEvents(matching:duplicates:staleAfter:overflow:tolerance:)``. With learned intervals,
    /// `tolerance` is at most 500 ms, and a quarter of the time that a peripheral has before its interval is known.
    public nonisolated func discoveryEvents(
        matching criteria: DiscoveryCriteria = .any, duplicates: Bool = false, staleness: Staleness,
        overflow: OverflowPolicy = .dropOldest(capacity: 1024), tolerance: Duration = .milliseconds(5)
    ) -> DiscoveryEvents {
        DiscoveryEvents(
            central: self, criteria: criteria, duplicates: duplicates, staleness: staleness, overflow: overflow,
            tolerance: tolerance)
    }

    /// Whether the radio scans for this central at the moment.
    public var isScanning: Bool { scanning.isRunning }

    /// Whether the radio scans for this central, now and at every later change. Keeps the newest 16 unread states.
    ///
    /// False before the first scan, after the last one, while the adapter is off or absent, while Bluetooth restarts,
    /// and while the radio does not do what it was asked, as a proxy that another client uses.
    public func scanningStates() -> BoundedStream<Bool> {
        guard !isShutDown else { return Observers.ended(.shutDown) }
        return scanning.states { [weak self] token in
            Task { await self?.removeScanningObserver(token) }
        }
    }

    private func removeScanningObserver(_ token: Int) { scanning.removeObserver(token) }

    /// Starts a scan, which ends with the stream.
    func scan(
        _ tracker: DiscoveryTracker, overflow: OverflowPolicy, tolerance: Duration, waits: Bool
    ) async throws(BLEError) -> BoundedStream<DiscoveryEvent> {
        try checkRunning()
        try checkSupport(of: tracker.criteria)
        let token = token()
        let (stream, producer) = BoundedStream.make(
            of: DiscoveryEvent.self, policy: overflow, drops: drops.discoveries
        ) { [weak self] in
            Task { await self?.endScan(token) }
        }
        try await scan(tracker, token, into: Scanning.Sink(producer), tolerance: tolerance, waits: waits)
        return stream
    }

    /// Starts a scan that delivers its events synchronously, until ``endScan(_:)`` is called with the token.
    ///
    /// - Parameter waits: whether the scan waits while the adapter is off or absent. If not, it throws.
    func scan(
        _ tracker: DiscoveryTracker, _ token: Int, into sink: Scanning.Sink, tolerance: Duration, waits: Bool = true
    ) async throws(BLEError) {
        try checkRunning()
        try checkSupport(of: tracker.criteria)
        if !waits, let error = adapter.error { throw error }
        let scan = Scanning.Scan(
            tracker, sink, tolerance: tolerance, waits: waits, staleness: watchStaleness(of: token, tracker))
        scanning.add(scan, token)
        reportLinked(to: scan)
        if let obstacle = adapterObstacle { return scan.wait(for: obstacle) }
        let deadline = deadline(configuration.operationTimeout, "starting the scan", scan.started)
        defer { deadline.cancel() }
        reconcile()
        try await scan.started.wait()
    }

    /// Reports the peripherals with a link that a scan has not found: they do not advertise.
    private func reportLinked(to scan: Scanning.Scan) {
        for found in connected(matching: scan.criteria) where !scan.hasFound(found.peripheral.id) {
            scan.didFind(found, now: elapsed())
        }
    }

    /// Reports a peripheral whose link has begun to the scans that have not heard it before.
    func reportLinked(_ id: Peripheral.ID) {
        for scan in scanning.scans(without: id) {
            guard let found = connected(matching: scan.criteria).first(where: { $0.peripheral.id == id }) else {
                continue
            }
            scan.didFind(found, now: elapsed())
        }
    }

    /// Throws `notSupported` for criteria that the stack cannot evaluate, and `invalidArgument` for an identity whose
    /// key is not known.
    func checkSupport(of criteria: DiscoveryCriteria) throws(BLEError) {
        try checkIdentities(of: criteria)
        guard backend.limits.reportsConnectability || !criteria.needsConnectability else {
            throw BLEError(
                .notSupported, "this system does not report whether a peripheral accepts connections",
                isRetryable: false, remedy: "Remove the condition, or match a service.")
        }
    }

    func endScan(_ token: Int) {
        scanning.remove(token)
        reconcile()
    }

    /// Starts a search for a peripheral, until ``endSearch(_:for:)``. The outcome is delivered when the peripheral is
    /// found.
    func beginSearch(for id: Peripheral.ID) -> (token: Int, found: Outcome<Void>) {
        let token = token()
        let found = scanning.beginSearch(token, for: id)
        reconcile()
        return (token, found)
    }

    func endSearch(_ token: Int, for id: Peripheral.ID) {
        scanning.endSearch(token, for: id)
        reconcile()
    }

    // MARK: The backend's scan

    /// Updates the backend's scan to the needs of the scans.
    func reconcile() {
        guard adapterState == .poweredOn, scanning.beginChanging() else { return }
        Task { await self.changeScan() }
    }

    private func changeScan() async {
        defer {
            scanning.endChanging()
            // The scans may have changed during the last pause.
            if !isShutDown { reconcile() }
        }
        while adapterState == .poweredOn, let (change, mark) = scanning.nextChange() {
            do throws(BLEError) {
                switch change {
                case .start(let filter): try await backend.startDiscovery(filter)
                case .stop: try await backend.stopDiscovery()
                }
                // What a scan that waited could not hear may have a link by now.
                for scan in scanning.changed(change, mark: mark, obstacle: scanObstacle) { reportLinked(to: scan) }
                logger.debug("scanning", metadata: ["change": "\(change)"])
            } catch {
                logger.debug("scan failed", metadata: ["error": "\(error)"])
                scanning.changeFailed(change)
                if [.poweredOff, .adapterNotFound, .bluetoothLost].contains(error.code) {
                    if error.code != .bluetoothLost { scanning.refuse(error) }
                    // Even if the adapter's state has not been reported yet, its return will be reported as a state.
                    guard (try? await clock.sleep(for: Self.scanPause)) != nil else { return }
                } else if change != .stop {
                    scanning.finish(error)
                }
                // A failed stop has no caller to report it to.
            }
        }
    }

    /// Why the backend's scan receives nothing.
    private var scanObstacle: BLEError? { backend.assumeIsolated { $0.scanObstacle() } }

    func scanObstacleMayHaveChanged() {
        for scan in scanning.setObstacle(scanObstacle) { reportLinked(to: scan) }
    }

    /// The pause before retrying a scan that failed because of the adapter's state, although the adapter seems to be
    /// on.
    private static let scanPause = Duration.milliseconds(500)

    // MARK: Staleness

    /// Checks for silent peripherals every second, which is the precision of `staleAfter`.
    private func watchStaleness(of token: Int, _ tracker: DiscoveryTracker) -> Task<Void, Never>? {
        guard tracker.staleAfter != nil else { return nil }
        return Task(executorPreference: taskExecutor) { [weak self, clock] in
            while (try? await clock.sleep(for: .seconds(1))) != nil {
                guard let self else { return }
                await reportStale(token)
            }
        }
    }

    private func reportStale(_ token: Int) {
        // Determined only if a peripheral has been silent, because there may be many peripherals.
        lazy var linked = Set(backend.assumeIsolated({ $0.knownPeripherals() }).filter(\.isConnected).map(\.id))
        scanning.scan(token)?.reportStale(now: elapsed()) {
            connectionState($0) == .connected || linked.contains($0)
        } peripheral: {
            peripheral($0)
        }
    }
}
