public import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Waiting

extension BlueZCentral {
    /// Starts this client's scan, which serves any number of scans of the central: a discovery session of bluetoothd's,
    /// its monitors, or a part in the kernel's discovery.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        let change = try await beginChange()
        defer { endChange(change) }
        guard !isShutDown else { throw .shutDown }
        try requirePower()
        tolerate(filter.tolerance)
        var untimed = filter
        untimed.tolerance = .zero
        // The tolerance is not passed to bluetoothd.
        if isListening, untimed == discovery.filter { return }
        discovery.filter = nil
        let (epoch, hadSocket) = (discovery.epoch, isQuiet)
        discovery.isLeavingSocket = filter.isPassive || filter.transport != .le
        defer { (discovery.isLeavingSocket, discovery.socketEnd) = (false, nil) }
        do throws(BLEError) {
            try await changeDiscovery(untimed, change)
        } catch {
            tolerate(.zero)
            // The shutdown may have given up the wait for its own turn, and the connection may outlast it.
            if isShutDown { try? await endScan(for: change) }
            // The scan would go on as before, for which the socket is missing.
            if discovery.isLeavingSocket, hadSocket, !isListening, discovery.epoch == epoch {
                report(.scanEnded(discovery.socketEnd ?? error))
            }
            throw error
        }
        if isListening { discovery.filter = untimed }
    }

    /// Waits until earlier changes of scans over this connection have ended. Returns the number of this one.
    ///
    /// - Parameter follows: whether the connections that wait for objects are an earlier change.
    func beginChange(follows: Bool = true) async throws(BLEError) -> Int {
        let change = onStack { $0.addScanChange() }
        discovery.changeCount += 1
        if follows { discovery.objects.close() }
        do throws(BLEError) {
            try await change.turn.wait()
        } catch {
            endChange(change.number)
            throw error
        }
        return change.number
    }

    func endChange(_ number: Int) {
        discovery.changeCount -= 1
        onStack { $0.endScanChange(number) }
    }

    /// What was scanned with before ends when the new scan has begun.
    private func changeDiscovery(_ filter: DiscoveryFilter, _ change: Int) async throws(BLEError) {
        let epoch = discovery.epoch
        if filter.isPassive {
            try await passive.start(filter)
            try await replaceSession(for: change)
            stopManagement()
        } else if filter.transport == .le, let management {
            guard let role else { throw .shutDown }
            do throws(BLEError) {
                try await management.start(for: role)
            } catch {
                try checkChange(in: epoch)
                throw error
            }
            await passive.stop()
            try await replaceSession(for: change)
            try checkChange(in: epoch)
            guard isQuiet else { throw ManagementScanner.hasEnded }
        } else {
            try await setFilter(filter)
            try checkChange(in: epoch)
            if !discovery.isOn {
                try await startSession(filter, for: change, in: epoch)
                guard discovery.started(in: epoch) else { throw Self.disappeared }
                stopManagement()
                await passive.stop()
                // Devices that another client's scan has found are in range too, and are not announced as new.
                for path in objects.devices.paths(where: \.isHeard) { heard(path) }
            }
        }
        try checkChange(in: epoch)
    }

    /// Throws the reason if a change that has begun in an epoch cannot be carried out any more.
    func checkChange(in epoch: Int) throws(BLEError) {
        guard !isShutDown else { throw .shutDown }
        guard discovery.epoch == epoch else { throw Self.disappeared }
    }

    static let disappeared = BLEError.lost("the adapter disappeared while the scan was starting")

    /// Handles the end of the socket from which advertisements are received.
    func managementEnded(_ error: BLEError) {
        discovery.filter = nil
        // A change to a scan without the socket reports it only if the change fails.
        if discovery.isLeavingSocket { discovery.socketEnd = error } else { report(.scanEnded(error)) }
    }

    /// Whether the kernel reports advertisements, and bluetoothd does not.
    var isQuiet: Bool { management?.isOn ?? false }

    /// Whether received advertisements are reported.
    var isListening: Bool { discovery.isOn || passive.isOn || isQuiet }

    /// Reports the advertisement of a device that bluetoothd has reported.
    func heard(_ path: String) {
        guard isListening, !isQuiet, let (id, advertisement) = onStack({ $0.heard(path) }) else { return }
        report(.advertisementReceived(id, advertisement))
    }

    // MARK: Sessions

    /// Handles an end of this client's scan that it has not requested.
    func voidDiscovery() {
        tolerate(.zero)
        discovery.void()
        let error =
            adapterState() == .poweredOff ? BLEError(.poweredOff, "the adapter was switched off") : unavailable
        passive.assumeIsolated { $0.forget(error) }
        stopManagement()
    }

    /// Receives advertisements from bluetoothd alone.
    func stopManagement() { management?.assumeIsolated { $0.stop() } }

    /// How long to retry. The kernel's scan takes 10.24 s.
    private static let busyLimit = Duration.seconds(15)
    /// How long to repeat a stop: longer than D-Bus lets bluetoothd wait with its answer to a start, 25 s.
    private static let stopLimit = Duration.seconds(30)

    /// Calls `StartDiscovery` for a change that has its turn, and retries while it answers `InProgress`.
    ///
    /// Either the kernel is still scanning for a bluetoothd that has died, which ends by itself, or this client has a
    /// session from a call whose answer it did not await, which is ended first.
    ///
    /// - Parameter epoch: that in which the change has begun.
    func startSession(_ filter: DiscoveryFilter, for change: Int, in epoch: Int) async throws(BLEError) {
        var isFirst = true
        // By the loop's clock: the turn does not depend on who moves the central's.
        try await Backoff(every: .milliseconds(500)).retry(clock: stack.loop.clock) { () throws(BLEError) in
            if !isFirst {
                try checkChange(in: epoch)
                // The filter is set again, whether or not the ended session had one.
                try await setFilter(filter)
                try checkChange(in: epoch)
            }
            isFirst = false
            _ = try await stack.call(BlueZ.call(adapterPath, BlueZ.adapter, "StartDiscovery"), during: .discovery)
        } while: { error, waited in
            // bluetoothd starts the session even if its answer is not awaited.
            if error.code == .timedOut || error.code == .cancelled { abandonStart(of: change) }
            guard error.code == .busy, waited < Self.busyLimit else { return false }
            logger.debug("scanning again", metadata: ["error": "\(error)"])
            _ = try? await stack.call(BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery"), during: .discovery)
            return true
        }
        // bluetoothd may have begun it after what has ended the epoch.
        if discovery.epoch != epoch { abandonStart(of: change) }
    }

    /// Ends the session of a start whose answer is not awaited. bluetoothd refuses that until it has answered.
    private func abandonStart(of change: Int) { _ = beginEnd(of: change) }

    /// Ends the monitors that bluetoothd has, and its session, without waiting for the turn of a change.
    ///
    /// bluetoothd refuses to end a session while a start of this client has no answer. The change that has started it
    /// ends it later, if another role keeps the stack's session with the bus open.
    ///
    /// - Parameter mayHaveSession: whether bluetoothd may have a session that outlasts the central.
    func abandonDiscovery(mayHaveSession: Bool) {
        if mayHaveSession {
            let stop = BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery")
            onStack { stack in
                _ = stack.start(
                    stop, during: .discovery, timeout: BlueZStack.promptly, read: { _ in }, completion: { _ in })
            }
        }
        passive.assumeIsolated { $0.forget(.shutDown) }
    }

    /// Whether bluetoothd or the kernel scans for this client, or may begin to.
    var isScanning: Bool { isListening || discovery.changeCount > 0 }

    func setFilter(_ filter: DiscoveryFilter) async throws(BLEError) {
        var options: [String: DBusValue] = [
            "Transport": .string(Self.name(of: filter.transport)),
            "DuplicateData": .boolean(true),
        ]
        // Every packet counts. Without a limit of either kind, BlueZ hides RSSI changes of less than 8 dB, see
        // `discovery_filter_has_proximity` in its `src/adapter.c`, and a silent peripheral would look the same as one
        // with a steady signal. With an RSSI limit, the kernel drops advertisements of unknown signal strength. The
        // kernel does not receive a path loss limit, and the highest one, 137 dB, accepts everything.
        if let minimum = filter.minimumRSSI {
            options["RSSI"] = .int16(Int16(clamping: max(-127, min(20, minimum))))
        } else {
            options["Pathloss"] = .uint16(137)
        }
        // Without service UUIDs in the filter, more is reported. The central filters in any case.
        if !filter.services.isEmpty, objects.adapters[adapterPath]?.version?.crashesAtServiceFilters != true {
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
        defer { endChange(change) }
        tolerate(.zero)
        discovery.filter = nil
        try await endScan(for: change)
    }

    private func endScan(for change: Int) async throws(BLEError) {
        stopManagement()
        await passive.stop()
        try await stopSession(for: change)
    }

    private func stopSession(for change: Int) async throws(BLEError) {
        if discovery.stop() { try await endSession(of: change) }
    }

    /// Ends the session of the former scan, also for a caller that gives up: the next scan is on.
    private func replaceSession(for change: Int) async throws(BLEError) {
        do throws(BLEError) {
            try await stopSession(for: change)
        } catch {
            guard error.code == .cancelled else { throw error }
        }
    }

    /// Ends a session of a change that has its turn, and clears the filter.
    func endSession(of change: Int) async throws(BLEError) { try await beginEnd(of: change).wait() }

    /// Begins to end a session, also for a caller that has given up. The turn of its change lasts until that is done.
    private func beginEnd(of change: Int) -> Outcome<Void> {
        discovery.changeCount += 1
        onStack { $0.holdScanChange(change) }
        let outcome = Outcome<Void>()
        Task {
            await outcome.deliver { () throws(BLEError) in try await self.endSession() }
            discovery.changeCount -= 1
            onStack { $0.releaseScanChange(change) }
        }
        return outcome
    }

    private func endSession() async throws(BLEError) {
        do throws(BLEError) {
            try await callStop()
        } catch {
            // `Failed: No discovery started`, and `NotReady` after a power-off, mean that no session is left.
            guard [.scanFailed, .poweredOff, .adapterNotFound].contains(error.code) else { throw error }
        }
        // `StopDiscovery` keeps the filter. An empty filter clears it.
        _ = try? await stack.call(
            BlueZ.call(adapterPath, BlueZ.adapter, "SetDiscoveryFilter", .options()), during: .discovery)
    }

    /// Calls `StopDiscovery`, and repeats it while it answers `InProgress`.
    ///
    /// bluetoothd answers so until it has answered `StartDiscovery`, and when the kernel refuses to stop because it is
    /// stopping already, in order to scan with the filters of fewer programs. Then the session has ended, and the next
    /// answer says so.
    private func callStop() async throws(BLEError) {
        let stop = BlueZ.call(adapterPath, BlueZ.adapter, "StopDiscovery")
        let pauses = Backoff(initial: .milliseconds(10), factor: 2, maximum: .milliseconds(500))
        try await pauses.retry(clock: stack.loop.clock) { () throws(BLEError) in
            _ = try await stack.call(stop, during: .discovery)
        } while: { error, waited in
            error.code == .busy && waited < Self.stopLimit
        }
    }
}
