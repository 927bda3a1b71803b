public import BLE
internal import DBus
internal import Logging
internal import Loop
internal import Synchronization
internal import Waiting

/// Subscribers with sockets of their own. A value for one of them goes over its socket, and a value for all as the
/// property `Value`.
extension BlueZPeripheral {
    /// The first version in which a socket carries the values of its central alone (5.76) and confirmations (5.80).
    static let firstVersionWithSockets = BlueZVersion(5, 80)

    /// The maximum time between the end of a subscriber's link and the end of another's socket that bluetoothd closes
    /// because of it. bluetoothd does both in one call.
    private static let departureTime = Duration.milliseconds(500)

    // MARK: Subscriptions

    /// Answers `AcquireNotify`: a central has subscribed.
    func acquireNotify(_ request: AttributeRequest, _ attribute: ServedAttribute) -> Result<MethodReply, DBusError> {
        let central = request.central
        // With this error, bluetoothd treats the subscription as failed. With any other, it would call StartNotify, and
        // never StopNotify.
        func failed(_ message: String) -> Result<MethodReply, DBusError> {
            .failure(.remote("org.bluez.Error.Failed", message))
        }
        // The link may have ended before this call is handled.
        guard applications[attribute.application] != nil, central.isAddress, request.link?.isUp ?? true else {
            return failed("gone")
        }
        // bluetoothd closes its end before it asks again, unless it has not read the last answer yet. Then it ignores
        // this answer.
        if let present = subscribers.socket(of: central, attribute), !present.isHungUp { return failed("acquired") }
        let ends: (FileDescriptor, FileDescriptor)
        do throws(LoopError) {
            ends = try PacketSocket.pair()
        } catch {
            logger.info(
                "a central could not be subscribed", metadata: ["central": "\(central)", "error": "\(error)"])
            return failed("\(error)")
        }
        let socket = PacketSocket(ends.0, on: stack.loop, maximumLength: 512)
        socket.open { [weak self] packet in
            // bluetoothd sends no other packets.
            if packet == [1] { self?.assumeIsolated { $0.confirmed(by: central, attribute) } }
            return true
        } onEnd: { [weak self, weak socket] in
            guard let socket else { return }
            self?.assumeIsolated { $0.socketEnded(socket, of: central, attribute) }
        }
        subscribers.subscribe(central, to: attribute, socket)?.close()
        withdraw(central, from: attribute)
        report(.subscribed(attribute, central: central, attMTU: request.attMTU))
        return .success(
            MethodReply(
                [.unixFD(0), .uint16(UInt16(clamping: request.attMTU ?? 517))], descriptors: [ends.1]))
    }

    private func socketEnded(_ socket: PacketSocket, of central: DeviceID, _ attribute: ServedAttribute) {
        guard subscribers.socket(of: central, attribute) === socket else { return }
        let number = subscribers.socketEnded(socket, of: central, attribute)
        // No more confirmations can arrive over the socket.
        withdraw(central, from: attribute)
        guard let number else { return }
        after(Self.departureTime) { $0.decide(central, attribute, number) }
    }

    private func decide(_ central: DeviceID, _ attribute: ServedAttribute, _ number: Int) {
        guard subscribers.decide(central, of: attribute, number: number) else { return }
        ended(central, attribute)
    }

    /// Handles a call of `StopNotify`: no central without a socket is subscribed any more.
    func subscribersWithoutSocketEnded(_ attribute: ServedAttribute) {
        for central in subscribers.removeSignaled(attribute) { ended(central, attribute) }
        values.fail(AttributeOfCentral(attribute: attribute), Self.lastIsGone)
        report(.unsubscribed(attribute, central: nil))
    }

    /// Handles the end of a subscription.
    private func ended(_ central: DeviceID, _ attribute: ServedAttribute) {
        withdraw(central, from: attribute)
        withdrawSignaled(to: central, from: attribute)
        report(.unsubscribed(attribute, central: central))
    }

    private func after(_ duration: Duration, _ work: @escaping @Sendable (isolated BlueZPeripheral) -> Void) {
        _ = Expiry(after: duration, clock: clockOfLimits) { [weak self] in
            Task { await self?.perform(work) }
        }
    }

