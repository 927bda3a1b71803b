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

    /// - Parameter link: that of the central that gets the value. Nil for all subscribers.
    func notify(_ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, to link: SimulatedLink? = nil) {
        let attribute = device.attributes.characteristics[handle]
        attribute?.value = value
        let kind: SimulatedEvent.Kind =
            attribute?.definition.properties.contains(.notify) == false ? .indicate : .notify
        if let link { return send(value, handle, device, kind, over: link) }
        guard device.links.count > 1 else {
            if let link = device.links.first?.value { send(value, handle, device, kind, over: link) }
            return
        }
        for link in device.orderedLinks { send(value, handle, device, kind, over: link) }
    }

    /// Sends a value to a central, if that is subscribed to it.
    func send(
        _ value: [UInt8], _ handle: UInt16, _ device: SimulatedDevice, _ kind: SimulatedEvent.Kind,
        over link: SimulatedLink, _ indication: SimulatedIndication? = nil
    ) {
        guard let subscription = link.subscriptions[handle] else {
            indication?.end(.success(()))
            return
        }
        if isTracing { traceNotification(value, handle, device.id, to: link.port) }
        let disturbances = faults.isEmpty ? [] : disturbances(of: kind, at: device.id, handle: handle)
        if disturbances.first?.isLoss == true {
            if let indication { link.unanswered.append(indication) }
            return
        }
        guard !disturbances.isEmpty || link.isSending || waits(device, link.shared) else {
            subscription.take(value)
            indication?.end(.success(()))
            return
        }
        link.outgoing.append(
            OutgoingValue(
                value: value, handle: handle, disturbances: disturbances,
                crossing: crossing(device, link.shared), indication: indication))
        guard !link.isSending else { return }
        link.isSending = true
        Task.immediate { await self.sendOutgoing(device, link) }
    }

    /// Sends the values that wait, one after the other, as long as the link lasts.
    private func sendOutgoing(_ device: SimulatedDevice, _ link: SimulatedLink) async {
        let place = Place(peripheral: device.id, port: link.port, link: link.shared)
        while device.links[link.port] === link, let next = link.outgoing.popFirst() {
            do throws(BLEError) {
                try await next.crossing?.wait()
                let losesLink = try await endure(begin(next.disturbances.prefix { !$0.isLoss }, at: place))
                guard device.links[link.port] === link else { throw Self.linkLost }
                if next.disturbances.contains(where: \.isLoss) {
                    if let indication = next.indication { link.unanswered.append(indication) }
                } else {
                    for _ in 0...next.disturbances.count(where: \.isDuplicate) {
                        link.subscriptions[next.handle]?.take(next.value)
                    }
                    if losesLink {
                        loseLink(at: place)
                        // The confirmation is lost, too.
                        throw Self.linkLost
                    }
                    next.indication?.end(.success(()))
                }
            } catch {
                next.indication?.end(.failure(error))
            }
        }
        link.isSending = false
    }
}
