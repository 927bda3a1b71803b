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
        guard isKnown(id, port) else {
            guard id.isAddress else { throw .notAnAddress(id) }
            throw BLEError(
                .peripheralNotFound, "the peripheral has not been discovered", remedy: "It may be out of range.")
        }
        if hasLink(id, port) || link(id, port) { return }
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
    private func link(_ name: Peripheral.ID, _ port: Int) -> Bool {
        let record = record(of: name, port)
        guard let device = peripherals[name] else { return false }
        if join(device, as: name, port) { return true }
        guard device.hasRoom, device.isAdvertising, device.acceptsLinks,
            reaches(device, as: name, on: adapter(of: port)), device.air.loss < 1,
            !record.isBlocked, device.definition.advertisement.isConnectable != false
        else {
            return false
        }
        // A bond secures every link from the start.
        let security = record.isBondLost ? .open : record.bond?.security ?? .open
        let id = device.id
        let shared = SharedLink(maker: port, security: security)
        let link = SimulatedLink(number: number(), port: port, name: name, shared: shared)
        device.links[port] = link
        linked.insert(id)
        logger.debug(
            "simulated link made", metadata: ["central": "\(Self.central(port))", "peripheral": "\(id)"])
        updateAdvertising(id)
        startEvents(device, shared)
        tellHost(id, port, isConnected: true)
        if let onLink = device.onLink {
            let peripheral = SimulatedPeripheral(id: id, radio: self)
            shared.script = Task(executorPreference: tasks) { await onLink(peripheral) }
        }
        return true
    }

    // MARK: Links of several centrals

    /// Lets a central use the link of another one on its adapter. Returns whether there is one. A host does not share
    /// its links, because each central is another device for it.
    private func join(_ device: SimulatedDevice, as name: Peripheral.ID, _ port: Int) -> Bool {
        guard hosts[device.id] == nil,
            let other = device.links.values.first(where: { adapter(of: $0.port) == adapter(of: port) }),
            names(of: device, other).contains(name) || reaches(device, as: name, on: adapter(of: port))
        else { return false }
        device.links[port] = SimulatedLink(number: number(), port: port, name: name, shared: other.shared)
        logger.debug(
            "simulated link shared", metadata: ["central": "\(Self.central(port))", "peripheral": "\(device.id)"])
        return true
    }

    /// Returns the links of the centrals that use the same one, in the order in which they began.
    func uses(of shared: SharedLink, _ device: SimulatedDevice) -> [SimulatedLink] {
        guard device.links.count > 1 else { return device.links.values.filter { $0.shared === shared } }
        return device.links.values.filter { $0.shared === shared }.sorted { $0.number < $1.number }
    }

    /// Ends a central's link as bluetoothd's clients do: for all of them only if this one has made it, and no other has
    /// subscriptions or channels.
    func leave(_ device: SimulatedDevice, _ link: SimulatedLink) {
        let error = BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local)
        let others = uses(of: link.shared, device).filter { $0 !== link }
        let isInUse = others.contains { other in
            !other.subscriptions.isEmpty || other.writers.values.contains { !$0.channel.isClosed }
        }
        guard link.shared.maker == link.port, !isInUse else { return endUse(device, link, error) }
        endUse(device, link, error)
        let ended = BLEError(.disconnected, "another program has ended the link", disconnectReason: .local)
        for other in others { endUse(device, other, ended) }
    }

    /// Makes the pending links to a peripheral that may have become connectable.
    func linkPending(_ id: Peripheral.ID) {
        guard isRunning else { return }
        for (token, connect) in pending.sorted(by: { $0.key < $1.key }) where peripherals.id(of: connect.id) == id {
            // One that was cancelled may not have left yet.
            guard connect.outcome.isOpen, isOn(connect.port) else { continue }
            guard link(connect.id, connect.port) else {
                // Another may have connected to an address that the peripheral has.
                if peripherals[id]?.hasPrivateAddress == true { continue }
                return
            }
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
        guard hasLink(id, port) else {
            let own = peripherals.id(of: id)
            return failPauses(cancelled) { $0.peripheral == own && $0.port == port }
        }
        if let device = peripherals[id], let link = device.links[port] { leave(device, link) }
    }

    /// Returns the peripheral. Throws if it does not have a link to the central.
    func device(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> SimulatedDevice {
        guard isRunning else { throw Self.lost }
        guard let device = peripherals[id], let link = device.links[port],
            !device.hasPrivateAddress || names(of: device, link).contains(id)
        else { throw Self.noLink }
        return device
    }

    private func hasLink(_ id: Peripheral.ID, _ port: Int) -> Bool { (try? device(id, port)) != nil }

    /// Whether the adapter of a central has a link to a peripheral, through that central or another.
    func isLinked(_ device: SimulatedDevice, as id: Peripheral.ID, _ port: Int) -> Bool {
        let adapter = ports[port]?.adapter
        return device.links.values.contains { link in
            ports[link.port]?.adapter == adapter
                && (!device.hasPrivateAddress || names(of: device, link).contains(id))
        }
    }

    static let noLink = BLEError(.disconnected, "there is no link")
}