    private func perform(_ work: @Sendable (isolated BlueZPeripheral) -> Void) { work(self) }

    // MARK: Links

    /// Handles the end of a central's link. bluetoothd closes its sockets.
    func subscriberLeft(_ central: DeviceID, isBonded: Bool) {
        for (attribute, socket) in subscribers.linkEnded(central, isBonded: isBonded) {
            socket?.close()
            ended(central, attribute)
            if !isBonded { after(Self.departureTime) { $0.subscribers.departureIsOver(attribute) } }
        }
        // This may decide whether other centrals are still subscribed.
        for key in values.awaited {
            switch key.central.map({ subscribers.route(key.attribute, to: $0) }) {
            case .undecided, .socket: continue
            case .signal, .nobody, .unreachable, nil: values.settle(key)
            }
        }
    }

    /// Handles a new link of a central: a central with a bond may still be subscribed.
    func subscriberReturned(_ central: DeviceID) {
        for attribute in subscribers.linkBegan(central) {
            report(.subscribed(attribute, central: central, attMTU: nil))
        }
    }

    /// Closes the sockets of an application that is no longer served, or all of them, and fails its indications.
    func endSubscribers(_ error: BLEError, of application: Int? = nil) {
        for socket in subscribers.removeAll(where: { $0.application == application ?? $0.application }) {
            socket.close()
        }
        for key in values.keys(of: application) {
            values.forgetUnconfirmed(key)
            values.fail(key, error)
            values.settle(key)
        }
    }

    // MARK: Values

