internal import Logging
internal import Waiting

extension PeripheralHost {
    /// Accepts L2CAP channels of centrals.
    ///
    /// The number is the listener's ``ChannelListener/psm``, which centrals have to know; it can be the value of a
    /// characteristic:
    ///
    /// ```swift
    /// let listener = try await host.publishChannel()
    /// let psm = try CharacteristicDefinition(.publishedPSM, [.read], value: listener.psm)
    /// ```
    ///
    /// For a number that is known before, and a handler, see ``PeripheralDefinition/channels``.
    ///
    /// Throws `busy` if the number is in use, `unauthorized` for a number that this user may not use, and
    /// `notSupported` if the system has no channels.
    ///
    /// - Parameters:
    ///   - psm: the number. Nil for one that is free.
    ///   - security: the security that a central's link must have. It is asked to pair if it has less.
    ///   - maximumReceiveLength: the maximum length of a received packet, in bytes, 23 to 65,535.
    ///   - limits: how many channels may be open, 64 and 8 of one central by default. Further ones are closed as soon
    ///     as they are opened, which ``events()`` reports once, as `failed`.
    public func publishChannel(
        _ psm: PSM? = nil, security: AttributeSecurity = .open, maximumReceiveLength: Int = 2048,
        limits: ChannelLimits = ChannelLimits()
    ) async throws(BLEError) -> ChannelListener {
        try checkRunning()
        let options = ChannelOptions(security: security, maximumReceiveLength: maximumReceiveLength)
        let queue = SharedQueue<L2CAPChannel>(capacity: ChannelListener.capacity)
        let (number, chosen) = try await publish(psm, options, limits, of: nil) { channel, _ in
            if !queue.add(channel) { channel.close() }
        } onEnd: { error in
            queue.finish(throwing: error)
        }
        return ChannelListener(psm: chosen, queue) { [weak self] in
            Task { await self?.unpublish(number) }
        }
    }

    /// Accepts channels, under a number of the host's own: another publication may have the same PSM later.
    ///
    /// - Parameter definition: the number of the definition whose handlers receive the channels, which count until
    ///   then.
    private func publish(
        _ psm: PSM?, _ options: ChannelOptions, _ limits: ChannelLimits, of definition: Int?,
        accept: @escaping @Sendable (L2CAPChannel, _ publication: Int) -> Void,
        onEnd: @escaping @Sendable (BLEError) -> Void
    ) async throws(BLEError) -> (number: Int, PSM) {
        try options.check(psm)
        let number = number()
        // Channels may arrive, and accepting may end, before the backend has answered.
        channels.publish(ChannelPublication(limits, definition: definition, accept: accept, onEnd: onEnd), as: number)
        do throws(BLEError) {
            let chosen = try await backend.publishChannel(psm, options, as: number) {
                [weak self] transport, central, psm in
                guard let self else { return transport.close() }
                assumeIsolated { $0.open(transport, psm, to: central, number) }
            } onEnd: { [weak self] error in
                self?.assumeIsolated { $0.listeningEnded(number, error) }
            }
            try checkRunning()
            logger.debug("accepting channels", metadata: ["psm": "\(chosen)"])
            return (number, chosen)
        } catch {
            _ = channels.unpublish(number)
            await Task { [backend] in await backend.unpublishChannel(number) }.value
            throw error
        }
    }

    private func unpublish(_ number: Int) async {
        guard channels.unpublish(number) != nil, !isShutDown else { return }
        await backend.unpublishChannel(number)
    }

    private func listeningEnded(_ number: Int, _ error: BLEError) {
        guard let ended = channels.unpublish(number) else { return }
        report(error)
        ended.onEnd(error)
    }

    private func open(
        _ transport: any ChannelTransport, _ psm: PSM, to central: DeviceID, _ publication: Int
    ) {
        guard !isShutDown, let listener = channels[publication] else { return transport.close() }
        // bluetoothd may tell of the link later, or not at all if it is older than this host.
        centralConnected(central)
        if case .refused(let isFirst)? = channels.count(central, at: publication) {
            transport.close()
            guard isFirst else { return }
            // Told once, not for each channel of a flood.
            return report(BLEError(.overflow, "too many channels \(psm) are open").at(central))
        }
        let channel = L2CAPChannel(
            transport, peer: central, psm: psm, clock: clock, timeout: configuration.confirmationTimeout
        ) { [weak self] channel in
            Task { await self?.forget(channel, psm, to: central, publication, of: listener.definition) }
        }
        channels.opened(channel.handle, to: central)
        logger.debug("channel opened", metadata: ["central": "\(central)", "psm": "\(psm)"])
        listener.accept(channel, publication)
        channel.start()
    }

    private func forget(
        _ channel: ChannelCore, _ psm: PSM, to central: DeviceID, _ publication: Int, of definition: Int?
    ) {
        logger.debug("channel closed", metadata: ["central": "\(central)", "psm": "\(psm)"])
        channels.closed(
            channel, to: central, of: publication, definition, patience: configuration.requestTimeout, clock: clock)
    }

    /// Ends the channels of a central whose link has ended, or all of them.
    func endChannels(of central: DeviceID? = nil, _ error: BLEError) {
        for channel in channels.removeAll(to: central) { channel.finish(.lost(error)) }
    }

    // MARK: Of definitions

    /// Accepts the channels of a definition.
    func publishChannels(of definition: PeripheralDefinition, _ number: Int) async throws(BLEError) {
        guard !definition.channels.isEmpty else { return }
        channels.serve(number)
        for channel in definition.channels {
            let (listener, _) = try await publish(channel.psm, channel.options, channel.limits, of: number) {
                [weak self] opened, publication in
                self?.assumeIsolated { $0.run(channel.onOpen, opened, number, publication) }
            } onEnd: { _ in
            }
            // It may have ended meanwhile.
            guard channels.add(listener, of: number) else { return await unpublish(listener) }
        }
    }

    private func run(
        _ handler: @escaping ChannelDefinition.Handler, _ channel: L2CAPChannel, _ number: Int, _ publication: Int
    ) {
        guard channels.isServing(number) else { return channel.close() }
        // Not on the executor of this actor, which the handler must not block.
        let task = Task { @concurrent [weak self] in
            let failure: (any Error)?
            do {
                try await handler(channel)
                failure = nil
            } catch {
                failure = error
            }
            channel.close()
            await self?.handlerEnded(of: number, failure, channel, publication)
        }
        channels.handlerBegan(task, for: channel.handle, of: number)
    }

    private func handlerEnded(
        of number: Int, _ error: (any Error)?, _ channel: L2CAPChannel, _ publication: Int
    ) {
        guard channels.handlerEnded(for: channel.handle, to: channel.peer, of: publication, number), let error,
            !(error is CancellationError)
        else { return }
        // The end of the channel is no failure of its handler.
        if let code = (error as? BLEError)?.code, [.disconnected, .cancelled].contains(code) { return }
        report(
            BLEError(.failed, "the handler of the channel \(channel.psm) has failed", cause: error).at(channel.peer))
    }

    /// Ends the channels of a definition that is no longer served.
    func unpublishChannels(of number: Int) async {
        let (ended, cancel) = channels.endServing(number)
        cancel()
        for listener in ended { await unpublish(listener) }
    }
}
