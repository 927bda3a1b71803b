public import BLE
internal import DBus
internal import Logging
internal import Synchronization
internal import Waiting

/// A subscriber of a characteristic.
struct SubscriberKey: Hashable {
    let attribute: ServedAttribute
    /// Nil for those without sockets of their own, whom bluetoothd does not tell apart.
    var central: Peripheral.ID?
}

/// Subscribers with sockets of their own. A value for one of them goes over its socket, and a value for all as the
/// property `Value`.
extension BlueZPeripheral {
    /// The first version in which a socket carries the values of its central alone (5.76) and confirmations (5.80).
    static let firstVersionWithSockets = BlueZVersion(5, 80)

    /// The maximum time between the end of a subscriber's link and what bluetoothd does to the socket of another. Both
    /// happen in one call there.
    private static let departureTime = Duration.milliseconds(500)

    // MARK: Subscriptions

    /// Answers `AcquireNotify`: a central has subscribed.
    func acquireNotify(_ request: AttributeRequest, _ attribute: ServedAttribute) -> Result<MethodReply, DBusError> {
        let central = request.central
        // With this error, bluetoothd takes the subscription as failed. With any other, it would call StartNotify, and
        // never StopNotify.
        func failed(_ message: String) -> Result<MethodReply, DBusError> {
            .failure(.remote("org.bluez.Error.Failed", message))
        }
        // The end of the link may have overtaken it.
        guard applications[attribute.application] != nil, central.isAddress, request.link?.isUp ?? true else {
            return failed("gone")
        }
        // bluetoothd closes its end before it asks again, unless it has not read the last answer yet. Then it ignores this
        // one.
        if let present = subscribers.socket(of: central, attribute), !present.isHungUp { return failed("acquired") }
        let ends: (FileDescriptor, FileDescriptor)
        do throws(DBusError) {
            ends = try PacketSocket.pair()
        } catch {
            logger.info(
                "a central could not subscribe", metadata: ["central": "\(central)", "error": "\(error.message)"])
            return failed(error.message)
        }
        let socket = PacketSocket(ends.0, on: host.loop, maximumLength: 512)
        socket.open { [weak self] packet in
            // Any other packet is not bluetoothd's.
            if packet == [1] { self?.assumeIsolated { $0.confirmed(by: central, attribute) } }
            return true
        } onEnd: { [weak self, weak socket] in
            guard let socket else { return }
            self?.assumeIsolated { $0.socketEnded(socket, of: central, attribute) }
        }
        subscribers.subscribe(central, to: attribute, socket)?.close()
        withdraw(central, from: attribute)
        settle(SubscriberKey(attribute: attribute, central: central))
        report(.subscribed(attribute, central: central, attMTU: request.attMTU))
        return .success(
            MethodReply(
                [.unixFD(0), .uint16(UInt16(clamping: request.attMTU ?? 517))], descriptors: [ends.1]))
    }

    private func socketEnded(_ socket: PacketSocket, of central: Peripheral.ID, _ attribute: ServedAttribute) {
        guard subscribers.socket(of: central, attribute) === socket else { return }
        let number = subscribers.socketEnded(socket, of: central, attribute)
        // No confirmation can come over it.
        withdraw(central, from: attribute)
        guard let number else { return }
        after(Self.departureTime) { $0.decide(central, attribute, number) }
    }

    private func decide(_ central: Peripheral.ID, _ attribute: ServedAttribute, _ number: Int) {
        guard subscribers.decide(central, of: attribute, number: number) else { return }
        ended(central, attribute)
    }

    /// bluetoothd has called `StopNotify`: nobody without a socket is subscribed any more.
    func subscribersWithoutSocketEnded(_ attribute: ServedAttribute) {
        for central in subscribers.removeSignaled(attribute) { ended(central, attribute) }
        fail(SubscriberKey(attribute: attribute), Self.lastIsGone)
        report(.unsubscribed(attribute, central: nil))
    }

    /// A subscription has ended.
    private func ended(_ central: Peripheral.ID, _ attribute: ServedAttribute) {
        withdraw(central, from: attribute)
        withdrawSignaled(to: central, from: attribute)
        settle(SubscriberKey(attribute: attribute, central: central))
        report(.unsubscribed(attribute, central: central))
    }

    private func settle(_ key: SubscriberKey) {
        for waiter in decisions.removeValue(forKey: key) ?? [] { waiter.deliver(.success(())) }
    }

    private func after(_ duration: Duration, _ work: @escaping @Sendable (isolated BlueZPeripheral) -> Void) {
        _ = Expiry(after: duration, clock: context?.clock ?? host.loop.clock) { [weak self] in
            Task { await self?.perform(work) }
        }
    }

    private func perform(_ work: @Sendable (isolated BlueZPeripheral) -> Void) { work(self) }

    // MARK: Links

    /// The link of a central has ended. bluetoothd closes its sockets.
    func subscriberLeft(_ central: Peripheral.ID, isBonded: Bool) {
        for (attribute, socket) in subscribers.linkEnded(central, isBonded: isBonded) {
            socket?.close()
            ended(central, attribute)
            if !isBonded { after(Self.departureTime) { $0.subscribers.departureIsOver(attribute) } }
        }
        // Others are decided by this.
        for key in decisions.keys {
            if let central = key.central, case .undecided = subscribers.route(key.attribute, to: central) { continue }
            settle(key)
        }
    }

