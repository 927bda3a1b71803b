internal import BLE
internal import Synchronization
internal import Waiting

extension SimulatedRadio {
    // MARK: Subscriptions

    func subscribe(
        _ attribute: AttributeID, isChannel: Bool, _ port: Int, _ deliver: @escaping @Sendable ([UInt8]) -> Bool
    ) async throws(BLEError) {
        let (device, link) = try linked(attribute.peripheral, port)
        let known = try characteristic(attribute.handle, device, link).definition
        // bluetoothd does not make channels for indications.
        let wanted: CharacteristicProperties = isChannel ? .notify : [.notify, .indicate]
        guard !known.properties.isDisjoint(with: wanted) else { throw BLEError(.requestNotSupported) }
        try await secure(link, of: device, as: attribute.peripheral, known.security)
        // The link may have ended, and the services may have changed.
        let characteristic = try characteristic(attribute.handle, device, link)
        guard characteristic.definition.uuid == known.uuid else { throw BLEError(.invalidHandle) }
        let handle = attribute.handle
        let running = uses(of: link.shared, device).compactMap { use in
            use.subscriptions[handle].map { (isOther: use !== link, subscription: $0) }
        }
        // bluetoothd notifies either all of its clients, or a channel.
        guard running.allSatisfy({ !$0.isOther || !isChannel && !$0.subscription.isChannel }) else {
            throw Self.notifyAcquired
        }
        let run = running.first?.subscription.run ?? SubscriptionRun(number: number())
        link.subscriptions[handle] = SimulatedSubscription(run, isChannel: isChannel, deliver: deliver)
        if running.isEmpty {
            try await start(run, handle, characteristic.definition, device, link)
        } else if let start = run.start() {
            // The peripheral may still refuse.
            do throws(BLEError) {
                try await start.wait()
            } catch {
                endSubscription(handle, run, link, device)
                throw error
            }
        }
        // The link may have ended.
        if link.subscriptions[handle]?.run !== run { try check(link, of: device) }
    }

    /// Starts the definition's handler, and ends the subscriptions if it refuses at once.
    private func start(
        _ run: SubscriptionRun, _ handle: UInt16, _ definition: CharacteristicDefinition, _ device: SimulatedDevice,
        _ link: SimulatedLink
    ) async throws(BLEError) {
        guard let handler = definition.onSubscribe else { return run.didStart(.success(())) }
        let indicates = definition.properties.contains(.indicate)
        let (id, number) = (device.id, run.number)
        let notifier = Notifier(clock: clock, central: link.shared.central) { [weak self] value in
            await self?.notify(value, handle, number, id)
        } indicate: { [weak self] (value) throws(BLEError) in
            try await self?.indicate(value, handle, number, id, isPossible: indicates)
        }
        // The handler starts before the central knows that it has subscribed, and is ready for the central's next
        // write.
        let failure = HandlerFailure()
        let task = Task(executorPreference: tasks) { [weak self] in
            do {
                try await handler(notifier)
            } catch {
                guard !Task.isCancelled, !(error is CancellationError) else { return }
                failure.set(error)
                await self?.endSubscriptions(handle, number, id)
            }
        }
        run.task = task
        await executor.takeTurns()
        if let error = failure.error {
            endSubscriptions(handle, number, id)
            let rejection = Self.rejection(error)
            run.didStart(.failure(rejection))
            throw rejection
        }
        run.didStart(.success(()))
        // The links may have ended.
        if subscribed(handle, number, id).isEmpty { task.cancel() }
    }

    /// Returns the error of a subscription whose handler has thrown an error before its first suspension.
    private static func rejection(_ error: any Error) -> BLEError {
        var rejection = BLEError(error as? ATTError ?? .unlikelyError)
        if !(error is ATTError) { rejection.message += ": its subscription handler has thrown \(error)" }
        rejection.cause = error
        return rejection
    }

    private static let notifyAcquired = BLEError(
        .busy, "another program uses the notifications, or a channel for them", isRetryable: true)

    /// Returns the links of a run's subscriptions: those of the centrals of one adapter, which share one.
    private func subscribed(_ handle: UInt16, _ number: Int, _ id: Peripheral.ID) -> [SimulatedLink] {
        peripherals[id]?.orderedLinks.filter { $0.subscriptions[handle]?.run.number == number } ?? []
    }

    /// Ends the subscriptions of a handler that has failed. The centrals are not notified, because the protocol has no
    /// message for this.
    private func endSubscriptions(_ handle: UInt16, _ number: Int, _ id: Peripheral.ID) {
        for link in subscribed(handle, number, id) {
            link.subscriptions[handle] = nil
            trace("subscription ended", handle, id, by: Self.central(link.port))
        }
    }

