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
        guard let run = run(of: handle, device, over: link) else {
            arrival?.deliver(.success(()))
            return
        }
        let disturbances = faults.isEmpty ? [] : disturbances(of: kind, at: device.id, handle: handle)
        if disturbances.first?.isLoss == true {
            if let arrival { link.unanswered.append(arrival) }
            return
        }
        guard !disturbances.isEmpty || link.isSending || waits(device, link) else {
            deliver(value, handle, device, over: link, run)
            arrival?.deliver(.success(()))
            return
        }
        link.outgoing.append(
            OutgoingValue(
                value: value, handle: handle, run: run, disturbances: disturbances, crossing: crossing(device, link),
                arrival: arrival))
        guard !link.isSending else { return }
        link.isSending = true
        Task.immediate { await self.sendOutgoing(device, link) }
    }

    /// Returns what the subscriptions over a link have in common. Nil if there are none.
    private func run(of handle: UInt16, _ device: SimulatedDevice, over link: SharedLink) -> SubscriptionRun? {
        for use in device.links.values where use.shared === link {
            if let run = use.subscriptions[handle]?.run { return run }
        }
        return nil
    }

    /// Delivers a value to the subscribed centrals that use a link, in the order in which they began to. Those that
    /// have subscribed since it was sent do not get it: another characteristic may have the handle now.
    private func deliver(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, over link: SharedLink, _ run: SubscriptionRun
    ) {
        guard device.links.count > 1 else {
            if let use = device.links.first?.value { deliver(value, handle, device.id, to: use, run) }
            return
        }
        for use in uses(of: link, device) { deliver(value, handle, device.id, to: use, run) }
    }

    private func deliver(
        _ value: [UInt8], _ handle: UInt16, _ id: Peripheral.ID, to use: SimulatedLink, _ run: SubscriptionRun
    ) {
        guard let subscription = use.subscriptions[handle], subscription.run === run else { return }
        if isTracing { traceNotification(value, handle, id, to: use.port) }
        subscription.take(value)
    }

    /// Sends the values that wait, one after the other, as long as the link lasts.
    private func sendOutgoing(_ device: SimulatedDevice, _ link: SharedLink) async {
        let place = Place(peripheral: device.id, link: link)
        while link.served.isUp, let next = link.outgoing.popFirst() {
            do throws(BLEError) {
                try await next.crossing?.wait()
                let losesLink = try await endure(
                    begin(next.disturbances.prefix { !$0.isLoss }, of: .notify, at: place))
                guard link.served.isUp else { throw Self.linkLost }
                if next.disturbances.contains(where: \.isLoss) {
                    if let arrival = next.arrival { link.unanswered.append(arrival) }
                } else {
                    for _ in 0...next.disturbances.count(where: \.isDuplicate) {
                        deliver(next.value, next.handle, device, over: link, next.run)
                    }
                    if losesLink {
                        loseLink(at: place)
                        // The confirmation is lost, too.
                        throw Self.linkLost
                    }
                    next.arrival?.deliver(.success(()))
                }
            } catch {
                next.arrival?.deliver(.failure(error))
            }
        }
        link.isSending = false
    }
}
