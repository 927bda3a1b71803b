internal import Logging

/// The readers of one characteristic's notifications.
struct Subscription {
    /// The key that the first reader requested. It is looked up again in the services of a new link.
    let key: CharacteristicKey
    let fanout = NotificationFanout()
    /// The delivery that the first reader requested.
    let delivery: NotificationDelivery
    /// The channel was lost: on this link, values are delivered in the standard way.
    var hasLostChannel = false
    /// The number of consecutive links that failed to restore the subscription, for a reason that may be temporary.
    var failedRestores = 0
    /// Whether the peripheral was asked to send. False again when it was asked to stop, or has stopped on its own.
    var isOn = false
}

extension Central {
    /// Returns a stream of the characteristic's values. The reader is registered before the peripheral is asked to
    /// send, so that it receives the first value.
    func subscribe(
        to key: CharacteristicKey, of id: Peripheral.ID, delivery: NotificationDelivery = .standard,
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
            // Dropping the stream removes the reader. Removing the last reader asks the peripheral to stop.
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

    /// Returns true if this call must ask the peripheral to send.
    private func shouldSwitchOn(_ attribute: AttributeID, _ fanout: NotificationFanout) -> Bool {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout, !subscription.isOn else {
            return false
        }
        subscriptions[attribute]?.isOn = true
        return true
    }

    /// Undoes a start that failed or was abandoned, because it may still have reached the peripheral. The next
    /// operation on the notifications begins after that.
    private func startFailed(_ attribute: AttributeID, _ fanout: NotificationFanout) async {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout else { return }
        subscriptions[attribute]?.isOn = false
        // In a separate task, which is not cancelled.
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

    /// Asks the peripheral to stop if `condition` holds when the operation's turn comes.
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

    /// Returns true if there are no readers left and this call must ask the peripheral to stop.
    private func shouldSwitchOff(_ attribute: AttributeID, _ fanout: NotificationFanout) -> Bool {
        guard let subscription = subscriptions[attribute], subscription.fanout === fanout, fanout.isEmpty else {
            return false
        }
        subscriptions[attribute] = nil
        return subscription.isOn
    }

    // MARK: Ends and gaps

    /// Ends all streams of matching attributes.
    func endSubscriptions(_ error: BLEError, where matches: (AttributeID) -> Bool) {
        for (attribute, subscription) in subscriptions where matches(attribute) {
            subscriptions[attribute] = nil
            subscription.fanout.finish(error)
            guard subscription.isOn, !isShutDown else { continue }
            // Otherwise, the system would switch notifications on again with the next link.
            Task {
                await switchOff(attribute) { [weak self] in await self?.subscriptions[attribute]?.isOn != true }
            }
        }
    }

    /// Adds a gap to the streams of a link that has ended and will be reestablished.
    func interruptSubscriptions(of id: Peripheral.ID, _ error: BLEError) {
        for (attribute, subscription) in subscriptions where attribute.peripheral == id && subscription.isOn {
            subscriptions[attribute]?.isOn = false
            subscriptions[attribute]?.hasLostChannel = false
            subscription.fanout.interrupt(error)
        }
    }

    /// The number of consecutive links that may fail to restore a subscription, for a temporary reason, before it ends.
    private static let restoreLimit = 3

    /// Restores the subscriptions that survived a gap.
    ///
    /// A subscription ends if the peripheral no longer has its characteristic, or rejects it. An error that may be
    /// temporary is thrown: the attempt to connect then fails, and another one follows.
    func restoreSubscriptions(of id: Peripheral.ID, _ database: GATTDatabase) async throws(BLEError) {
        for (old, subscription) in subscriptions where old.peripheral == id && !subscription.isOn {
            let key = subscription.key
            // Its last reader may have gone while another subscription was restored.
            guard subscriptions[old]?.fanout === subscription.fanout else { continue }
            do throws(BLEError) {
                let attribute = AttributeID(peripheral: id, handle: try database.find(key).1.handle)
                if attribute != old {
                    // A newer subscription already uses the new handle.
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

    /// Counts a failure that may be temporary. Returns false if there have been too many.
    private func passes(_ fanout: NotificationFanout) -> Bool {
        guard let attribute = subscriptions.first(where: { $0.value.fanout === fanout })?.key,
            subscriptions[attribute]!.failedRestores < Self.restoreLimit
        else { return false }
        subscriptions[attribute]!.failedRestores += 1
        return true
    }

    private var moved: BLEError {
        BLEError(.disconnected, "the characteristic has a new handle", isRetryable: true, remedy: "Subscribe again.")
    }

    /// Handles the end of notifications while the link is up.
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
                // If the link has ended in the meantime, that has already ended or interrupted the stream.
                if connectionState(id) == .connected { endSubscriptions(error) { $0 == attribute } }
            }
        }
    }
}