    /// A central has a link: one with a bond may still be subscribed.
    func subscriberReturned(_ central: Peripheral.ID) {
        for attribute in subscribers.linkBegan(central) {
            report(.subscribed(attribute, central: central, attMTU: nil))
        }
    }

    /// Closes the sockets of characteristics that are no longer served.
    func endSubscribers(where isIncluded: (ServedAttribute) -> Bool = { _ in true }) {
        for socket in subscribers.removeAll(where: isIncluded) { socket.close() }
        for key in decisions.keys where isIncluded(key.attribute) { settle(key) }
        for key in unconfirmed.keys where isIncluded(key.attribute) { unconfirmed[key] = nil }
        for attribute in fences.keys where isIncluded(attribute) { fences[attribute] = nil }
    }

    // MARK: Values

    /// Sends a value to one subscriber, or to all.
    public func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("it is not served now") }
        guard let central else { return try await signal(value, from: attribute) }
        _ = try await send(value, from: attribute, to: central)
    }

    /// Sends a value to one central. Returns false if it is not subscribed.
    ///
    /// - Parameter hasSent: receives the socket that the value went over; nil if it is about to be signaled.
    func send(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID,
        hasSent: (PacketSocket?) -> Void = { _ in }
    ) async throws(BLEError) -> Bool {
        while true {
            switch subscribers.route(attribute, to: central) {
            case .nobody: return false
            case .undecided:
                let decision = Outcome<Void>()
                decisions[SubscriberKey(attribute: attribute, central: central), default: []].append(decision)
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
                // bluetoothd takes an empty packet as the end of the socket.
                guard !value.isEmpty else {
                    throw BLEError(
                        .notSupported, "bluetoothd sends an empty value to all subscribers only", isRetryable: false)
                }
                if try await isFenced(attribute) { continue }
                do throws(DBusError) {
                    guard try socket.send(value) else {
                        try await socket.room()
                        continue
                    }
                    // Before its confirmation can arrive here.
                    hasSent(socket)
                    countUnconfirmed(attribute, central)
                    return true
                } catch {
                    if error.kind == .cancelled { throw .cancelled }
                    // It has ended: what this means decides on the value's way.
                    socket.close()
                    socketEnded(socket, of: central, attribute)
                }
            }
        }
    }

    /// Waits until bluetoothd has the values for all that were signaled before. Returns whether it has waited.
    private func isFenced(_ attribute: ServedAttribute) async throws(BLEError) -> Bool {
        guard let fence = fences[attribute], let signaled = fence.toAwait else { return false }
        try await host.fence()
        fence.isAwaited(signaled)
        return true
    }

    /// Returns what sends the values of a characteristic from any thread.
    public func sender(for attribute: ServedAttribute, to central: Peripheral.ID?) -> ValueSender? {
        guard let central else { return emitter(of: attribute).map(Self.sender) }
        // Those that are confirmed are counted here.
        guard let socket = subscribers.socket(of: central, attribute),
            applications[attribute.application]?.indicating.contains(attribute) == false
        else { return nil }
        let (turn, fence) = (SendingTurn(), fence(attribute))
        return ValueSender { value in
            guard !value.isEmpty, fence.toAwait == nil else { return false }
            do throws(DBusError) {
                while try !socket.send(value) { try await socket.room() }
                await turn.sent()
                return true
            } catch {
                // A cancelled handler sends nothing, and nobody is to be told.
                return error.kind == .cancelled
            }
        }
    }

    private func fence(_ attribute: ServedAttribute) -> SignalFence {
        if let fence = fences[attribute] { return fence }
        let fence = SignalFence()
        fences[attribute] = fence
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
        guard let emitter = emitter(of: attribute) else { throw .lost("it is not served now") }
        let fence = applications[attribute.application]?.givesSockets == true ? fence(attribute) : nil
        if let fence {
            try await awaitSockets(attribute)
            fence.isSignaled()
        }
        // A fence from between is one before the signal.
        defer { fence?.isSignaled() }
        do throws(DBusError) {
            try await emitter.send(value)
        } catch {
            throw BLEError(error, during: .serving)
        }
    }

    /// Waits until bluetoothd has read what is in the sockets of a characteristic, for at most a second.
    private func awaitSockets(_ attribute: ServedAttribute) async throws(BLEError) {
        for _ in 0..<1000 where subscribers.sockets(attribute).contains(where: { !$0.isDrained }) {
            guard (try? await host.loop.clock.sleep(for: .milliseconds(1))) != nil else { throw .cancelled }
        }
    }
}

/// Whether values for all have been signaled that one central's next value must not overtake.
final class SignalFence: Sendable {
    private let signaled = Atomic<Int>(0)
    private let awaited = Atomic<Int>(0)

    /// What a value for one central must wait for, to be handed to ``isAwaited(_:)`` afterward. Nil if nothing.
    ///
    /// It remains until then, whichever thread asks.
    var toAwait: Int? {
        let count = signaled.load(ordering: .acquiring)
        return count == awaited.load(ordering: .acquiring) ? nil : count
    }

    /// Records that bluetoothd has what was signaled before ``toAwait`` returned the count.
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
