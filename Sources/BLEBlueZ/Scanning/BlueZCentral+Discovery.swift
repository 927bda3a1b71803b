public import BLE
internal import DBus
internal import Logging
internal import Waiting

extension BlueZCentral {
    /// Starts this client's discovery session, which serves any number of scans.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        let change = try await beginChange()
        defer { discovery.endChange(change) }
        guard !isShutDown else { throw .shutDown }
        try requirePower()
        tolerate(filter.tolerance)
        var untimed = filter
        untimed.tolerance = .zero
        // The tolerance is not passed to bluetoothd.
        if isListening, untimed == discovery.filter { return }
        discovery.filter = nil
        let isQuiet = !filter.isPassive && filter.transport == .le && management != nil
        discovery.isLeavingSocket = !isQuiet
        defer { discovery.isLeavingSocket = false }
        do throws(BLEError) {
            try await changeDiscovery(untimed, isQuiet: isQuiet)
        } catch {
            tolerate(.zero)
            if !discovery.isOn { stopManagement() }
            // The scan goes on as before, for which the socket is missing.
            if discovery.isDeaf, discovery.isLeavingSocket { report(.scanEnded(ManagementScanner.hasEnded)) }
            throw error
        }
        if isListening { discovery.changed(to: untimed) }
    }

    /// Waits until earlier changes of the scan have ended. Returns the number of this one.
    private func beginChange() async throws(BLEError) -> Int {
        let (number, turn) = discovery.addChange()
        do throws(BLEError) {
            try await turn.wait()
        } catch {
            discovery.endChange(number)
            throw error
        }
        return number
    }

    /// - Parameter isQuiet: whether advertisements are received from the kernel.
    private func changeDiscovery(_ filter: DiscoveryFilter, isQuiet: Bool) async throws(BLEError) {
        guard !filter.isPassive else {
            try await passive.start(filter)
            try await stopSession()
            stopManagement()
            return try await endIfShutDown()
        }
        let epoch = discovery.epoch
        // The socket is open as long as bluetoothd has a filter with which it reports little: from before the first
        // such filter until after the next other one.
        if isQuiet { try await startManagement(in: epoch) }
        try await setFilter(filter, isQuiet: isQuiet)
        if !isQuiet { stopManagement() }
        try await endIfShutDown()
        guard discovery.epoch == epoch else { throw Self.disappeared }
        if !discovery.isOn {
            try await startSession(filter, isQuiet: isQuiet)
            guard discovery.started(in: epoch) else { throw Self.disappeared }
            await passive.stop()
            // Devices that another client's scan has found are in range too, and are not announced as new.
            for path in objects.devices.paths(where: \.isHeard) { heard(path) }
        }
        try await endIfShutDown()
        guard discovery.epoch == epoch else { throw Self.disappeared }
        guard isQuiet, management?.isOpen != true else { return }
        // The end of the socket was reported to the scans of then. Those that have begun since need another one.
        discovery.socketEnded()
        do throws(BLEError) {
            try await startManagement(in: epoch)
        } catch {
            Task { await self.endDeafSession() }
            throw error
        }
        try await endIfShutDown()
        guard discovery.epoch == epoch else { throw Self.disappeared }
    }

    private static let disappeared = BLEError.lost("the adapter disappeared while the scan was starting")

    /// Ends the scan and throws `shutDown` if the central was shut down during a change. The shutdown may have given up
    /// the wait for its own turn, and the connection may outlast it.
    private func endIfShutDown() async throws(BLEError) {
        guard isShutDown else { return }
        await passive.stop()
        try? await stopSession()
        throw .shutDown
    }

    private func startManagement(in epoch: Int) async throws(BLEError) {
        guard let role else { throw .shutDown }
        do throws(BLEError) {
            try await management?.start(for: role)
        } catch {
            guard !isShutDown else { throw .shutDown }
            throw discovery.epoch == epoch ? error : Self.disappeared
        }
    }

    /// Handles the end of the socket from which advertisements are received.
    func managementEnded(_ error: BLEError) {
        discovery.socketEnded()
        // A change to a scan without the socket reports it only if the change fails.
        if !discovery.isLeavingSocket { report(.scanEnded(error)) }
        Task { await self.endDeafSession() }
    }

    /// Ends the session whose socket has ended, unless a later scan has opened another.
    private func endDeafSession() async {
        guard let change = try? await beginChange() else { return }
        defer { discovery.endChange(change) }
        if discovery.isDeaf { try? await stopSession() }
    }

    /// Whether received advertisements are reported.
    var isListening: Bool { discovery.isOn || passive.isOn }

    /// Reports the advertisement of a device.
    func heard(_ path: String) {
        if isListening, let (id, advertisement) = onStack({ $0.heard(path) }) {
            report(.advertisementReceived(id, advertisement))
        }
    }

    /// Handles an end of this client's scan that it has not requested.
    func voidDiscovery() {
        tolerate(.zero)
        discovery.void()
        passive.assumeIsolated { $0.forget() }
        stopManagement()
    }

    /// Receives advertisements from bluetoothd alone.
    func stopManagement() { management?.assumeIsolated { $0.stop() } }

    /// How long to retry. The kernel's scan takes 10.24 s.
    private static let busyLimit = Duration.seconds(15)

    /// Calls `StartDiscovery`, and retries while it answers `InProgress`.
    ///
    /// Either the kernel is still scanning for a bluetoothd that has died, which ends by itself, or this client has a
    /// session from a call whose answer it did not await, which is ended first.
    private func startSession(_ filter: DiscoveryFilter, isQuiet: Bool) async throws(BLEError) {
        var isFirst = true
        try await Backoff(every: .milliseconds(500)).retry(clock: configuredClock) { () throws(BLEError) in
            // The filter is set again, whether or not the ended session had one.
            if !isFirst { try await setFilter(filter, isQuiet: isQuiet) }
            isFirst = false
            _ = try await stack.call(BlueZ.call(adapterPath, BlueZ.adapter, "StartDiscovery"), during: .discovery)
        } while: { error, waited in
            // bluetoothd starts the session even if its answer is not awaited, so it is stopped. Calls keep their
            // order.
            if error.code == .timedOut || error.code == .cancelled { abandonSession() }
            guard error.code == .busy, waited < Self.busyLimit else { return false }
            logger.debug("scanning again", metadata: ["error": "\(error)"])
            _ = try? await stack.call(BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery"), during: .discovery)
            return true
        }
    }

    private func abandonSession() {
        let stop = BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery")
        onStack { stack in
            _ = stack.start(
                stop, during: .discovery, timeout: BlueZStack.promptly, read: { _ in }, completion: { _ in })
        }
    }

    /// Ends the session that bluetoothd has or may get, without waiting for the turn of a change.
    func abandonDiscovery() {
        if discovery.isOn || discovery.changeCount > 0 { abandonSession() }
    }

    /// - Parameter isQuiet: whether bluetoothd is to report little: advertisements are received from the kernel.
    private func setFilter(_ filter: DiscoveryFilter, isQuiet: Bool) async throws(BLEError) {
        let version = objects.adapters[adapterPath]?.version
        let hasPatterns = version?.hasPatterns ?? false
        var options: [String: DBusValue] = [
            "Transport": .string(Self.name(of: filter.transport)),
            "DuplicateData": .boolean(!isQuiet || !hasPatterns),
        ]
        // Every packet counts. Without a limit of either kind, BlueZ hides RSSI changes of less than 8 dB, see
        // `discovery_filter_has_proximity` in its `src/adapter.c`, and a silent peripheral would look the same as one
        // with a steady signal. With an RSSI limit, the kernel drops advertisements of unknown signal strength. The
        // kernel does not receive a path loss limit, and the highest one, 137 dB, accepts everything.
        if let minimum = filter.minimumRSSI {
            options["RSSI"] = .int16(Int16(clamping: max(-127, min(20, minimum))))
        } else if !isQuiet {
            options["Pathloss"] = .uint16(137)
        } else if hasPatterns {
            // Every address begins with the empty pattern. Without any filter, bluetoothd would pause between its
            // scans, and a controller could report each device once in a scan.
            options["Pattern"] = .string("")
        }
        // Without service UUIDs in the filter, more is reported. The central filters in any case.
        if !filter.services.isEmpty, version?.crashesAtServiceFilters != true {
            options["UUIDs"] = .strings(filter.services.sorted().map(\.fullDescription))
        }
        _ = try await stack.call(
            BlueZ.call(adapterPath, BlueZ.adapter, "SetDiscoveryFilter", .options(options)), during: .discovery)
    }

    /// Returns bluetoothd's name of a transport.
    private static func name(of transport: Transport) -> String {
        switch transport {
        case .le: "le"
        case .classic: "bredr"
        case .any: "auto"
        }
    }

    /// Ends this client's scans and clears its filter.
    public func stopDiscovery() async throws(BLEError) {
        let change = try await beginChange()
        defer { discovery.endChange(change) }
        tolerate(.zero)
        discovery.filter = nil
        stopManagement()
        await passive.stop()
        try await stopSession()
    }

    private func stopSession() async throws(BLEError) {
        guard discovery.stop() else { return }
        do throws(BLEError) {
            try await endSession()
        } catch {
            // `Failed: No discovery started`, and `NotReady` after a power-off, mean that no session is left.
            guard [.scanFailed, .poweredOff, .adapterNotFound].contains(error.code) else {
                throw error
            }
        }
        // `StopDiscovery` keeps the filter. An empty filter clears it.
        _ = try? await stack.call(
            BlueZ.call(adapterPath, BlueZ.adapter, "SetDiscoveryFilter", .options()), during: .discovery)
    }

    /// Calls `StopDiscovery`, and repeats it while it answers `InProgress`.
    ///
    /// bluetoothd answers so when the kernel refuses to stop because it is stopping already, in order to scan with the
    /// filters of fewer programs. The session has ended then, and the next answer says so.
    private func endSession() async throws(BLEError) {
        let stop = BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery")
        let pauses = Backoff(initial: .milliseconds(10), factor: 2, maximum: .milliseconds(500))
        try await pauses.retry(clock: configuredClock) { () throws(BLEError) in
            _ = try await stack.call(stop, during: .discovery)
        } while: { error, waited in
            error.code == .busy && waited < Self.busyLimit
        }
    }
}