    /// Indicates a value of a subscription's handler, and waits until the central has confirmed it, which it does at
    /// once.
    private func indicate(
        _ value: [UInt8], _ handle: UInt16, _ number: Int, _ id: Peripheral.ID, isPossible: Bool
    ) async throws(BLEError) {
        guard isPossible else {
            throw BLEError(
                .notSupported, "the characteristic does not indicate", remedy: "Add the property .indicate.")
        }
        guard let device = peripherals[id], let shared = subscribed(handle, number, id).first?.shared else {
            throw BLEError(.disconnected, "the subscription has ended")
        }
        device.attributes.characteristics[handle]?.value = value
        let arrival = Outcome<Void>()
        defer { shared.unanswered.removeAll { $0 === arrival } }
        send(value, handle, device, .indicate, over: shared, arrival)
        try await arrival.wait()
        // The adapter confirms, whichever of its centrals are still there.
        try await crossing(device, shared)?.wait()
        let place = Place(peripheral: id, link: shared)
        let losesLink = try await admit(.confirm, at: place, handle: handle)
        trace("confirmation", handle, id, by: shared.central)
        if losesLink { loseLink(at: place) }
    }

    /// Delivers a value from a subscription's handler, unless the subscription has ended.
    private func notify(_ value: [UInt8], _ handle: UInt16, _ number: Int, _ id: Peripheral.ID) async {
        guard let device = peripherals[id], let shared = subscribed(handle, number, id).first?.shared else { return }
        guard shared.isUnconfirmed else { return notify(value, handle, device, over: shared) }
        // As with the sockets of bluetoothd, a handler does not send faster than the central confirms.
        let departure = Outcome<Void>()
        notify(value, handle, device, over: shared, departure)
        try? await departure.wait()
    }

    func unsubscribe(_ attribute: AttributeID, _ port: Int) {
        guard let device = peripherals[attribute.peripheral], let link = device.links[port],
            let run = link.subscriptions[attribute.handle]?.run
        else { return }
        endSubscription(attribute.handle, run, link, device)
    }

    /// Ends a central's subscription, unless another one has replaced it. The handler goes on for the others of the
    /// adapter.
    func endSubscription(
        _ handle: UInt16, _ run: SubscriptionRun, _ link: SimulatedLink, _ device: SimulatedDevice
    ) {
        if link.subscriptions[handle]?.run === run { link.subscriptions[handle] = nil }
        trace("subscription ended", handle, device.id, by: Self.central(link.port))
        let isInUse = uses(of: link.shared, device).contains { $0.subscriptions[handle]?.run === run }
        if !isInUse { run.task?.cancel() }
    }

    func resume(_ attribute: AttributeID, _ port: Int) {
        peripherals[attribute.peripheral]?.links[port]?.subscriptions[attribute.handle]?.resume()
    }

    /// Stops the notifications that use a channel, as if another program had stopped them.
    func stopChannels(of uuid: BluetoothUUID, _ id: Peripheral.ID) {
        guard let device = peripherals[id] else { return }
        for link in device.orderedLinks {
            for handle in device.attributes.handles(of: uuid) {
                guard let subscription = link.subscriptions[handle], subscription.isChannel else { continue }
                endSubscription(handle, subscription.run, link, device)
                subscription.drain()
                let error = BLEError(.busy, "another program has stopped the notifications", isRetryable: true)
                for name in names(of: device, link) {
                    ports[link.port]?.handle(.notificationsEnded(AttributeID(peripheral: name, handle: handle), error))
                }
            }
        }
    }

    // MARK: Tests

    func subscriberCount(_ uuid: BluetoothUUID, _ id: Peripheral.ID) -> Int {
        guard let device = peripherals[id] else { return 0 }
        return device.attributes.handles(of: uuid).count { handle in
            device.links.values.contains { $0.subscriptions[handle] != nil }
        }
    }

    func handles(of key: CharacteristicKey, _ id: Peripheral.ID) -> [UInt16] {
        peripherals[id]?.attributes.handles(of: key) ?? []
    }

    /// The centrals that are subscribed to a characteristic.
    func subscribers(of key: CharacteristicKey, _ id: Peripheral.ID) -> [DeviceID] {
        guard let device = peripherals[id], let handle = device.attributes.handle(of: key) else { return [] }
        return device.orderedLinks.filter { $0.subscriptions[handle] != nil }.reduce(into: []) { all, link in
            if !all.contains(link.shared.central) { all.append(link.shared.central) }
        }
    }
}

/// The error that a subscription's handler has thrown.
private final class HandlerFailure: Sendable {
    private let state = Mutex<(any Error)?>(nil)

    var error: (any Error)? { state.withLock { $0 } }
    func set(_ error: any Error) { state.withLock { $0 = error } }
}