    /// Sends a value to one subscriber, or to all.
    public func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("the characteristic is not served now") }
        guard let central else { return try await signal(value, from: attribute) }
        _ = try await send(value, from: attribute, to: central)
    }

    /// Sends a value to one central. Returns false if the central is not subscribed.
    ///
    /// - Parameter hasSent: receives the socket that the value was sent over; nil if the value is about to be signaled.
    func send(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID,
        hasSent: (PacketSocket?) -> Void = { _ in }
    ) async throws(BLEError) -> Bool {
        // A value is for this subscription, not for the central's next one.
        let number = subscribers.number(of: central, attribute)
        guard applications[attribute.application]?.onlyIndicating.contains(attribute) == true else {
            return try await send(value, from: attribute, to: central, number, hasSent)
        }
        let (turn, ticket) = values.join(AttributeOfCentral(attribute: attribute, central: central))
        defer { values.turns.end(ticket) }
        try await turn.wait()
        return try await send(value, from: attribute, to: central, number, hasSent)
    }

    private func send(
        _ value: [UInt8], from attribute: ServedAttribute, to central: DeviceID, _ number: Int?,
        _ hasSent: (PacketSocket?) -> Void
    ) async throws(BLEError) -> Bool {
        while subscribers.number(of: central, attribute) == number {
            switch subscribers.route(attribute, to: central) {
            case .nobody: return false
            case .undecided:
                let key = AttributeOfCentral(attribute: attribute, central: central)
                let decision = values.wait(for: key)
                defer { values.endWait(decision, for: key) }
                try await decision.wait()
            case .unreachable:
                throw BLEError(
                    .notSupported, "bluetoothd has closed the socket of this central", isRetryable: false,
                    remedy: "Send the value to all subscribers, or let the central read it.")
            case .signal:
                hasSent(nil)
                try await signal(value, from: attribute)
                return true
            case .socket(let socket):
                // bluetoothd treats an empty packet as the end of the socket.
                guard !value.isEmpty else {
                    throw BLEError(
                        .notSupported, "bluetoothd sends an empty value to all subscribers only", isRetryable: false)
                }
                guard applications[attribute.application]?.isEnding == false else { return false }
                // Seen in the step in which the value is sent: others have their turn in each wait.
                if let fence = applications[attribute.application]?.fences[attribute], let signaled = fence.toAwait {
                    // Until bluetoothd has received the values for all subscribers that were signaled before.
                    try await stack.fence()
                    fence.isAwaited(signaled)
                    continue
                }
                if let confirmation = nextConfirmation(by: central, attribute) {
                    try await wait(forConfirmation: confirmation, by: central, attribute)
                    continue
                }
                do throws(LoopError) {
                    guard try socket.send(value) else {
                        try await socket.room()
                        continue
                    }
                    // Recorded before the confirmation can arrive.
                    hasSent(socket)
                    countUnconfirmed(attribute, central)
                    return true
                } catch {
                    if error == .cancelled { throw .cancelled }
                    // The socket has ended. The next pass determines how to send the value.
                    socket.close()
                    socketEnded(socket, of: central, attribute)
                }
            }
        }
        return false
    }

    /// Returns a sender of the values of a characteristic, for any thread.
    public func sender(for attribute: ServedAttribute, to central: DeviceID?) -> ValueSender? {
        guard let central else { return emitter(of: attribute).map(Self.sender) }
        // Values that are confirmed must be counted in this actor.
        guard let socket = subscribers.socket(of: central, attribute),
            applications[attribute.application]?.indicating.contains(attribute) == false
        else { return nil }
        let (turn, fence) = (SendingTurn(), fence(attribute))
        return ValueSender { value in
            guard !value.isEmpty, fence.toAwait == nil else { return false }
            do throws(LoopError) {
                while try !socket.send(value) { try await socket.room() }
                await turn.sent()
                return true
            } catch {
                // A cancelled handler sends nothing. This is not an error.
                return error == .cancelled
            }
        }
    }

    private func fence(_ attribute: ServedAttribute) -> SignalFence {
        if let fence = applications[attribute.application]?.fences[attribute] { return fence }
        let fence = SignalFence()
        applications[attribute.application]?.fences[attribute] = fence
        return fence
    }

    private static func sender(_ emitter: PropertyEmitter) -> ValueSender {
        ValueSender { value in
            do throws(DBusError) {
                try await emitter.send(value)
            } catch {
                return error.kind == .cancelled
            }
            return true
        }
    }

    /// Signals the value as a property, which bluetoothd sends to all subscribers.
    func signal(_ value: [UInt8], from attribute: ServedAttribute) async throws(BLEError) {
        guard let emitter = emitter(of: attribute) else { throw .lost("the characteristic is not served now") }
        let fence = applications[attribute.application]?.givesSockets == true ? fence(attribute) : nil
        if let fence {
            // Until bluetoothd has read the values in the sockets, for at most a second.
            var pauseCount = 0
            while pauseCount < 1000, subscribers.sockets(attribute).contains(where: { !$0.isDrained }) {
                guard (try? await stack.loop.clock.sleep(for: .milliseconds(1))) != nil else { throw .cancelled }
                pauseCount += 1
            }
            // In the step in which the sockets were seen to be empty: no value is sent over one in between.
            fence.isSignaled()
        }
        // Counted again after the signal: a fence in between does not cover it.
        defer { fence?.isSignaled() }
        do throws(DBusError) {
            try await emitter.send(value)
        } catch {
            throw BLEError(error, during: .serving)
        }
    }
}

/// Tracks signaled values for all subscribers, which a later value for one central must not overtake.
final class SignalFence: Sendable {
    private let signaled = Atomic<Int>(0)
    private let awaited = Atomic<Int>(0)

    /// The count of signals that a value for one central must wait for. Pass it to ``isAwaited(_:)`` after waiting. Nil
    /// if there is nothing to wait for.
    ///
    /// The count stays the same on all threads until then.
    var toAwait: Int? {
        let count = signaled.load(ordering: .acquiring)
        return count == awaited.load(ordering: .acquiring) ? nil : count
    }

    /// Records that bluetoothd has received the values that were signaled before ``toAwait`` returned the count.
    func isAwaited(_ count: Int) { _ = awaited.max(count, ordering: .releasing) }

    func isSignaled() { signaled.add(1, ordering: .releasing) }
}

/// Lets other tasks run after every 64 values.
private final class SendingTurn: Sendable {
    private let count = Atomic<Int>(0)

    func sent() async {
        if count.wrappingAdd(1, ordering: .relaxed).newValue % 64 == 0 { await Task.yield() }
    }
}
