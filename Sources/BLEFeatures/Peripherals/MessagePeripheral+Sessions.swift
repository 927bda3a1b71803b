internal import BLE
internal import Waiting

/// Subscriptions, and the sessions of centrals.
extension MessagePeripheral {
    /// A frame to be sent, and its session.
    struct Outgoing: Sendable {
        let frame: [UInt8]
        let key: DeviceID?
        let number: Int
    }

    /// A subscription to the reply characteristic, which sends the frames of its sessions one after the other.
    struct Subscription {
        let number: Int
        /// The time since the subscription began.
        let elapsed: @Sendable () -> Duration
        private let frames: AsyncStream<Outgoing>.Continuation
        private let work: Task<Void, Never>

        init(
            _ subscriber: ReplySubscribers.Subscriber, send: @escaping @Sendable (Outgoing) async -> Void
        ) {
            number = subscriber.number
            elapsed = Self.timer(subscriber.notifier.clock)
            let limit = PeripheralSession.capacity * (SessionClaims.maximumGuests + 2)
            let (frames, continuation) = AsyncStream.makeStream(
                of: Outgoing.self, bufferingPolicy: .bufferingOldest(limit))
            self.frames = continuation
            work = Task { for await frame in frames { await send(frame) } }
        }

        private static func timer<C: Clock<Duration>>(_ clock: C) -> @Sendable () -> Duration {
            let start = clock.now
            return { start.duration(to: clock.now) }
        }

        func send(_ frame: Outgoing) -> Bool {
            if case .enqueued = frames.yield(frame) { true } else { false }
        }

        func end() {
            work.cancel()
            frames.finish()
        }
    }

    /// Serves sessions while a central is subscribed to the reply characteristic.
    func serve(_ subscriber: ReplySubscribers.Subscriber) async {
        begin(subscriber)
        // Waits until the task is cancelled.
        try? await Outcome<Void>().wait()
        notifiers.remove(subscriber)
        await end(subscriber)
    }

    /// Begins a subscription, unless this one or a later one has begun.
    private func begin(_ subscriber: ReplySubscribers.Subscriber) {
        let key = subscriber.notifier.central
        guard subscriptions[key].map({ $0.number < subscriber.number }) ?? true else { return }
        // The end of a replaced subscription is not reported, because its central continues.
        if let replaced = subscriptions[key] { _ = endSubscription(replaced, key) }
        subscriptions[key] = Subscription(subscriber) { [notifier = subscriber.notifier] frame in
            await self.send(frame, notifier)
        }
        if let key { claims.remove(key) } else { claims = SessionClaims(needsProof: encryption?.mode == .bound) }
        beginSession(key, subscriber.number, isShared: key == nil)
    }

    private func end(_ subscriber: ReplySubscribers.Subscriber) async {
        let key = subscriber.notifier.central
        guard let subscription = subscriptions[key], subscription.number == subscriber.number else { return }
        let centrals = endSubscription(subscription, key)
        if centrals.isEmpty { await onStep(.ended(nil)) }
        for central in centrals { await onStep(.ended(central)) }
    }

    /// Ends a subscription and its sessions. Returns their centrals.
    private func endSubscription(_ subscription: Subscription, _ key: DeviceID?) -> [DeviceID] {
        subscriptions[key] = nil
        subscription.end()
        let ended = sessions.filter { $0.value.subscription == subscription.number }.keys
        for key in ended { sessions.removeValue(forKey: key)?.end() }
        return ended.compactMap(\.self)
    }

    /// Ends the session of a central whose link has ended, if its subscription continues: the system does not
    /// distinguish subscribers, and another central may be subscribed.
    func disconnected(_ central: DeviceID) async {
        guard sessions[central]?.isShared == true else { return }
        claims.remove(central)
        await endSession(central)
    }

    /// Ends the session of a central. Its subscription continues.
    func endSession(_ central: DeviceID) async {
        sessions.removeValue(forKey: central)?.end()
        await onStep(.ended(central))
    }

    private func beginSession(_ key: DeviceID?, _ subscription: Int, isShared: Bool) {
        sessions.removeValue(forKey: key)?.end()
        lastNumber += 1
        let number = lastNumber
        sessions[key] = PeripheralSession(
            number: number, subscription: subscription, isShared: isShared,
            keys: PeripheralLinkKeys(encryption, pairings: [])
        ) { requests in
            Task {
                // Several steps: the session is known by its number.
                await self.loadKeys(key, number)
                for await request in requests { await self.answer(request, key, number) }
            }
        }
    }

    /// Loads the keys of earlier pairings, with which a session begins in `firmware` mode.
    private func loadKeys(_ key: DeviceID?, _ number: Int) async {
        guard encryption?.mode == .firmware else { return }
        var known: [MessageKey] = []
        var begun: Int
        repeat {
            begun = generation
            do throws(BLEError) {
                known = try await pairings.keys()
            } catch {
                known = []
                report(error, key)
            }
            guard isCurrent(number, key) else { return }
        } while generation != begun
        sessions[key]?.use(PeripheralLinkKeys(encryption, pairings: known))
    }

