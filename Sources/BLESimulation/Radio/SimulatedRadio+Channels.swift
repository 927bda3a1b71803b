internal import BLE

extension SimulatedRadio {
    // MARK: Channels

    static let writeAcquired = BLEError(.busy, "a writer for the characteristic is open", remedy: "Close that writer.")

    func resume(_ attribute: AttributeID, _ port: Int) {
        peripherals[attribute.peripheral]?.links[port]?.subscriptions[attribute.handle]?.resume()
    }

    /// Stops the notifications that use a channel, as if another program had stopped them.
    func stopChannels(of uuid: BluetoothUUID, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        for link in device.links.values {
            for handle in device.attributes.handles(of: uuid) where link.subscriptions[handle]?.isChannel == true {
                let subscription = link.subscriptions.removeValue(forKey: handle)
                if let subscription { endSubscription(subscription, handle, leftTo: []) }
                subscription?.drain()
                let error = BLEError(.busy, "another program has stopped the notifications", isRetryable: true)
                for name in names(of: device, link) {
                    ports[link.port]?.handle(.notificationsEnded(AttributeID(peripheral: name, handle: handle), error))
                }
            }
        }
    }

    func acquireWriting(to attribute: AttributeID, _ port: Int) throws(BLEError) -> SimulatedSink {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        guard characteristic.definition.properties.contains(.writeWithoutResponse) else {
            throw BLEError(.requestNotSupported)
        }
        guard !isAcquired(attribute, port) else { throw Self.writeAcquired }
        let number = number()
        let channel = SimulatedSink(maximumLength: min(device.attMTU - 3, 512)) { [weak self] in
            Task { await self?.deliverPackets(attribute, number, port) }
        } onClose: { [weak self] in
            // Packets that are already queued are still delivered.
            Task { await self?.deliverPackets(attribute, number, port) }
        }
        peripherals[attribute.peripheral]?.links[port]?.writers[attribute.handle] = SimulatedWriter(
            number: number, channel: channel)
        return channel
    }

    /// Returns whether a write channel is open, of any central on the adapter.
    func isAcquired(_ attribute: AttributeID, _ port: Int) -> Bool {
        guard let device = peripherals[attribute.peripheral], let link = device.links[port] else { return false }
        return uses(of: link.shared, device).contains { $0.writers[attribute.handle]?.channel.isClosed == false }
    }

    private func writer(_ attribute: AttributeID, _ number: Int, _ port: Int) -> SimulatedWriter? {
        let writer = peripherals[attribute.peripheral]?.links[port]?.writers[attribute.handle]
        return writer?.number == number ? writer : nil
    }

    /// Delivers a channel's queued packets to the peripheral, unless a task is already doing so.
    private func deliverPackets(_ attribute: AttributeID, _ number: Int, _ port: Int) {
        guard let writer = writer(attribute, number, port), writer.task == nil else { return }
        let channel = writer.channel
        peripherals[attribute.peripheral]?.links[port]?.writers[attribute.handle]?.task = Task {
            // Several steps: the writer is known by its number.
            while !Task.isCancelled {
                let packets = channel.take()
                guard !packets.isEmpty else { break }
                try? await self.cross(attribute.peripheral, port)
                for packet in packets where !Task.isCancelled { await self.deliver(packet, to: attribute, port) }
            }
            guard self.writer(attribute, number, port) != nil else { return }
            self.peripherals[attribute.peripheral]?.links[port]?.writers[attribute.handle]?.task = nil
            if channel.isClosed { self.peripherals[attribute.peripheral]?.links[port]?.writers[attribute.handle] = nil }
        }
    }

    /// Delivers a packet to the peripheral as a write without response.
    private func deliver(_ packet: [UInt8], to attribute: AttributeID, _ port: Int) async {
        let characteristic = peripherals[attribute.peripheral]?.attributes.characteristics[attribute.handle]
        guard let definition = characteristic?.definition else { return }
        guard let device = peripherals[attribute.peripheral], let link = device.links[port] else { return }
        let request = AttributeRequest(
            central: link.shared.central, transport: .le, attMTU: device.attMTU, writeType: .withoutResponse,
            link: link.shared.served)
        guard let admission = try? await admitCommand(attribute, link.port), admission.arrives else { return }
        try? await carryOut(packet, to: attribute, definition, request)
        if admission.losesLink { loseLink(attribute.peripheral, link.port) }
    }
}
