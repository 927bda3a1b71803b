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
    func notify(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink) {
        send(value, handle, device, store(value, handle, device), over: link)
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
    /// - Parameter arrival: delivered when an indication has arrived.
    func send(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, _ kind: SimulatedEvent.Kind,
        over link: SharedLink, _ arrival: Outcome<Void>? = nil
    ) {
        guard hasSubscriber(handle, device, over: link) else {
            arrival?.deliver(.success(()))
            return
        }
        let disturbances = faults.isEmpty ? [] : disturbances(of: kind, at: device.id, handle: handle)
        if disturbances.first?.isLoss == true { return lose(value, handle, device, over: link, arrival) }
        guard !disturbances.isEmpty || link.isSending || waits(device, link) else {
            deliver(value, handle, device, over: link)
            arrival?.deliver(.success(()))
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
                    next.arrival?.deliver(.success(()))
                }
            } catch {
                if !hasArrived { traceLoss(of: next.value, next.handle, device.id) }
                next.arrival?.deliver(.failure(error))
            }
        }
        link.isSending = false
    }
}
