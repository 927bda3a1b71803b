internal import BLE
internal import Waiting

/// Values of peripherals, on their way to the centrals that are subscribed.
extension SimulatedRadio {
    func value(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> [UInt8]? {
        guard let device = peripherals[id], let handle = device.attributes.handles(of: uuid).first else { return nil }
        return device.attributes.characteristics[handle]?.value
    }

    /// Notifies a value at once if the current task runs on the radio's executor. Returns false otherwise.
    nonisolated func notifyNow(_ value: [UInt8], _ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Bool {
        guard executor.isCurrent else { return false }
        assumeIsolated { $0.notify(value, uuid, id) }
        return true
    }

    func notify(_ value: [UInt8], _ uuid: BluetoothUUID, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        for handle in device.attributes.handles(of: uuid) { notify(value, handle, device) }
    }

    func notify(_ value: [UInt8], _ key: CharacteristicKey, _ id: Peripheral.ID) {
        guard let device = peripherals[id], let handle = device.attributes.handle(of: key) else { return }
        notify(value, handle, device)
    }

    /// Notifies a value to all subscribers.
    func notify(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice) {
        let kind = store(value, handle, device)
        guard device.links.count > 1 else {
            if let link = device.links.first?.value { send(value, handle, device, kind, over: link.shared) }
            return
        }
        var sent: Set<ObjectIdentifier> = []
        for link in device.orderedLinks.map(\.shared) where sent.insert(ObjectIdentifier(link)).inserted {
            send(value, handle, device, kind, over: link)
        }
    }

    /// Notifies a value over one link.
    ///
    /// - Parameter departure: delivered when an indication is on its way that waits for an earlier confirmation.
    func notify(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink,
        _ departure: Outcome<Void>? = nil
    ) {
        send(value, handle, device, store(value, handle, device), over: link, nil, departure)
    }

    /// Sets the value of a characteristic, and returns how it is sent.
    private func store(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice) -> SimulatedEvent.Kind {
        let attribute = device.attributes.characteristics[handle]
        attribute?.value = value
        return attribute?.definition.properties.contains(.notify) == false ? .indicate : .notify
    }

    /// Sends a value over a link, if any of the centrals that use it is subscribed. They get it together: over the air,
    /// there is one.
    ///
    /// - Parameters:
    ///   - arrival: delivered when an indication has arrived.
    ///   - departure: delivered when an indication is on its way, or has none.
    func send(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, _ kind: SimulatedEvent.Kind,
        over link: SharedLink, _ arrival: Outcome<Void>? = nil, _ departure: Outcome<Void>? = nil
    ) {
        guard hasSubscriber(handle, device, over: link) else {
            arrival?.deliver(.success(()))
            departure?.deliver(.success(()))
            return
        }
        if kind == .indicate, link.isUnconfirmed,
            let identity = device.attributes.characteristics[handle]?.identity
        {
            link.indications.append(
                WaitingIndication(
                    value: value, handle: handle, characteristic: identity, arrival: arrival, departure: departure))
            return
        }
        departure?.deliver(.success(()))
        let disturbances =
            faults.isEmpty ? [] : disturbances(of: kind, at: Place(peripheral: device.id, link: link), handle: handle)
        if disturbances.first?.isLoss == true { return lose(value, handle, device, over: link, arrival) }
        guard !disturbances.isEmpty || link.isSending || waits(device, link) else {
            deliver(value, handle, device, over: link)
            if let arrival { arrival.deliver(.success(())) } else if kind == .indicate { confirm(handle, device, link) }
            return
        }
        guard let identity = device.attributes.characteristics[handle]?.identity else {
            arrival?.deliver(.failure(Self.servicesChanged))
            return
        }
        link.outgoing.append(
            OutgoingValue(
                value: value, handle: handle, characteristic: identity, kind: kind, disturbances: disturbances,
                crossing: crossing(device, link), arrival: arrival))
        guard !link.isSending else { return }
        link.isSending = true
        Task.immediate { await self.sendOutgoing(device, link) }
    }

    /// A value does not arrive. An indication is not confirmed.
    private func lose(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink, _ arrival: Outcome<Void>?
    ) {
        traceLoss(of: value, handle, device.id)
        // Its sender may have given up.
        if let arrival, arrival.isOpen { link.unanswered.append(arrival) }
    }

    private func hasSubscriber(_ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink) -> Bool {
        for use in device.links.values where use.shared === link && use.subscriptions[handle] != nil { return true }
        return false
    }

    /// Delivers a value to the subscribed centrals that use a link, in the order in which they began to.
    private func deliver(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink) {
        guard device.links.count > 1 else {
            if let use = device.links.first?.value { deliver(value, handle, device.id, to: use) }
            return
        }
        for use in uses(of: link, device) { deliver(value, handle, device.id, to: use) }
    }

    private func deliver(_ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID, to use: SimulatedLink) {
        guard let subscription = use.subscriptions[handle] else { return }
        if isTracing { traceNotification(value, handle, id, to: use.port) }
        if !subscription.take(value) { traceLoss(of: value, handle, id, isDropped: true) }
    }

    private static let servicesChanged = BLEError(
        .disconnected, "the peripheral's services have changed", isRetryable: true)

    /// Sends the values that wait, one after the other, as long as the link lasts.
    ///
    /// Those that are subscribed when a value arrives get it, also if they have unsubscribed and subscribed again since
    /// it was sent. It does not reach another characteristic that has the handle now.
    private func sendOutgoing(_ device: SimulatedDevice, _ link: SharedLink) async {
        let place = Place(peripheral: device.id, link: link)
        while link.served.isUp, let next = link.outgoing.popFirst() {
            var hasArrived = false
            do throws(BLEError) {
                try await next.crossing?.wait()
                let losesLink = try await endure(
                    begin(next.disturbances.prefix { !$0.isLoss }, of: next.kind, at: place))
                guard link.served.isUp else { throw Self.linkLost }
                guard device.attributes.characteristics[next.handle]?.identity == next.characteristic else {
                    throw Self.servicesChanged
                }
                if next.disturbances.contains(where: \.isLoss) {
                    lose(next.value, next.handle, device, over: link, next.arrival)
                } else {
                    for _ in 0...next.disturbances.count(where: \.isDuplicate) {
                        deliver(next.value, next.handle, device, over: link)
                    }
                    hasArrived = true
                    if losesLink {
                        loseLink(at: place)
                        // The confirmation is lost, too.
                        throw Self.linkLost
                    }
                    if let arrival = next.arrival {
                        arrival.deliver(.success(()))
                    } else if next.kind == .indicate {
                        confirm(next.handle, device, link)
                    }
                }
            } catch {
                if !hasArrived { traceLoss(of: next.value, next.handle, device.id) }
                next.arrival?.deliver(.failure(error))
            }
        }
        link.isSending = false
    }

    // MARK: Confirmations

    /// How long a central may take to confirm an indication before the link ends: the Attribute Protocol's time limit
    /// (Core Specification, volume 3, part F, section 3.3.3).
    private static let confirmationLimit = Duration.seconds(30)

    /// Has the central confirm an indication for whose confirmation no handler waits: at once, unless a fault disturbs
    /// it. The next indication waits for that, as a link carries one at a time.
    private func confirm(_ handle: UInt16, _ device: SimulatedDevice, _ link: SharedLink) {
        guard !faults.isEmpty, link.served.isUp else { return }
        let disturbances = disturbances(
            of: .confirm, at: Place(peripheral: device.id, link: link), handle: handle)
        guard !disturbances.isEmpty, link.served.isUp else { return }
        link.isUnconfirmed = true
        Task.immediate { await self.confirm(after: disturbances, device, link) }
    }

    private func confirm(
        after disturbances: [FaultPlan.Disturbance], _ device: SimulatedDevice, _ link: SharedLink
    ) async {
        let (central, served, id) = (link.central, link.served, device.id)
        let limit = Task.after(Self.confirmationLimit, clock: clock, on: self, executor: tasks) {
            $0.loseLink(of: central, over: served, at: id)
        }
        defer { limit.cancel() }
        let place = Place(peripheral: id, link: link)
        // There is no answer that could tell of a failure: the confirmation is lost.
        let end = disturbances.firstIndex { if case .fail = $0.effect { true } else { $0.isLoss } }
        do throws(BLEError) {
            let losesLink = try await endure(
                begin(disturbances[..<(end ?? disturbances.endIndex)], of: .confirm, at: place))
            if end != nil {
                let lost = Outcome<Void>()
                link.unanswered.append(lost)
                try await lost.wait()
            }
            if losesLink { loseLink(at: place) }
        } catch {
            // The link has ended, and what has waited with it.
        }
        guard link.served.isUp else { return }
        link.isUnconfirmed = false
        while !link.isUnconfirmed, link.served.isUp, let next = link.indications.popFirst() {
            guard device.attributes.characteristics[next.handle]?.identity == next.characteristic else {
                next.arrival?.deliver(.failure(Self.servicesChanged))
                next.departure?.deliver(.success(()))
                continue
            }
            send(next.value, next.handle, device, .indicate, over: link, next.arrival, next.departure)
        }
    }
}
