internal import Logging
internal import Waiting

extension Central {
    /// Returns a stream of the characteristic's values. On a maintained link, it waits for the link without a time
    /// limit, and for the next one if the link ends meanwhile, after the pauses of the policy.
    func subscribePatiently(
        to key: CharacteristicKey, of id: Peripheral.ID, delivery: NotificationDelivery, overflow: OverflowPolicy,
        timeout: Duration?
    ) async throws(BLEError) -> Subscribed {
        var pauses: Backoff.Pauses?
        while true {
            do throws(BLEError) {
                try await connect(id, timeout: nil, isPatient: true)
                return try await subscribe(to: key, of: id, delivery: delivery, overflow: overflow, timeout: timeout)
            } catch {
                guard error.isRetryable, case .maintained(let backoff) = policy(id), isMaintained(id),
                    connectionState(id) != .connected
                else { throw error }
                try checkRunning()
                logger.debug("subscribing again", metadata: ["peripheral": "\(id)", "error": "\(error)"])
                // Longer from one failure to the next: the peripheral may end its link because of the subscription.
                var next = pauses ?? backoff.pauses
                guard await next.wait(clock) else { throw .cancelled }
                pauses = next
            }
        }
    }

    /// A stream of values, and what ends it before its reader does.
    struct Subscribed: Sendable {
        let packets: BoundedStream<NotificationPacket>
        /// Returns when the peripheral was asked to stop, if no other reader is left.
        let end: @Sendable () async -> Void
    }

