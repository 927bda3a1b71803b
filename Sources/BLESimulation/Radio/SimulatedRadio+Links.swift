internal import BLE
internal import Logging
internal import Waiting

extension SimulatedRadio {
    // MARK: Links

    /// Returns the address of a port's central.
    static func central(_ port: Int) -> Peripheral.ID {
        Peripheral.ID(
            rawValue: "CE:00:00:00:\(Hex.string([UInt8(port >> 8 & 0xFF)])):\(Hex.string([UInt8(port & 0xFF)]))")
    }

    func connect(_ id: Peripheral.ID, _ port: Int) async throws(BLEError) {
        try checkReady(port)
        guard ports[port]?.known.contains(id) == true else {
            guard id.isAddress else { throw .notAnAddress(id) }
            throw BLEError(
                .peripheralNotFound, "the peripheral has not been discovered", remedy: "It may be out of range.")
        }
        if peripherals[id]?.links[port] != nil || link(id, port) { return }
        let outcome = Outcome<Void>()
        let token = number()
        pending[token] = PendingConnect(id: id, port: port, outcome: outcome)
        let timer = outcome.expire(after: Self.connectionTimeout, clock: clock) {
            BLEError(.connectionFailed, "the link could not be established: the peripheral does not answer")
        }
        defer {
            timer.cancel()
            pending[token] = nil
        }
        try await outcome.wait()
    }

    /// Makes the link if the peripheral can be connected to now. Returns whether it was made.
    private func link(_ id: Peripheral.ID, _ port: Int) -> Bool {
        let record = record(of: id, port)
        guard let device = peripherals[id], device.hasRoom, device.isAdvertising, device.acceptsLinks,
            !record.isBlocked, device.definition.advertisement.isConnectable != false
        else {
            return false
        }
        // A bond secures every link from the start.
        let security = record.isBondLost ? .open : record.bond?.security ?? .open
        peripherals[id]?.links[port] = SimulatedLink(number: number(), port: port, security: security)
        logger.debug(
            "simulated link made", metadata: ["central": "\(Self.central(port))", "peripheral": "\(id)"])
        updateAdvertising(id)
        tellHost(id, port, isConnected: true)
        if let onLink = device.onLink {
            device.links[port]?.script = Task(executorPreference: tasks) { await onLink() }
        }
        return true
    }

    /// Makes the pending links to a peripheral that may have become connectable.
    func linkPending(_ id: Peripheral.ID) {
        guard isRunning else { return }
        for (token, connect) in pending.sorted(by: { $0.key < $1.key }) where connect.id == id {
            // One that was cancelled may not have left yet.
            guard connect.outcome.isOpen, isOn(connect.port) else { continue }
            guard link(id, connect.port) else { return }
            pending[token] = nil
            connect.outcome.deliver(.success(()))
        }
    }

    func failPending(_ error: BLEError, where matches: (PendingConnect) -> Bool) {
        for (token, connect) in pending where matches(connect) {
            pending[token] = nil
            connect.outcome.deliver(.failure(error))
        }
    }

    func disconnect(_ id: Peripheral.ID, _ port: Int) {
        let cancelled = BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")
        failPending(cancelled) { $0.id == id && $0.port == port }
        guard peripherals[id]?.links[port] != nil else {
            return failPauses(cancelled) { $0.peripheral == id && $0.port == port }
        }
        endLink(
            id, port, BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local))
    }

    /// Returns the peripheral. Throws if it does not have a link to the central.
    func device(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> SimulatedDevice {
        guard isRunning else { throw Self.lost }
        guard let device = peripherals[id], device.links[port] != nil else { throw Self.noLink }
        return device
    }

    /// Whether the adapter of a central has a link to a peripheral, through that central or another.
    func isLinked(_ device: SimulatedDevice, _ port: Int) -> Bool {
        let adapter = ports[port]?.adapter
        return device.links.keys.contains { ports[$0]?.adapter == adapter }
    }

    static let noLink = BLEError(.disconnected, "there is no link")
}
