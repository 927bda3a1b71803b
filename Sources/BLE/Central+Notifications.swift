internal import Logging
internal import Synchronization

/// The readers of one characteristic's notifications.
struct Subscription {
    let fanout = NotificationFanout()
    /// The peripheral has been asked to send; false again once it has been asked to stop.
    var isOn = false
}

/// Hands each value that a peripheral sends to everybody who reads it.
///
/// The backend calls it directly, once a value; it is the only thing between the backend and the readers' buffers.
final class NotificationFanout: Sendable {
    private let readers = Mutex<[(token: Int, producer: BoundedStream<[UInt8]>.Producer)]>([])

    var isEmpty: Bool { readers.withLock { $0.isEmpty } }

    func add(_ token: Int, _ producer: BoundedStream<[UInt8]>.Producer) {
        readers.withLock { $0.append((token, producer)) }
    }

    func remove(_ token: Int) {
        readers.withLock { $0.removeAll { $0.token == token } }
    }

    func deliver(_ value: [UInt8]) {
        readers.withLock { readers in
            for reader in readers { reader.producer.yield(value) }
        }
    }

    func finish(_ error: BLEError) {
        let ended = readers.withLock { readers in
            defer { readers = [] }
            return readers
        }
        for reader in ended { reader.producer.finish(throwing: error) }
    }
}

extension Central {
    /// A stream of the characteristic's values. The reader is registered before the peripheral is asked to send, so that the
    /// first value finds it.
    func subscribe(
        to key: AttributeKey, of id: Peripheral.ID, overflow: OverflowPolicy, timeout: Duration?
    ) async throws(BLEError) -> BoundedStream<[UInt8]> {
        let target = try await resolve(key, on: id)
        guard !target.characteristic.properties.isDisjoint(with: [.notify, .indicate]) else {
            throw BLEError(.notSupported, "the characteristic neither notifies nor indicates", isRetryable: false)
                .at(id, service: target.service.uuid, characteristic: target.characteristic.uuid)
        }
        let attribute = target.attribute
        let token = token()
        let (stream, producer) = BoundedStream.make(of: [UInt8].self, policy: overflow) { [weak self] in
            Task { await self?.removeReader(token, of: attribute) }
        }
        let subscription = subscriptions[attribute] ?? Subscription()
        subscriptions[attribute] = subscription
        let fanout = subscription.fanout
        fanout.add(token, producer)
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
        // (in a task that is not cancelled)
        await Task { [backend] in try? await backend.stopNotifications(of: attribute) }.value
    }

    private func removeReader(_ token: Int, of attribute: AttributeID) async {
        guard let subscription = subscriptions[attribute] else { return }
        subscription.fanout.remove(token)
        guard subscription.fanout.isEmpty else { return }
        do throws(BLEError) {
            try await perform(
                on: attribute.peripheral, timeout: configuration.operationTimeout, name: "unsubscribing",
                using: .notifications(attribute)
            ) { [weak self] (backend) throws(BLEError) in
                guard await self?.shouldSwitchOff(attribute, subscription.fanout) == true else { return }
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

    /// Ends all streams of the attributes that match.
    func endSubscriptions(_ error: BLEError, where matches: (AttributeID) -> Bool) {
        for (attribute, subscription) in subscriptions where matches(attribute) {
            subscriptions[attribute] = nil
            subscription.fanout.finish(error)
        }
    }
}
