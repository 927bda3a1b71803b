internal import Synchronization

extension Peripheral {
    /// Opens an L2CAP channel to a number at which the peripheral accepts them.
    ///
    /// Connects if there is no link. The peripheral often publishes the number in a characteristic:
    ///
    /// ```swift
    /// let channel = try await peripheral.openChannel(try await peripheral.read(.publishedPSM))
    /// ```
    ///
    /// If the peripheral wants more security than the link has, the system pairs, as for an attribute.
    ///
    /// Throws `channelRefused` if nothing accepts channels at that number or the peripheral refuses this one,
    /// `pairingRequired` if the system says that security is the reason, and `notSupported` if it has no channels.
    ///
    /// - Parameters:
    ///   - security: the security that the link must have. The system pairs if it has less.
    ///   - maximumReceiveLength: the maximum length of a received packet, in bytes, 23 to 65,535.
    ///   - timeout: the maximum wait for the peripheral's consent, once connected. Nil for the configuration's
    ///     operation timeout.
    public func openChannel(
        _ psm: PSM, security: AttributeSecurity = .open, maximumReceiveLength: Int = 2048, timeout: Duration? = nil
    ) async throws(BLEError) -> L2CAPChannel {
        let options = ChannelOptions(security: security, maximumReceiveLength: maximumReceiveLength)
        return try await central.openChannel(psm, options, to: id, timeout)
    }
}

extension Central {
    func openChannel(
        _ psm: PSM, _ options: ChannelOptions, to id: Peripheral.ID, _ timeout: Duration?
    ) async throws(BLEError) -> L2CAPChannel {
        do throws(BLEError) {
            try options.check(psm)
            try await connect(id, timeout: nil)
            try checkRunning()
            let opened = OpenedTransport()
            let transport: any ChannelTransport
            do throws(BLEError) {
                transport = try await perform(
                    on: id, timeout: timeout ?? configuration.operationTimeout, name: "opening a channel",
                    as: .openChannel, using: .channel(token())
                ) { (backend) throws(BLEError) in
                    try opened.keep(try await backend.openChannel(psm, options, to: id))
                }
            } catch {
                opened.abandon()
                throw error.code == .timedOut ? Self.unanswered(error, psm) : error
            }
            guard connectionState(id) == .connected, !isShutDown else {
                transport.close()
                throw isShutDown ? .shutDown : BLEError(.disconnected, "the link ended")
            }
            return open(transport, psm, to: id)
        } catch {
            throw error.at(id)
        }
    }

    /// Adds what a peripheral may do that a system waits for in vain.
    private static func unanswered(_ error: BLEError, _ psm: PSM) -> BLEError {
        var error = error
        error.message = "the channel \(psm) was not answered, or not as L2CAP requires: \(error.message)"
        error.remedy =
            "The peripheral's MTU and MPS must be at least 23 bytes: systems ignore a response with less. Otherwise, "
            + "wait longer."
        return error
    }

    private func open(_ transport: any ChannelTransport, _ psm: PSM, to id: Peripheral.ID) -> L2CAPChannel {
        let channel = L2CAPChannel(
            transport, peer: id, psm: psm, clock: clock, timeout: configuration.operationTimeout
        ) { [weak self] channel in Task { await self?.forget(channel, to: id) } }
        links[id]?.add(channel.handle)
        channel.start()
        return channel
    }

    private func forget(_ channel: ChannelCore, to id: Peripheral.ID) {
        links[id]?.remove(channel)
        considerIdle(id)
        removeLinkIfUnused(id)
    }
}

/// The transport of a channel that is being opened, which is closed if its caller has given up.
private final class OpenedTransport: Sendable {
    private let state = Mutex<(transport: (any ChannelTransport)?, isAbandoned: Bool)>((nil, false))

    func keep(_ transport: any ChannelTransport) throws(BLEError) -> any ChannelTransport {
        let isAbandoned = state.withLock { state in
            state.transport = transport
            return state.isAbandoned
        }
        guard isAbandoned || Task.isCancelled else { return transport }
        transport.close()
        throw .cancelled
    }

    func abandon() {
        let transport = state.withLock { state in
            state.isAbandoned = true
            return state.transport
        }
        transport?.close()
    }
}
