public import BLE
internal import DBus
internal import Synchronization
internal import Waiting

/// An indication on its way.
struct Confirmation {
    let outcome = Outcome<Void>()
    /// The centrals whose sockets carry it and that have not confirmed it. Nil if bluetoothd calls `Confirm`.
    var awaited: Set<Peripheral.ID>?
    /// Whether any has confirmed it.
    var isConfirmed = false
}

/// Waits for a decision about a subscriber.
struct SubscriberKey: Hashable {
    let attribute: ServedAttribute
    let central: Peripheral.ID
}

/// Subscribers with sockets of their own.
extension BlueZPeripheral {
    /// The first version in which a socket carries the values of its central alone (5.76) and confirmations (5.80).
    static let firstVersionWithSockets = BlueZVersion(5, 80)

    /// The maximum time between the end of a subscriber's link and what bluetoothd does to the sockets of others. Both
    /// happen in one call there.
    private static let departureTime = Duration.milliseconds(500)

    // MARK: Subscriptions

    /// Answers `AcquireNotify`: a central has subscribed.
    func acquireNotify(_ request: AttributeRequest, _ attribute: ServedAttribute) -> Result<MethodReply, DBusError> {
        let ends: (FileDescriptor, FileDescriptor)
        do throws(DBusError) {
            guard request.central.isAddress else { throw .remote("org.bluez.Error.NotSupported", "no device") }
            ends = try PacketSocket.pair()
        } catch {
            // bluetoothd calls StartNotify instead, unless the error is `Failed`.
            return .failure(.remote("org.bluez.Error.NotSupported", error.message))
        }
        let central = request.central
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
        report(.subscribed(attribute, central: central, attMTU: request.attMTU))
        return .success(
            MethodReply(
                [.unixFD(0), .uint16(UInt16(clamping: request.attMTU ?? 517))], descriptors: [ends.1]))
    }

    private func socketEnded(_ socket: PacketSocket, of central: Peripheral.ID, _ attribute: ServedAttribute) {
        guard subscribers.socketEnded(socket, of: central, attribute) else { return }
        after(Self.departureTime) { $0.decide(central, attribute) }
    }

    private func decide(_ central: Peripheral.ID, _ attribute: ServedAttribute) {
        if subscribers.decide(central, of: attribute) { ended(central, attribute) }
        settle(SubscriberKey(attribute: attribute, central: central))
    }

    /// A subscription has ended.
    private func ended(_ central: Peripheral.ID, _ attribute: ServedAttribute) {
        withdraw(central, from: attribute)
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
            settle(SubscriberKey(attribute: attribute, central: central))
            if !isBonded { after(Self.departureTime) { $0.subscribers.departureIsOver(attribute) } }
        }
        // What is decided by this is no longer waited for.
        for key in decisions.keys {
            if case .undecided = subscribers.route(key.attribute, to: key.central) { continue }
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
    }

    // MARK: Values

    /// Sends a value to one subscriber, or to all.
    public func notify(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("it is not served now") }
        switch try await route(value, attribute, to: central) {
        case .sockets(let sockets): try await send(value, over: sockets, from: attribute)
        case .signal: try await signal(value, from: attribute)
        default: break
        }
    }

    /// Returns the way of a value, once it is decided.
    private func route(
        _ value: [UInt8], _ attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) -> Subscribers<PacketSocket>.Route {
        while true {
            let route = subscribers.route(attribute, to: central)
            switch route {
            // bluetoothd takes an empty packet as the end of the socket.
            case .sockets where value.isEmpty && central == nil: return .signal
            case .sockets where value.isEmpty:
                throw BLEError(
                    .notSupported, "bluetoothd sends an empty value to all subscribers only", isRetryable: false)
            case .unreachable:
                throw BLEError(
                    .notSupported, "bluetoothd has closed the socket of this central", isRetryable: false,
                    remedy: "Send the value to all subscribers. The next link of the central has a socket again.")
            case .undecided:
                guard let central else { return .signal }
                let decision = Outcome<Void>()
                decisions[SubscriberKey(attribute: attribute, central: central), default: []].append(decision)
                try await decision.wait()
            case .sockets, .signal, .nobody: return route
            }
        }
    }

    private func send(
        _ value: [UInt8], over sockets: [(central: Peripheral.ID, socket: PacketSocket)],
        from attribute: ServedAttribute
    ) async throws(BLEError) {
        for (central, socket) in sockets {
            do throws(DBusError) {
                while try !socket.send(value) { try await socket.room() }
            } catch {
                if error.kind == .cancelled { throw .cancelled }
                // It has ended, which is about to be reported.
                withdraw(central, from: attribute)
            }
        }
    }

    /// Returns what sends the values of a characteristic from any thread.
    public func sender(for attribute: ServedAttribute, to central: Peripheral.ID?) -> ValueSender? {
        guard let central else { return emitter(of: attribute).map(Self.sender) }
        guard case .sockets(let sockets) = subscribers.route(attribute, to: central), let socket = sockets.first?.socket
        else { return nil }
        let turn = SendingTurn()
        return ValueSender { value in
            guard !value.isEmpty else { return false }
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
    private func signal(_ value: [UInt8], from attribute: ServedAttribute) async throws(BLEError) {
        guard let emitter = emitter(of: attribute) else { throw .lost("it is not served now") }
        do throws(DBusError) {
            try await emitter.send(value)
        } catch {
            throw BLEError(error, during: .serving)
        }
    }

    // MARK: Indications

    /// Sends the value, and waits until every central that it was sent to has confirmed it.
    public func indicate(
        _ value: [UInt8], from attribute: ServedAttribute, to central: Peripheral.ID?
    ) async throws(BLEError) {
        guard applications[attribute.application] != nil else { throw .lost("it is not served now") }
        let route = try await route(value, attribute, to: central)
        var confirmation = Confirmation()
        if case .sockets(let sockets) = route { confirmation.awaited = Set(sockets.map(\.central)) }
        confirmations[attribute] = confirmation
        defer { if confirmations[attribute]?.outcome === confirmation.outcome { confirmations[attribute] = nil } }
        switch route {
        case .sockets(let sockets): try await send(value, over: sockets, from: attribute)
        case .signal: try await signal(value, from: attribute)
        default: throw Self.lastIsGone
        }
        try await confirmation.outcome.wait()
    }

    /// bluetoothd has received a confirmation: it calls `Confirm`, or says so on the socket of the central.
    func confirmed(by central: Peripheral.ID?, _ attribute: ServedAttribute) {
        guard let central else {
            confirmations[attribute]?.outcome.deliver(.success(()))
            return
        }
        guard confirmations[attribute]?.awaited?.remove(central) != nil else { return }
        confirmations[attribute]?.isConfirmed = true
        finish(attribute)
    }

    /// A central can no longer confirm what is on its way.
    private func withdraw(_ central: Peripheral.ID, from attribute: ServedAttribute) {
        guard confirmations[attribute]?.awaited?.remove(central) != nil else { return }
        finish(attribute)
    }

    private func finish(_ attribute: ServedAttribute) {
        guard let confirmation = confirmations[attribute], confirmation.awaited?.isEmpty == true else { return }
        confirmation.outcome.deliver(confirmation.isConfirmed ? .success(()) : .failure(Self.lastIsGone))
    }

    static let lastIsGone = BLEError(.disconnected, "the last subscriber is gone")
}

/// Lets other tasks run after every 64 values.
private final class SendingTurn: Sendable {
    private let count = Atomic<Int>(0)

    func sent() async {
        if count.wrappingAdd(1, ordering: .relaxed).newValue % 64 == 0 { await Task.yield() }
    }
}
