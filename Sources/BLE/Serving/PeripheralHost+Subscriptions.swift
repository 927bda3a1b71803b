internal import Waiting

/// Subscriptions of centrals, and the values that they receive.
extension PeripheralHost {
    func subscribed(_ attribute: ServedAttribute, _ central: DeviceID?, _ attMTU: Int?) {
        guard let characteristic = characteristic(attribute) else { return }
        if let central { centralConnected(central, attMTU: attMTU) }
        // A further subscriber, with one that the stack does not tell apart: the handler's values reach both.
        if central == nil, subscriptions[attribute, nil]?.hasEnded == false { return }
        let number = number()
        let subscription = ServedSubscription(number: number, attMTU: attMTU)
        let replaced = subscriptions.add(subscription, to: attribute, central)
        replaced?.end()
        if replaced == nil, let subscriber = subscriber(attribute, central, attMTU) {
            count(.subscribed)
            yield(.subscribed(subscriber))
        }
        guard let handler = characteristic.onSubscribe else { return }
        let sender = traced(backend.assumeIsolated { $0.sender(for: attribute, to: central) }, attribute, central)
        let state = subscription.state
        let notifier = Notifier(clock: clock, central: central) { [weak self] value in
            // What fits every packet needs nothing of the host. With the first value, the handler leaves this executor.
            if let sender, state.isOpen, !state.isFirst(), value.count <= Self.shortestLimit, await sender.send(value) {
                return
            }
            await self?.notify(value, from: attribute, central, number: number)
        } indicate: { [weak self] (value) throws(BLEError) in
            guard let self else { throw .hostShutDown }
            try await self.indicate(value, from: attribute, central, number: number)
        }
        // The handler starts before the central's next request, and goes on elsewhere than on this actor's executor
        // after its first suspension.
        let task = Task.immediate { @concurrent [weak self] in
            do {
                try await handler(notifier)
            } catch {
                if !Task.isCancelled, !(error is CancellationError) { state.fail(error) }
            }
            await self?.handlerEnded(attribute, central, number)
        }
        guard subscriptions.setTask(task, of: attribute, central, number: number) else { return task.cancel() }
        // It may have failed already, in time for a stack that can still reject the subscription.
        if state.failure != nil { handlerEnded(attribute, central, number) }
    }

    /// Handles the end of a handler. After an error, the subscription of its central ends. Otherwise it stays, and the
    /// handler runs anew for the next subscriber, told apart or not. So does the subscription that stands for all: one
    /// of them must not end it for the others.
    private func handlerEnded(_ attribute: ServedAttribute, _ central: DeviceID?, _ number: Int) {
        guard let subscription = subscriptions[attribute, central], subscription.number == number,
            !subscription.hasEnded
        else { return }
        guard let error = subscription.state.failure else { return subscriptions.handlerEnded(attribute, central) }
        report(
            BLEError(.failed, "a subscription's handler failed: \(error)", cause: error).at(attribute, of: self))
        guard central != nil else { return subscriptions.handlerEnded(attribute, central) }
        unsubscribed(attribute, central)
        let rejection = error as? ATTError ?? .unlikelyError
        backend.assumeIsolated { $0.endSubscription(to: attribute, of: central, rejection) }
    }

    func unsubscribed(_ attribute: ServedAttribute, _ central: DeviceID?) {
        guard let ended = subscriptions.remove(attribute, central) else { return }
        ended.end()
        if let subscriber = subscriber(attribute, central, ended.attMTU) { yield(.unsubscribed(subscriber)) }
    }

    /// Ends all subscriptions to a definition, or to all of them, and the reads in parts.
    func endSubscriptions(of number: Int? = nil) {
        endSubscriptions(subscriptions.all(of: number))
        values.endReading(of: number)
    }

    func endSubscriptions(_ places: [HostSubscriptions.Place]) {
        for (attribute, central) in places { unsubscribed(attribute, central) }
    }

    private func subscriber(
        _ attribute: ServedAttribute, _ central: DeviceID?, _ attMTU: Int?
    ) -> PeripheralHostEvent.Subscriber? {
        guard let place = place(of: attribute) else { return nil }
        return PeripheralHostEvent.Subscriber(
            service: place.service, characteristic: place.characteristic, central: central, attMTU: attMTU)
    }

    // MARK: Values

    /// Sends a value of a subscription's handler, unless the subscription has ended.
    private func notify(
        _ value: [UInt8], from attribute: ServedAttribute, _ central: DeviceID?, number: Int
    ) async {
        guard let subscription = subscriptions[attribute, central], subscription.number == number else { return }
        do throws(BLEError) {
            try await send(value, from: attribute, to: central, of: number)
        } catch {
            // A cancelled handler sends nothing. This is not an error.
            if error.code == .cancelled { return }
            // What holds for every value is reported once.
            if error.code == .notSupported, !subscription.state.isFirstRefusal() { return }
            report(error)
        }
    }

