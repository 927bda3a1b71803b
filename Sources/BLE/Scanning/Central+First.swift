internal import Synchronization
internal import Waiting

extension Central {
    /// Scans until a peripheral that meets the criteria is found, and returns it.
    ///
    /// ```swift
    /// let strap = try await central.first(matching: .service(.heartRate)).peripheral
    /// ```
    ///
    /// A peripheral that this machine has a link to does not advertise, for example after a program was killed. It is
    /// returned without a scan if the known advertising data meets the criteria.
    ///
    /// Throws `poweredOff` or `adapterNotFound` as soon as the adapter is off or absent, and `peripheralNotFound` when
    /// the time is up. While Bluetooth restarts, it waits; if that takes too long, it throws `timedOut` with the
    /// reason.
    ///
    /// - Parameter timeout: the maximum duration of the scan. Nil for the configuration's connect timeout.
    public nonisolated func first(
        matching criteria: DiscoveryCriteria, timeout: Duration? = nil
    ) async throws(BLEError) -> Discovery {
        if let known = try await firstConnected(matching: criteria) { return known }
        let limit = timeout ?? configuration.connectTimeout
        do throws(BLEError) {
            return try await Outcome.race(within: limit, clock: clock, executor: taskExecutor) {
                BLEError(
                    .peripheralNotFound, "no peripheral that meets the criteria was found within \(limit)",
                    remedy: "It may be out of range, switched off, or connected to another device.")
            } _: { () throws(BLEError) in
                let events = DiscoveryEvents(
                    central: self, criteria: criteria, duplicates: false, staleness: .never,
                    overflow: .dropOldest(capacity: 1024), tolerance: .zero, reportsUpdates: false, waits: false)
                for try await discovery in Discoveries(events: events) { return discovery }
                throw .shutDown
            }
        } catch {
            let obstacle = await obstacle
            // If Bluetooth is not back when the time is up, this is the reason why nothing was found.
            let isLate = error.code == .peripheralNotFound && obstacle != nil
            let error = isLate ? BLEError(.timedOut, "the search took longer than \(limit)") : error
            throw error.waiting(for: obstacle)
        }
    }

    /// Scans for a duration, and returns the peripherals that were found, with their latest advertising data, strongest
    /// first. The duration begins when the radio scans, or at once while Bluetooth restarts.
    ///
    /// ```swift
    /// for found in try await central.discoveries(for: .seconds(3)) { print(found.peripheral, found.advertisement.rssi
    /// ?? 0) }
    /// ```
    ///
    /// Throws `poweredOff` or `adapterNotFound` as soon as the adapter is off or absent, and `bluetoothLost` if
    /// Bluetooth is not running when the time is up.
    public func discoveries(
        matching criteria: DiscoveryCriteria = .any, for duration: Duration
    ) async throws(BLEError) -> [Discovery] {
        // The staleness interval is longer than the scan and its start, so that only peripherals that the system
        // removes are lost.
        let tracker = DiscoveryTracker(
            criteria: criteria, duplicates: true,
            staleAfter: duration + configuration.operationTimeout + .seconds(1))
        let found = Found()
        let ended = Outcome<Void>()
        let token = token()
        defer { endScan(token) }
        // The events are recorded where they occur, so that none is missed when the time is up.
        try await scan(
            tracker, token, into: Scanning.Sink(yield: found.record) { ended.deliver(.failure($0)) },
            tolerance: .milliseconds(5), waits: false)
        let deadline = Expiry(after: duration, clock: clock) { ended.deliver(.success(())) }
        defer { deadline.cancel() }
        try await ended.wait()
        if let obstacle { throw obstacle }
        return found.strongestFirst
    }

    private func firstConnected(matching criteria: DiscoveryCriteria) throws(BLEError) -> Discovery? {
        try checkRunning()
        try checkSupport(of: criteria)
        return connected(matching: criteria).first
    }

    /// Returns the peripherals with a link, to this or to another program, that meet the criteria as far as is known,
    /// in order of their ids.
    package func connected(matching criteria: DiscoveryCriteria) -> [Discovery] {
        backend.assumeIsolated({ $0.knownPeripherals() }).filter(\.isConnected).compactMap { known in
            var advertisement = known.advertisement
            // A scan of one transport does not report devices of the other.
            guard criteria.receives(advertisement) else { return nil }
            // The services that were discovered on a link count as well. The known signal strength is outdated.
            advertisement.serviceUUIDs.formUnion(known.services)
            advertisement.rssi = nil
            let identity = identity(of: known.id, advertisement)
            guard criteria.matches(advertisement, from: known.id, identity: identity) else { return nil }
            return Discovery(peripheral: peripheral(known.id), advertisement: advertisement, identity: identity)
        }
        .sorted { $0.peripheral.id < $1.peripheral.id }
    }
}

/// The peripherals that a scan has found so far.
private final class Found: Sendable {
    private let discoveries = Mutex<[Peripheral.ID: Discovery]>([:])

    @Sendable func record(_ event: DiscoveryEvent) {
        switch event {
        case .found(let discovery), .updated(let discovery):
            discoveries.withLock { $0[discovery.peripheral.id] = discovery }
        case .lost(let peripheral): discoveries.withLock { $0[peripheral.id] = nil }
        case .waiting: break
        }
    }

    /// Sorted by signal strength; peripherals of unknown strength come last.
    var strongestFirst: [Discovery] {
        discoveries.withLock { Array($0.values) }.sorted {
            ($0.advertisement.rssi ?? .min, $1.peripheral.id.rawValue)
                > ($1.advertisement.rssi ?? .min, $0.peripheral.id.rawValue)
        }
    }
}
