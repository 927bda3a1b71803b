internal import BLE
internal import Waiting

/// Channels for writes without response.
extension SimulatedRadio {
    static let writeAcquired = BLEError(.busy, "a writer for the characteristic is open", remedy: "Close that writer.")

    func acquireWriting(to attribute: AttributeID, _ port: Int) throws(BLEError) -> SimulatedSink {
        let device = try device(attribute.peripheral, port)
        guard let characteristic = device.attributes.characteristics[attribute.handle] else {
            throw BLEError(.invalidHandle)
        }
        guard characteristic.definition.properties.contains(.writeWithoutResponse) else {
            throw BLEError(.requestNotSupported)
        }
        guard let link = device.links[port]?.shared else { throw Self.noLink }
        guard link.writer(to: attribute.handle) == nil else { throw Self.writeAcquired }
        let (number, id, served) = (number(), device.id, link.served)
        // At its end, packets that are already queued are still delivered.
        let deliver: @Sendable () -> Void = { [weak self] in
            Task { await self?.deliverPackets(number, served, id) }
        }
        let channel = SimulatedSink(maximumLength: min(device.attMTU - 3, 512), onPackets: deliver, onClose: deliver)
        link.writers[number] = SimulatedWriter(attribute.handle, port: port, channel: channel)
        return channel
    }

    /// Delivers a channel's queued packets to the peripheral, unless a task is already doing so.
    private func deliverPackets(_ number: Int, _ served: CentralLink, _ id: Peripheral.ID) {
        guard let device = peripherals[id], let link = device.link(served), let writer = link.writers[number],
            writer.task == nil
        else { return }
        writer.task = Task { await self.deliverPackets(of: writer, number, device, link) }
    }

    private func deliverPackets(
        of writer: SimulatedWriter, _ number: Int, _ device: SimulatedDevice, _ link: SharedLink
    ) async {
        while !Task.isCancelled {
            let packets = writer.channel.take()
            guard !packets.isEmpty else { break }
            guard (try? await crossing(device, link)?.wait()) != nil || link.served.isUp else { break }
            for packet in packets where !Task.isCancelled { await deliver(packet, to: writer.handle, device, link) }
        }
        writer.task = nil
        if writer.channel.isClosed { link.writers[number] = nil }
    }

    /// Delivers a packet to the peripheral as a write without response.
    private func deliver(_ packet: [UInt8], to handle: UInt16, _ device: SimulatedDevice, _ link: SharedLink) async {
        guard let definition = device.attributes.characteristics[handle]?.definition else { return }
        let request = AttributeRequest(
            central: link.central, transport: .le, attMTU: device.attMTU, writeType: .withoutResponse,
            link: link.served, clock: clock)
        let place = Place(peripheral: device.id, link: link)
        guard let admission = try? await admitCommand(at: place, handle: handle), admission.arrives else { return }
        try? await carryOut(packet, to: AttributeID(peripheral: device.id, handle: handle), definition, request)
        if admission.losesLink { loseLink(at: place) }
    }
}
