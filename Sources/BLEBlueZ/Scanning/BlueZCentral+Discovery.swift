public import BLE
internal import Waiting

extension BlueZCentral {
    /// Starts this client's scan, which serves any number of scans of the central: a discovery session of bluetoothd's,
    /// its monitors, or a part in the kernel's discovery.
    public func startDiscovery(_ filter: DiscoveryFilter) async throws(BLEError) {
        let change = try await beginChange()
        defer { scan.endChange(change) }
        guard !isShutDown else { throw .shutDown }
        try requirePower()
        tolerate(filter.tolerance)
        var untimed = filter
        untimed.tolerance = .zero
        // The tolerance is not passed to bluetoothd.
        if isListening, untimed == scan.filter { return }
        scan.filter = nil
        let (epoch, wasListening) = (scan.epoch, isListening)
        scan.startBegins()
        defer { scan.startEnds() }
        do throws(BLEError) {
            try await changeScan(untimed, in: epoch)
            try checkChange(in: epoch)
            guard isListening else { throw scan.lastEnd ?? DiscoverySession.disappeared }
        } catch {
            tolerate(.zero)
            // What was scanned before has ended with the change.
            if wasListening, !isListening, !isShutDown, scan.epoch == epoch {
                report(.scanEnded(scan.lastEnd ?? error))
            }
            throw error
        }
        scan.filter = untimed
    }

    /// Waits until earlier starts and stops of the scan have ended. Returns the number of this one.
    private func beginChange() async throws(BLEError) -> Int {
        let change = scan.addChange()
        do throws(BLEError) {
            try await change.turn.wait()
        } catch {
            scan.endChange(change.number)
            throw error
        }
        return change.number
    }

    /// What was scanned with before ends when the new scan has begun.
    private func changeScan(_ filter: DiscoveryFilter, in epoch: Int) async throws(BLEError) {
        if filter.isPassive {
            try await passive.start(filter)
            await replaceSession()
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
            await replaceSession()
        } else {
            let hadSession = scan.hasSession
            try await startSession(filter, in: epoch)
            if !hadSession {
                stopManagement()
                await passive.stop()
                // Devices that another client's scan has found are in range too, and are not announced as new.
                for path in objects.devices.paths(where: \.isHeard) { heard(path) }
            }
        }
    }

    /// Throws the reason if a change that has begun in an epoch cannot be carried out any more.
    private func checkChange(in epoch: Int) throws(BLEError) {
        guard !isShutDown else { throw .shutDown }
        guard scan.epoch == epoch else { throw DiscoverySession.disappeared }
    }

    /// Ends this client's scans and clears its filter.
    public func stopDiscovery() async throws(BLEError) {
        let change = try await beginChange()
        defer { scan.endChange(change) }
        tolerate(.zero)
        scan.filter = nil
        stopManagement()
        await passive.stop()
        try await endSession()
    }

    // MARK: Sessions

    /// Has bluetoothd scan with a filter. Its session goes on with each new one.
    private func startSession(_ filter: DiscoveryFilter, in epoch: Int) async throws(BLEError) {
        let (wish, start) = onStack { [wish = scan.wish] stack in stack.wantDiscovery(filter, wish) }
        scan.wants(wish)
        do throws(BLEError) {
            try await start.wait()
            try checkChange(in: epoch)
            scan.sessionBegan()
        } catch {
            // The session goes on with the former filter, if there is one.
            if scan.hasSession { onStack { $0.giveUpDiscovery(wish) } } else { leaveDiscovery() }
            throw error
        }
    }

    /// Ends this scan's part in bluetoothd's session.
    private func leaveDiscovery() {
        guard let wish = scan.leaveSession() else { return }
        onStack { $0.endDiscovery(wish) }
    }

    /// Ends this scan's part in bluetoothd's session, and returns when bluetoothd has ended it, or somebody wants it.
    private func endSession() async throws(BLEError) {
        leaveDiscovery()
        try await onStack { $0.discoveryEnd() }.wait()
    }

    /// Ends the former scan's part in bluetoothd's session. The next scan is on, whether or not bluetoothd does so.
    private func replaceSession() async { if scan.wish != nil { try? await endSession() } }

    /// Ends the scan for a shutdown. Returns the waits until bluetoothd has ended its part.
    func abandonScan() -> [Outcome<Void>] {
        stopManagement()
        let ends = passive.assumeIsolated { $0.forget(.shutDown) }
        _ = scan.leaveSession()
        return ends + [
            onStack {
                $0.endDiscoveries()
                return $0.discoveryEnd()
            }
        ]
    }

    /// Handles an end of this client's scan that it has not requested.
    func voidScan() {
        tolerate(.zero)
        scan.void()
        let error =
            adapterState() == .poweredOff ? BLEError(.poweredOff, "the adapter was switched off") : unavailable
        _ = passive.assumeIsolated { $0.forget(error) }
        stopManagement()
    }

    // MARK: Advertisements

    /// Whether the kernel reports advertisements, and bluetoothd does not.
    var isQuiet: Bool { management?.isOn ?? false }

    /// Whether received advertisements are reported.
    var isListening: Bool { scan.hasSession || passive.isOn || isQuiet }

    /// Reports the advertisement of a device that bluetoothd has reported.
    func heard(_ path: String) {
        guard isListening, !isQuiet, let (id, advertisement) = onStack({ $0.heard(path) }) else { return }
        report(.advertisementReceived(id, advertisement))
    }

    /// Receives advertisements from bluetoothd alone.
    private func stopManagement() { management?.assumeIsolated { $0.stop() } }

    /// Handles the end of what has reported advertisements: the socket or the monitors.
    func scanSourceEnded(_ error: BLEError) {
        guard scan.ended(error) else { return }
        tolerate(.zero)
        report(.scanEnded(error))
    }
}