    /// Returns a stream of the characteristic's values. The reader is registered before the peripheral is asked to
    /// send, so that it receives the first value.
    func subscribe(
        to key: CharacteristicKey, of id: Peripheral.ID, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy, timeout: Duration?
    ) async throws(BLEError) -> Subscribed {
        let target = try await resolve(key, on: id)
        guard !target.characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw BLEError(.notSupported, "the characteristic neither notifies nor indicates", isRetryable: false)
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        let reader = token()
        let (subscription, fanout) = link(id).subscriptions.join(
            target.attribute, key: key, delivery: delivery, newID: token())
        let (stream, producer) = BoundedStream.make(
            of: NotificationPacket.self, policy: overflow, drops: drops.values
        ) { [weak self] in
            // In a task, because the stream may end while the fan-out delivers to it.
            Task {
                fanout.remove(reader)
                await self?.readerLeft(subscription, of: id)
            }
        } onRoom: { [weak self] in
            Task { await self?.resume(subscription, of: id) }
        }
        fanout.add(reader, producer, pausesSocket: delivery == .socket)
        do throws(BLEError) {
            try await start(subscription, at: target.attribute, timeout: timeout)
            return Subscribed(packets: stream) { [weak self] in
                let hasStopped = Outcome<Void>()
                // In a task of its own: the peripheral is asked to stop even if the caller does not wait.
                Task {
                    fanout.remove(reader)
                    await self?.readerLeft(subscription, of: id)
                    producer.finish()
                    hasStopped.deliver(.success(()))
                }
                try? await hasStopped.wait()
            }
        } catch {
            // Dropping the stream removes the reader. Removing the last reader asks the peripheral to stop.
            throw error.at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
    }

    /// Asks the peripheral to send, unless it was asked already.
    private func start(
        _ subscription: SubscriptionMachine.ID, at attribute: AttributeID, timeout: Duration?
    ) async throws(BLEError) {
        try checkRunning()
        try await perform(
            on: attribute.peripheral, timeout: timeout ?? configuration.operationTimeout, name: "subscribing",
            as: .subscribe, using: .notifications(attribute)
        ) { [weak self] (backend) throws(BLEError) in
            // Several steps: the subscription has the start that it gave out, and gives out no other before its end.
            guard let start = await self?.claimStart(subscription, of: attribute.peripheral) else { return }
            do throws(BLEError) {
                if start.usesSocket, try await self?.acquire(start, backend) == true { return }
                let deliver: @Sendable ([UInt8]) -> Void
                let fanout = start.fanout
                if let trace = self?.valueTrace(of: start.attribute) {
                    deliver = { value in
                        trace.log(value)
                        fanout.deliver(value)
                    }
                } else {
                    deliver = { fanout.deliver($0) }
                }
                try await backend.startNotifications(of: start.attribute, deliver: deliver)
            } catch {
                await self?.startFailed(subscription, at: start.attribute)
                throw error
            }
        }
    }

    private func claimStart(
        _ subscription: SubscriptionMachine.ID, of id: Peripheral.ID
    ) -> SubscriptionMachine.Start? {
        links[id]?.subscriptions.start(subscription)
    }

    /// Starts notifications over a channel. Returns false if no channel is available.
    private func acquire(
        _ start: SubscriptionMachine.Start, _ backend: any CentralBackend
    ) async throws(BLEError) -> Bool {
        do throws(BLEError) {
            let (fanout, trace) = (start.fanout, valueTrace(of: start.attribute))
            try await backend.acquireNotifications(of: start.attribute) { value in
                trace?.log(value)
                return fanout.offer(value)
            }
            return true
        } catch {
            guard error.isRefusedSocket else { throw error }
            logger.debug(
                "no notification channel available",
                metadata: ["attribute": "\(start.attribute.handle)", "error": "\(error)"])
            return false
        }
    }

    /// Undoes a start that failed or was abandoned, because it may still have reached the peripheral. The next
    /// operation on the notifications begins after that.
    private func startFailed(_ subscription: SubscriptionMachine.ID, at attribute: AttributeID) async {
        links[attribute.peripheral]?.subscriptions.startFailed(subscription, at: attribute)
        if isShutDown { return }
        // In a separate task, which is not cancelled.
        await Task { [backend] in try? await backend.stopNotifications(of: attribute) }.value
    }

    private func readerLeft(_ subscription: SubscriptionMachine.ID, of id: Peripheral.ID) async {
        await resume(subscription, of: id)
        while let attribute = links[id]?.subscriptions.unread(subscription) {
            await stop(attribute) { [weak self] in await self?.stopIfUnread(subscription, at: attribute) == true }
            // The link has ended, or the time is over, before the turn of the operation came. A subscription without
            // readers is not restored.
            if links[id]?.subscriptions.unread(subscription) == attribute {
                _ = links[id]?.subscriptions.end(subscription)
            }
        }
        considerIdle(id)
        removeLinkIfUnused(id)
    }

    private func stopIfUnread(_ subscription: SubscriptionMachine.ID, at attribute: AttributeID) -> Bool {
        links[attribute.peripheral]?.subscriptions.stopIfUnread(subscription, at: attribute) ?? false
    }

    /// Resumes the channel after a reader has caught up or gone.
    private func resume(_ subscription: SubscriptionMachine.ID, of id: Peripheral.ID) async {
        guard let attribute = links[id]?.subscriptions.socketWithRoom(subscription) else { return }
        await backend.resumeNotifications(of: attribute)
    }

    /// Asks the peripheral to stop if `condition` holds when the operation's turn comes.
    private func stop(_ attribute: AttributeID, if condition: @escaping @Sendable () async -> Bool) async {
        do throws(BLEError) {
            try await perform(
                on: attribute.peripheral, timeout: configuration.operationTimeout, name: "unsubscribing",
                as: .unsubscribe, using: .notifications(attribute)
            ) { (backend) throws(BLEError) in
                guard await condition() else { return }
                try await backend.stopNotifications(of: attribute)
            }
        } catch {
            report(unhandled: error, while: "unsubscribing", of: attribute.peripheral)
        }
    }

    // MARK: Ends and gaps

    /// Ends the streams of subscriptions that have ended, and stops what the peripheral was asked to send.
    func finish(_ ended: [SubscriptionMachine.Ended], _ error: BLEError) {
        for subscription in ended {
            subscription.fanout.finish(error)
            guard !isShutDown else { continue }
            considerIdle(subscription.attribute.peripheral)
            guard subscription.wasOn else { continue }
            let attribute = subscription.attribute
            // Otherwise, the system would switch notifications on again with the next link.
            Task { await stop(attribute) { [weak self] in await self?.isNotifying(attribute) != true } }
        }
    }

    private func isNotifying(_ attribute: AttributeID) -> Bool {
        links[attribute.peripheral]?.subscriptions.isOn(attribute) ?? false
    }

    /// Restores the subscriptions that survived a gap.
    ///
    /// A subscription ends if the peripheral no longer has its characteristic, or rejects it. An error that may be
    /// temporary is thrown: the attempt to connect then fails, and another one follows.
    func restoreSubscriptions(of id: Peripheral.ID, _ database: GATTDatabase) async throws(BLEError) {
        let interrupted = links[id]?.subscriptions.interrupted ?? []
        var moves: [(id: SubscriptionMachine.ID, attribute: AttributeID)] = []
        for (subscription, key) in interrupted {
            do throws(BLEError) {
                let handle = try database.find(key).1.handle
                moves.append((subscription, AttributeID(peripheral: id, handle: handle)))
            } catch {
                end(subscription, of: id, error.at(id, service: key.service, characteristic: key.characteristic))
            }
        }
        for subscription in links[id]?.subscriptions.move(moves) ?? [] {
            end(
                subscription, of: id,
                BLEError(
                    .disconnected, "the characteristic has a new handle, which another stream uses", peripheral: id,
                    isRetryable: true, remedy: "Subscribe again."))
        }
        for (subscription, key) in interrupted { try await restore(subscription, of: id, key) }
    }

    private func end(_ subscription: SubscriptionMachine.ID, of id: Peripheral.ID, _ error: BLEError) {
        if let ended = links[id]?.subscriptions.end(subscription) { finish([ended], error) }
    }

    /// Restores a subscription at its attribute. Throws an error that may be temporary; any other one ends the
    /// subscription.
    private func restore(
        _ subscription: SubscriptionMachine.ID, of id: Peripheral.ID, _ key: CharacteristicKey
    ) async throws(BLEError) {
        // Its last reader may have gone while another subscription was restored.
        guard let attribute = links[id]?.subscriptions.attribute(of: subscription) else { return }
        do throws(BLEError) {
            try await start(subscription, at: attribute, timeout: nil)
            links[id]?.subscriptions.restored(subscription)
        } catch {
            let error = error.at(id, service: key.service, characteristic: key.characteristic)
            if Task.isCancelled || [.disconnected, .bluetoothLost, .shutDown].contains(error.code) { throw error }
            if error.isRetryable, links[id]?.subscriptions.mayRestoreLater(subscription) == true { throw error }
            end(subscription, of: id, error)
        }
    }

    /// Handles the end of notifications while the link is up.
    func notificationsEnded(of attribute: AttributeID, _ error: BLEError) {
        guard let ended = links[attribute.peripheral]?.subscriptions.notificationsEnded(of: attribute) else { return }
        ended.fanout.interrupt(error)
        // During an attempt, they are restored at its end.
        if connectionState(attribute.peripheral) == .connected { restoreInterrupted(attribute.peripheral) }
    }

    /// Restores what is interrupted although the link is up, each subscription by itself.
    func restoreInterrupted(_ id: Peripheral.ID) {
        for (subscription, key) in links[id]?.subscriptions.interrupted ?? [] {
            Task { await restoreInterrupted(subscription, of: id, key) }
        }
    }

    /// How often a subscription is restored in services that change meanwhile.
    private static let restoreRounds = 4

    private func restoreInterrupted(
        _ subscription: SubscriptionMachine.ID, of id: Peripheral.ID, _ key: CharacteristicKey
    ) async {
        for round in 1...Self.restoreRounds {
            // The link may have ended in the meantime, which has ended or interrupted the stream.
            guard connectionState(id) == .connected else { return }
            let changes = links[id]?.serviceChanges
            do throws(BLEError) {
                let handle = try await services(id).find(key).1.handle
                let attribute = AttributeID(peripheral: id, handle: handle)
                guard links[id]?.subscriptions.move([(subscription, attribute)]).isEmpty ?? true else {
                    throw BLEError(.disconnected, "the characteristic has a new handle", remedy: "Subscribe again.")
                }
                return try await restore(subscription, of: id, key)
            } catch {
                // The characteristic was found in services that have changed since.
                if round < Self.restoreRounds, error.isRetryable, links[id]?.serviceChanges != changes { continue }
                report(unhandled: error, while: "restoring a subscription", of: id)
                if connectionState(id) == .connected { end(subscription, of: id, error.at(id)) }
                return
            }
        }
    }
}

extension BLEError {
    /// Whether a backend says so of a socket that it cannot have, so that the central subscribes without one.
    package var isRefusedSocket: Bool { [.notSupported, .busy].contains(code) }
}
