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
        let own = peripherals.id(of: id)
        if hasLink(id, port) { return }
        // Others of the adapter may wait for the link.
        if link(id, port) { return linkPending(own) }
        let outcome = Outcome<Void>()
        let token = number()
        pending[own, default: []].append(PendingConnect(token: token, id: id, port: port, outcome: outcome))
        let timer = outcome.expire(after: Self.connectionTimeout, clock: clock) {
            BLEError(.connectionFailed, "the link could not be established: the peripheral does not answer")
        }
        defer {
            timer.cancel()
            removePending(own) { $0.token == token }
        }
        try await outcome.wait()
    }

    /// Makes the link if the peripheral can be connected to now. Returns whether it was made.
    private func link(_ name: Peripheral.ID, _ port: Int) -> Bool {
        guard let device = peripherals[name] else { return false }
        // It may have a link already, under another of the peripheral's addresses.
        if device.links[port] != nil { return hasLink(name, port) }
        if join(device, as: name, port) { return true }
        let record = device.records[adapter(of: port)] ?? SimulatedRecord()
        guard device.hasRoom, device.isAdvertising, device.acceptsLinks,
            reaches(device, as: name, on: adapter(of: port)), device.isInRange(of: adapter(of: port)),
            device.air.loss < 1,
            !record.isBlocked, device.definition.advertisement.isConnectable != false
        else {
            return false
        }
        // A bond secures every link from the start.
        let security = record.isBondLost ? .open : record.bond?.security ?? .open
        let id = device.id
        let shared = SharedLink(maker: port, ordinal: device.linkCount, security: security)
        device.linkCount += 1
        device.links[port] = SimulatedLink(number: number(), port: port, name: name, shared: shared)
        linked.insert(id)
        logger.debug(
            "simulated link made", metadata: ["central": "\(Self.central(port))", "peripheral": "\(id)"])
        updateAdvertising(device)
        startEvents(device, shared)
        tellHost(id, port, isConnected: true)
        if let onLink = device.onLink {
            let peripheral = SimulatedPeripheral(id: id, radio: self)
            shared.script = Task(executorPreference: tasks) { await onLink(peripheral) }
        }
        return true
    }

    /// Makes the pending links to a peripheral that may have become connectable, or to which the adapter of another
    /// central has a link now.
    func linkPending(_ id: Peripheral.ID) {
        guard isRunning else { return }
        for connect in pending[id] ?? [] {
            // One that was cancelled may not have left yet.
            guard connect.outcome.isOpen, isOn(connect.port), link(connect.id, connect.port) else { continue }
            removePending(id) { $0.token == connect.token }
            connect.outcome.deliver(.success(()))
        }
    }

    /// Removes attempts to connect to a peripheral, and returns them.
    @discardableResult
    private func removePending(_ id: Peripheral.ID, where matches: (PendingConnect) -> Bool) -> [PendingConnect] {
        guard let all = pending[id] else { return [] }
        let others = all.filter { !matches($0) }
        pending[id] = others.isEmpty ? nil : others
        return all.filter(matches)
    }

    func failPending(_ error: BLEError, where matches: (PendingConnect) -> Bool) {
        let failed = pending.keys.flatMap { removePending($0, where: matches) }
        for connect in failed.sorted(by: { $0.token < $1.token }) { connect.outcome.deliver(.failure(error)) }
    }

    func disconnect(_ id: Peripheral.ID, _ port: Int) {
        let cancelled = BLEError(.connectionCancelled, "a disconnect ended the attempt to connect")
        let own = peripherals.id(of: id)
        // The address may have been forgotten since.
        failPending(cancelled) { $0.id == id && $0.port == port }
        guard hasLink(id, port) else { return failPauses(cancelled, of: own) { $0.place.port == port } }
        if let device = peripherals[id], let link = device.links[port] { leave(device, link) }
    }

    /// Returns the peripheral. Throws if it does not have a link to the central.
    func device(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> SimulatedDevice { try linked(id, port).device }

    /// Returns a peripheral, and the central's link to it. Throws if there is none.
    func linked(_ id: Peripheral.ID, _ port: Int) throws(BLEError) -> (device: SimulatedDevice, link: SimulatedLink) {
        guard isRunning else { throw Self.lost }
        guard let device = peripherals[id], let link = device.links[port],
            !device.hasPrivateAddress || names(of: device, link).contains(id)
        else { throw Self.noLink }
        return (device, link)
    }

    /// Throws if a link has ended, even if there is a new one: what has begun on a link does not go on over another.
    func check(_ link: SimulatedLink, of device: SimulatedDevice) throws(BLEError) {
        guard isRunning else { throw Self.lost }
        guard device.links[link.port] === link else { throw Self.noLink }
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
        device.orderedLinks.filter { $0.shared === shared }
    }

    /// Ends a central's link as bluetoothd's clients do: for all of them only if this one has made it, and no other has
    /// subscriptions or channels.
    func leave(_ device: SimulatedDevice, _ link: SimulatedLink) {
        let error = BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local)
        let others = uses(of: link.shared, device).filter { $0 !== link }
        let isInUse =
            others.contains { !$0.subscriptions.isEmpty }
            || link.shared.writers.values.contains { $0.port != link.port && !$0.channel.isClosed }
        endUse(device, link, error)
        guard link.shared.maker == link.port, !isInUse else { return }
        let ended = BLEError(.disconnected, "another program has ended the link", disconnectReason: .local)
        for other in others { endUse(device, other, ended) }
    }

    // MARK: Ends

    /// Ends the links of a peripheral that match, all by default, and notifies their centrals.
    func endLinks(
        _ device: SimulatedDevice, _ error: BLEError, where matches: (SimulatedLink) -> Bool = { _ in true }
    ) {
        for link in device.orderedLinks where matches(link) { endLink(device, link.shared, error) }
    }

    func endLinks(_ id: Peripheral.ID, _ error: BLEError) {
        if let device = peripherals[id] { endLinks(device, error) }
    }

    /// Ends the links of a peripheral to an adapter.
    func endLinks(_ device: SimulatedDevice, on adapter: String, _ error: BLEError) {
        endLinks(device, error) { ports[$0.port]?.adapter == adapter }
    }

    /// Ends the links of a central.
    func endLinks(of port: Int) {
        let ended = BLEError(.disconnected, "the link was ended by a call to disconnect", disconnectReason: .local)
        for device in linkedDevices { endLinks(device, ended) { $0.port == port } }
    }

    /// The peripherals with a link, in order of their ids.
    var linkedDevices: [SimulatedDevice] {
        linked.sorted { $0.rawValue < $1.rawValue }.compactMap { peripherals[$0] }
    }

    /// Ends a link for all centrals on its adapter, and notifies them.
    func endLink(_ device: SimulatedDevice, _ link: SharedLink, _ error: BLEError) {
        for use in uses(of: link, device) { endUse(device, use, error) }
    }

    /// Ends a central's use of a link, and the link if no other central on its adapter uses it.
    private func endUse(_ device: SimulatedDevice, _ link: SimulatedLink, _ error: BLEError) {
        guard device.links[link.port] === link else { return }
        device.links[link.port] = nil
        let (id, shared) = (device.id, link.shared)
        let isLast = uses(of: shared, device).isEmpty
        logger.debug(
            "simulated link ended",
            metadata: ["central": "\(Self.central(link.port))", "peripheral": "\(id)", "error": "\(error)"])
        if isLast {
            shared.served.end()
            shared.script?.cancel()
            shared.eventTask?.cancel()
            for arrival in shared.crossing { arrival.deliver(.failure(error)) }
            shared.crossing = []
        }
        // The channels end before the host is notified and closes its ends, which would look like a regular end.
        for channel in link.channels { channel.lose(error) }
        if isLast { tellHost(id, shared.maker, isConnected: false) }
        for operation in link.operations.sorted(by: { $0.key < $1.key }) { operation.value(error) }
        failPauses(error, of: id) { $0.place.port == link.port || isLast && $0.place.link === shared }
        if isLast {
            while let next = shared.outgoing.popFirst() {
                traceLoss(of: next.value, next.handle, id)
                next.arrival?.deliver(.failure(error))
            }
            for arrival in shared.unanswered { arrival.deliver(.failure(error)) }
            shared.unanswered = []
            while let next = shared.indications.popFirst() {
                traceLoss(of: next.value, next.handle, id)
                next.arrival?.deliver(.failure(error))
                next.departure?.deliver(.failure(error))
            }
        }
        let subscriptions = link.subscriptions.sorted { $0.key < $1.key }
        link.subscriptions = [:]
        for (handle, subscription) in subscriptions {
            endSubscription(handle, subscription.run, link, device)
            subscription.drain()
        }
        for writer in shared.writers.sorted(by: { $0.key < $1.key }).map(\.value) {
            if isLast { writer.task?.cancel() }
            if isLast || writer.port == link.port { writer.channel.close() }
        }
        if isLast {
            for command in shared.commands.sorted(by: { $0.key < $1.key }) { command.value.cancel() }
            for service in device.definition.services { service.tellOfDisconnection(of: shared.central) }
        }
        if isRunning {
            for name in names(of: device, link) { ports[link.port]?.handle(.linkEnded(name, error)) }
        }
        if device.hasPrivateAddress, link.name != device.address { forgetLater(link.name, of: device) }
        guard isLast else { return }
        if device.links.isEmpty { linked.remove(id) }
        updateAdvertising(device)
        linkPending(id)
    }
}
