internal import BLE
internal import Logging

/// A number at which a simulated peripheral accepts channels.
struct SimulatedListener {
    let options: ChannelOptions
    /// Receives the peripheral's end of a channel, and the central that opened it.
    let accept: @Sendable (SimulatedChannelTransport, Peripheral.ID) -> Void
}

extension SimulatedRadio {
    // MARK: L2CAP channels

    /// Runs `work` on the radio's executor.
    func perform(_ work: @Sendable () -> Void) { work() }

    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to id: Peripheral.ID, _ port: Int
    ) async throws(BLEError) -> SimulatedChannelTransport {
        let (device, link) = try linked(id, port)
        guard let asked = device.listeners[psm] else { throw Self.refused(psm) }
        try await secure(link, of: device, as: id, max(options.security, asked.options.security))
        // The link may have ended while it was paired, and the listener may have changed.
        try check(link, of: device)
        guard let listener = device.listeners[psm] else { throw Self.refused(psm) }
        let (ours, theirs) = SimulatedChannelTransport.pair(
            self, first: options.maximumReceiveLength, second: listener.options.maximumReceiveLength)
        link.channels.removeAll { $0.isClosed }
        link.channels.append(ours)
        listener.accept(theirs, link.shared.central)
        return ours
    }

    private static func refused(_ psm: PSM) -> BLEError {
        BLEError(
            .channelRefused, "the peripheral refused the channel \(psm)", isRetryable: false,
            remedy: "Check the number, and the security that the peripheral requires.")
    }

    /// Accepts the channels of a definition.
    func accept(_ channels: [ChannelDefinition], _ id: Peripheral.ID) {
        for definition in channels {
            let psm = definition.psm
            peripherals[id]?.channelCounts[psm] = ChannelCounts(definition.limits)
            peripherals[id]?.listeners[psm] = SimulatedListener(options: definition.options) {
                [weak self, clock] transport, central in
                guard self?.assumeIsolated({ $0.count(psm, of: central, id) }) == true else { return transport.close() }
                let channel = L2CAPChannel(transport, peer: central, psm: psm, clock: clock, timeout: .seconds(30))
                channel.start()
                Task {
                    try? await definition.onOpen(channel)
                    channel.close()
                    await self?.handlerEnded(psm, of: central, id)
                }
            }
        }
    }

    /// Returns whether a definition has room for another channel.
    private func count(_ psm: PSM, of central: Peripheral.ID, _ id: Peripheral.ID) -> Bool {
        peripherals[id]?.channelCounts[psm]?.add(central) == .accepted
    }

    private func handlerEnded(_ psm: PSM, of central: Peripheral.ID, _ id: Peripheral.ID) {
        peripherals[id]?.channelCounts[psm]?.remove(central)
    }

    /// Accepts channels for a host. Returns the number, or nil if it is in use.
    func listen(
        _ psm: PSM?, _ options: ChannelOptions, _ id: Peripheral.ID,
        _ accept: @escaping @Sendable (SimulatedChannelTransport, Peripheral.ID, PSM) -> Void
    ) throws(BLEError) -> PSM {
        guard let device = peripherals[id] else { throw .shutDown }
        let free = (PSM.dynamic.lowerBound.rawValue...PSM.dynamic.upperBound.rawValue).lazy
            .map(PSM.init(rawValue:)).first { device.listeners[$0] == nil }
        guard let chosen = psm ?? free, device.listeners[chosen] == nil else {
            throw BLEError(.busy, "another listener uses the channel number", remedy: "Use another one.")
        }
        peripherals[id]?.listeners[chosen] = SimulatedListener(options: options) { accept($0, $1, chosen) }
        return chosen
    }

    func stopListening(_ psm: PSM, _ id: Peripheral.ID) { peripherals[id]?.listeners[psm] = nil }
}
