internal import Logging

/// The readers of one characteristic's notifications.
struct Subscription {
    /// What the first reader asked for; looked for again in the services of a new link.
    let key: AttributeKey
    let fanout = NotificationFanout()
    /// How the first reader wanted the values.
    let delivery: NotificationDelivery
    /// The channel was taken away: on this link the values come as usual.
    var hasLostChannel = false
    /// How many links in a row have failed to have it switched on again, for a reason that may pass.
    var failedRestores = 0
    /// The peripheral has been asked to send; false again once it has been asked to stop, and when it has stopped by itself.
    var isOn = false
}

extension Central {
    /// A stream of the characteristic's values. The reader is registered before the peripheral is asked to send, so that the
    /// first value finds it.
    func subscribe(
        to key: AttributeKey, of id: Peripheral.ID, delivery: NotificationDelivery = .standard,
        overflow: OverflowPolicy, timeout: Duration?
    ) async throws(BLEError) -> BoundedStream<NotificationPacket> {
        let target = try await resolve(key, on: id)
        guard !target.characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw BLEError(.notSupported, "the characteristic neither notifies nor indicates", isRetryable: false)
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        let attribute = target.attribute
        let token = token()
        let subscription = subscriptions[attribute] ?? Subscription(key: key, delivery: delivery)
        subscriptions[attribute] = subscription
        let fanout = subscription.fanout
        let (stream, producer) = BoundedStream.make(of: NotificationPacket.self, policy: overflow) { [weak self] in
            Task { await self?.removeReader(token, of: fanout) }
        } onRoom: { [weak self] in
            Task { await self?.resume(fanout) }
        }
        fanout.add(token, producer, isWaitedFor: delivery == .socket)
        do throws(BLEError) {
            try await switchOn(attribute, fanout, timeout: timeout)
            return stream
        } catch {
            // Dropping the stream removes the reader and, with the last, asks the peripheral to stop.
            throw error.at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
    }

    private func switchOn(
        _ attribute: AttributeID, _ fanout: NotificationFanout, timeout: Duration?
    ) async throws(BLEError) {
        try checkRunning()
        try await perform(
            on: attribute.peripheral, timeout: timeout ?? configuration.operationTimeout, name: "subscribing",
            using: .notifications(attribute)
        ) { [weak self] (backend) throws(BLEError) in
            guard await self?.shouldSwitchOn(attribute, fanout) == true else { return }
            do throws(BLEError) {
                if await self?.wantsChannel(attribute) == true,
                    try await self?.acquire(attribute, fanout, backend) == true
                {
                    return
                }
                try await backend.startNotifications(of: attribute) { fanout.deliver($0) }
            } catch {
                await self?.startFailed(attribute, fanout)
                throw error
            }
        }
    }

    /// True when this call is the one to ask the peripheral.
    private func shouldSwitchOn(_ attribute: AttributeID, _ fanout: NotificationFanout) -> Bool {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout, !subscription.isOn else {
            return false
        }
        subscriptions[attribute]?.isOn = true
        return true
    }

    /// A start that failed or was given up may have reached the peripheral all the same. It is undone before anybody else's
    /// turn comes.
    private func startFailed(_ attribute: AttributeID, _ fanout: NotificationFanout) async {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout else { return }
        subscriptions[attribute]?.isOn = false
        // In a task that is not cancelled.
        await Task { [backend] in try? await backend.stopNotifications(of: attribute) }.value
    }

    private func removeReader(_ token: Int, of fanout: NotificationFanout) async {
        fanout.remove(token)
        await resume(fanout)
        guard fanout.isEmpty, let attribute = subscriptions.first(where: { $0.value.fanout === fanout })?.key else {
            return
        }
        await switchOff(attribute) { [weak self] in await self?.shouldSwitchOff(attribute, fanout) == true }
    }

    /// Asks the peripheral to stop when it is this call's turn and `condition` holds then.
    private func switchOff(_ attribute: AttributeID, if condition: @escaping @Sendable () async -> Bool) async {
        do throws(BLEError) {
            try await perform(
                on: attribute.peripheral, timeout: configuration.operationTimeout, name: "unsubscribing",
                using: .notifications(attribute)
            ) { (backend) throws(BLEError) in
                guard await condition() else { return }
                try await backend.stopNotifications(of: attribute)
            }
        } catch {
            logger.debug("unsubscribing failed", metadata: ["error": "\(error)"])
        }
    }

    /// True when nobody reads any more and this call is the one to tell the peripheral.
    private func shouldSwitchOff(_ attribute: AttributeID, _ fanout: NotificationFanout) -> Bool {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout, fanout.isEmpty else {
            return false
        }
        subscriptions[attribute] = nil
        return subscription.isOn
    }

    // MARK: Ends and gaps

    /// Ends all streams of the attributes that match.
    func endSubscriptions(_ error: BLEError, where matches: (AttributeID) -> Bool) {
        for (attribute, subscription) in subscriptions where matches(attribute) {
            subscriptions[attribute] = nil
            subscription.fanout.finish(error)
            guard subscription.isOn, !isShutDown else { continue }
            // The system would have it switched on again with the next link.
            Task {
                await switchOff(attribute) { [weak self] in await self?.subscriptions[attribute]?.isOn != true }
            }
        }
    }

    /// The link has ended, and another will be made: the streams wait for it.
    func interruptSubscriptions(of id: Peripheral.ID, _ error: BLEError) {
        for (attribute, subscription) in subscriptions where attribute.peripheral == id && subscription.isOn {
            subscriptions[attribute]?.isOn = false
            subscriptions[attribute]?.hasLostChannel = false
            subscription.fanout.interrupt(error)
        }
    }

    /// How many links in a row may fail to switch a subscription on again, for a reason that may pass, before it ends.
    private static let restoreLimit = 3

    /// Switches on what has outlasted a gap. What the peripheral no longer has, or refuses, ends. What may go well the next time is
    /// thrown: then the attempt has failed, and another follows.
    func restoreSubscriptions(of id: Peripheral.ID, _ database: GATTDatabase) async throws(BLEError) {
        for (old, subscription) in subscriptions where old.peripheral == id && !subscription.isOn {
            let key = subscription.key
            // Its last reader may have gone while another was switched on.
            guard subscriptions[old]?.fanout === subscription.fanout else { continue }
            do throws(BLEError) {
                let attribute = AttributeID(peripheral: id, handle: try database.find(key).1.handle)
                if attribute != old {
                    // Somebody who came in between has the place already.
                    guard subscriptions[attribute] == nil else { throw moved }
                    subscriptions[old] = nil
                    subscriptions[attribute] = subscription
                }
                try await switchOn(attribute, subscription.fanout, timeout: nil)
                subscriptions[attribute]?.failedRestores = 0
            } catch {
                let error = error.at(id, service: key.service, characteristic: key.characteristic)
                if Task.isCancelled || [.disconnected, .bluetoothLost, .shutDown].contains(error.code) { throw error }
                if error.isRetryable, passes(subscription.fanout) { throw error }
                endSubscriptions(error) { subscriptions[$0]?.fanout === subscription.fanout }
            }
        }
    }

    /// Counts a failure that may pass. False when there have been too many.
    private func passes(_ fanout: NotificationFanout) -> Bool {
        guard let attribute = subscriptions.first(where: { $0.value.fanout === fanout })?.key,
            subscriptions[attribute]!.failedRestores < Self.restoreLimit
        else { return false }
        subscriptions[attribute]!.failedRestores += 1
        return true
    }

    private var moved: BLEError {
        BLEError(.disconnected, "the characteristic has moved; subscribe again", isRetryable: true)
    }

    /// The delivery has ended while the link is up.
    func notificationsEnded(of attribute: AttributeID, _ error: BLEError) {
        guard let subscription = subscriptions[attribute], subscription.isOn else { return }
        subscriptions[attribute]?.isOn = false
        subscriptions[attribute]?.hasLostChannel = true
        subscription.fanout.interrupt(error)
        let id = attribute.peripheral
        guard connectionState(id) == .connected else { return }
        Task {
            do throws(BLEError) {
                try await restoreSubscriptions(of: id, try await services(id))
            } catch {
                logger.debug("restoring a subscription failed", metadata: ["error": "\(error)"])
                // A link that has ended meanwhile has settled it.
                if connectionState(id) == .connected { endSubscriptions(error) { $0 == attribute } }
            }
        }
    }
}