    /// Whether a session is still the current one.
    func isCurrent(_ number: Int, _ key: DeviceID?) -> Bool { sessions[key]?.number == number }

    // MARK: Requests

    /// Takes a write to the request characteristic.
    func take(_ frame: [UInt8], _ request: AttributeRequest) async throws(ATTError) {
        await onStep(.received(frame))
        // A request whose write was rejected in the meantime must not be carried out.
        if Task.isCancelled { throw .unlikelyError }
        let central = request.central
        // Without a subscription, the reply would be lost.
        guard let subscriber = notifiers.find(central) else { throw .improperlyConfigured }
        // The subscription's handler may not have begun it yet.
        begin(subscriber)
        guard subscriber.notifier.central == nil else {
            guard sessions[central]?.take(frame, request) == true else { throw .insufficientResources }
            return
        }
        guard case .admitted(let ended) = await admit(frame, central, subscriber.number) else {
            throw .insufficientResources
        }
        let replaced = ended.flatMap { sessions.removeValue(forKey: $0) }
        replaced?.end()
        if sessions[central]?.subscription != subscriber.number {
            beginSession(central, subscriber.number, isShared: true)
        }
        let isTaken = sessions[central]?.take(frame, request) == true
        if !isTaken, let now = elapsed(central) { claims.finish(central, at: now) }
        if replaced != nil { await onStep(.ended(ended)) }
        guard isTaken else { throw .insufficientResources }
    }

    /// Admits a request over the shared subscription. If there are too many guests, a central that resumes a known
    /// pairing replaces another guest.
    private func admit(_ frame: [UInt8], _ central: DeviceID, _ subscription: Int) async -> SessionClaims.Admission {
        guard let now = subscriptions[.none]?.elapsed() else { return .refused }
        let admission = claims.admit(central, at: now)
        guard admission == .refused, await resumesKnownPairing(frame), !Task.isCancelled,
            let current = subscriptions[.none], current.number == subscription
        else { return admission }
        return claims.admit(central, at: current.elapsed(), isKnown: true)
    }

    private func resumesKnownPairing(_ frame: [UInt8]) async -> Bool {
        guard let encryption, encryption.mode == .bound, let message = try? Message(decoding: frame),
            message.type == .request, message.command == encryption.command,
            let request = try? KeyExchangeRequest(decoding: message.payload), request.identifier != nil,
            let known = try? await pairings.keys()
        else { return false }
        return request.pairingKey(among: known) != nil
    }

    /// The time since the subscription of a session began.
    func elapsed(_ key: DeviceID?) -> Duration? {
        subscriptions[sessions[key]?.isShared == true ? nil : key]?.elapsed()
    }

    /// Ends the handling of a request.
    func finish(_ request: PeripheralSession.Request, _ key: DeviceID?, _ number: Int) {
        guard isCurrent(number, key) else { return }
        sessions[key]?.endHandling()
        if sessions[key]?.isShared == true, let now = subscriptions[.none]?.elapsed() {
            claims.finish(request.central, at: now)
        }
    }

    /// Gives the session to a central that has proved an exchange of keys. Returns false if the session belongs to
    /// another central.
    func claim(_ key: DeviceID?, at now: Duration) async -> Bool {
        guard let key, sessions[key]?.isShared == true else { return true }
        guard case .admitted(let former) = claims.prove(key, at: now) else { return false }
        if let former { await endSession(former) }
        return true
    }

    // MARK: Frames

    /// Sends a frame after the frames that wait.
    func deliver(_ frame: [UInt8], _ key: DeviceID?) {
        guard let session = sessions[key], let subscription = subscriptions[session.isShared ? nil : key] else {
            return
        }
        if session.hasRoom, subscription.send(Outgoing(frame: frame, key: key, number: session.number)) {
            sessions[key]?.frameCount += 1
            return
        }
        report(
            BLEError(
                .overflow, "a message was dropped: \(PeripheralSession.capacity) wait to be sent", isRetryable: true),
            key)
    }

    /// Sends a frame in parts.
    private func send(_ outgoing: Outgoing, _ notifier: Notifier) async {
        guard isCurrent(outgoing.number, outgoing.key), let session = sessions[outgoing.key] else { return }
        sessions[outgoing.key]?.frameCount -= 1
        let frame = outgoing.frame
        let length = partLength ?? max(20, session.attMTU - 3)
        for start in stride(from: 0, to: frame.count, by: length) {
            let part = Array(frame[start..<min(start + length, frame.count)])
            await onStep(start == 0 ? .sending(frame) : .sendingPart(part))
            // The remaining parts must not be sent after the session ends, because the next central would receive them.
            // Over a shared subscription, all centrals receive all parts, so the rest is sent nevertheless: without it,
            // they would append the next frame to an incomplete one.
            guard
                start > 0 && session.isShared
                    ? subscriptions[.none]?.number == session.subscription
                    : isCurrent(outgoing.number, outgoing.key)
            else { return }
            await notifier.notify(part)
        }
    }
}