    /// Indicates a value of a subscription's handler.
    private func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, _ central: DeviceID?, number: Int
    ) async throws(BLEError) {
        try await send(value, from: attribute, to: central, of: number, confirmed: true)
    }

    /// The turn of a value that was stored, to be sent to all subscribers.
    struct StoredTurn {
        let number: Int
        let outcome: Outcome<Void>
    }

    /// Stores a value, and begins its turn in the same step: subscribers receive values in the order in which they were
    /// stored.
    func keep(_ value: [UInt8], in attribute: ServedAttribute) -> StoredTurn {
        values[attribute] = value
        let number = number()
        // As many wait as there are requests, and calls of the program.
        return StoredTurn(number: number, outcome: subscriptions.storedValues.wait(attribute, number).0)
    }

    /// Sends a value that was stored to all subscribers. An error is reported as an event.
    func notifyAll(_ value: [UInt8], from attribute: ServedAttribute, _ turn: StoredTurn) async {
        do throws(BLEError) {
            try await send(value, from: attribute, to: nil, turn: turn)
        } catch {
            report(error)
        }
    }

    /// Sends a value to one subscriber or to all. Does nothing if there is none.
    ///
    /// Throws `invalidLength` for a value that would be cut.
    ///
    /// - Parameters:
    ///   - subscription: the number of the only subscription that it is for. Nil for any.
    ///   - turn: that of a value that was stored, which ends with this call.
    func send(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?, of subscription: Int? = nil,
        confirmed: Bool = false, turn: StoredTurn? = nil
    ) async throws(BLEError) {
        defer { if let turn { subscriptions.storedValues.end(turn.number) } }
        try checkRunning()
        let subscribers = subscriptions[attribute]
        guard subscription == nil || subscribers[central]?.number == subscription else {
            guard confirmed else { return }
            throw BLEError(.disconnected, "the subscription has ended", attribute: attribute, of: self)
        }
        guard !subscribers.isEmpty else { return }
        let properties = characteristic(attribute)?.properties ?? []
        guard !confirmed || properties.contains(.indicate) else {
            throw BLEError(
                .notSupported, "the characteristic does not indicate", remedy: "Give it the property .indicate.",
                attribute: attribute, of: self)
        }
        if let central, subscribers[central] == nil {
            guard subscribers[.none] != nil else { return }
            throw BLEError(
                .notSupported, "this system does not tell subscribers apart",
                remedy: "Send the value to all of them.", attribute: attribute, of: self)
        }
        try checkLength(value, from: attribute, to: central)
        if confirmed {
            let observation = observe(.indicate, attribute, central)
            do throws(BLEError) {
                try await indicate(value, from: attribute, to: central)
                ended(observation, nil)
            } catch {
                ended(observation, error.code)
                throw error
            }
        } else if let turn {
            // The stack may let each wait, for others to be sent first. No handler runs in a turn.
            try await turn.outcome.wait()
            try await transmit(value, from: attribute, to: nil)
        } else {
            try await transmit(value, from: attribute, to: central)
        }
    }

    /// Throws `invalidLength` for a value that would be cut on the way to a subscriber, or to one of all.
    func checkLength(_ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?) throws(BLEError) {
        guard value.count > Self.shortestLimit, case let subscribers = subscriptions[attribute], !subscribers.isEmpty,
            case let longest = longestValue(for: central, subscribers), value.count > longest
        else { return }
        throw BLEError(
            .invalidLength, "a value of \(value.count) bytes does not fit a packet of the link",
            remedy: "Send at most \(longest) bytes, or let the central read the value.", attribute: attribute, of: self)
    }

    /// Sends an indication when its turn has come, and waits for its confirmation.
    private func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        // A confirmation does not say what it confirms: one indication is on its way at a time, to one central and
        // to all.
        let number = number()
        let queue = AttributeOfCentral(attribute: attribute, central: central)
        let (turn, joined) = subscriptions.indications.wait(queue, number, limit: configuration.waitingWrites + 1)
        if case .full = joined {
            throw BLEError(
                .overflow, "\(configuration.waitingWrites) indications are waiting for confirmations",
                attribute: attribute, of: self)
        }
        defer { subscriptions.indications.end(number) }
        let timeout = configuration.confirmationTimeout
        let timer = turn.expire(after: timeout, clock: clock) {
            BLEError(.timedOut, "earlier indications were not confirmed within \(timeout)")
        }
        defer { timer.cancel() }
        try await turn.wait()
        try checkRunning()
        let present = subscriptions[attribute]
        guard central == nil ? !present.isEmpty : present[central] != nil else {
            throw BLEError(.disconnected, "the last subscriber is gone", attribute: attribute, of: self)
        }
        try await traced("indicating", attribute, central, sends: value) { () throws(BLEError) in
            try await Outcome.race(within: timeout, clock: clock) {
                BLEError(.timedOut, "the central did not confirm the indication within \(timeout)")
            } _: { [backend] () throws(BLEError) in
                try await backend.indicate(value, from: attribute, to: central)
            }
        }
    }

    private func transmit(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        try await traced("notifying", attribute, central, sends: value) { () throws(BLEError) in
            try await backend.notify(value, from: attribute, to: central)
        }
    }

    /// What every link carries: an ATT MTU of 23, without the three bytes before a value.
    private nonisolated static let shortestLimit = 20

    /// Returns the length of the longest value that reaches all those that it is for, in bytes, as far as the lengths
    /// of their packets are known.
    private func longestValue(
        for central: DeviceID?, _ subscribers: [DeviceID?: ServedSubscription]
    ) -> Int {
        let those = central.map { [$0] } ?? subscribers.keys.compactMap(\.self)
        var sizes = those.compactMap { id in subscribers[id]?.attMTU ?? centrals.attMTU(of: id) }
        // If the system does not say who subscribes, the central with the largest packets may be the only one. One
        // whose packets are not known yet may have the largest.
        if central == nil, subscribers[.none] != nil, let largest = centrals.largestATTMTU { sizes.append(largest) }
        return max(Self.shortestLimit, min(sizes.min().map { $0 - 3 } ?? Self.maximumLength, Self.maximumLength))
    }
}
