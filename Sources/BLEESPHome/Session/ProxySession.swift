/// A client's side of a connection to a proxy: greeting, keepalive and the subscription to advertisements.
///
/// Times are durations since the beginning of the connection.
package struct ProxySession: ~Copyable {
    package enum Event: Hashable, Sendable {
        /// The proxy has said what it is. Messages can be sent.
        case ready(ProxyInfo)
        /// The advertisements arrive at this client: the proxy scans for it.
        case subscribed
        /// The proxy does not confirm the subscription, probably because it has another subscriber. It is repeated.
        case subscriptionUnanswered
        /// The proxy's scanner has failed, or does not start.
        ///
        /// - Parameter isTriedAgain: whether the scanner is started again now. Its mode is to be set again for that,
        ///   which restarts it.
        case scannerFailed(isTriedAgain: Bool)
        case received(ProxyMessage)
    }

    /// Why a session has ended.
    package enum Failure: Error, Hashable, Sendable {
        case wire(WireError)
        /// The proxy has ended the session.
        case closed
        /// The proxy has another major version.
        case incompatible(APIVersion)
        /// The other side speaks ESPHome's native API, but offers no radio.
        case notAProxy
        /// The greeting took longer than 60 s.
        case late
        /// Nothing was received for 90 s.
        case silent
        /// This side has ended the session to begin another.
        case restarted
    }

    private static let greetingLimit = Duration.seconds(60)
    private static let pingInterval = Duration.seconds(20)
    private static let silenceLimit = Duration.seconds(90)
    /// The pauses before a subscription is repeated, or a scanner that does not run is started again. The last one is
    /// used again and again.
    private static let subscriptionPauses = [Duration.seconds(10), .seconds(30), .seconds(60)]

    private enum Greeting {
        case handshake
        case hello
        case deviceInfo
        case complete
    }

    private enum Subscription {
        case none
        /// The scanner does not run. Whether the proxy has answered, with another state.
        case waiting(until: Duration, attempts: Int, isAnswered: Bool)
        case running(since: Duration, attempts: Int)
    }

    /// How long a scanner has run that counts as running again after a failure: one that comes and goes says nothing.
    private static let proof = Duration.seconds(1)

    /// How long a scanner has run whose failures before do not count any longer.
    private static let stability = Duration.seconds(60)

    private var channel: MessageChannel
    private var greeting = Greeting.handshake
    private var subscription = Subscription.none
    /// Whether a failure was told, and no end of it.
    private var hasFault = false
    /// The mode in which the proxy scans, or was asked to. Nil if it has not said so.
    package private(set) var scannerMode: ScannerMode?
    private var lastReceived: Duration
    private var lastPing: Duration
    private let start: Duration
    private let client: String
    /// What the proxy has said of itself.
    package private(set) var info = ProxyInfo()

    /// Begins a session. The output is to be sent.
    ///
    /// - Parameter client: the name of this program, for the proxy's log.
    package init(_ key: EncryptionKey?, client: String, now: Duration) {
        channel = MessageChannel(client: key)
        self.client = client
        (start, lastReceived, lastPing) = (now, now, now)
        if channel.isOpen { greet() }
    }

    package var isReady: Bool { greeting == .complete }

    /// Returns what is to be sent since the last call.
    package mutating func takeOutput() -> [UInt8] { channel.takeOutput() }

    private mutating func greet() {
        greeting = .hello
        // A greeting is never too long.
        try? channel.send(.hello(client: client, version: .current))
    }

    /// Adds a message to the output.
    package mutating func send(_ message: ProxyMessage) throws(Failure) {
        if case .setScannerMode(let mode) = message { scannerMode = mode }
        do throws(WireError) { try channel.send(message) } catch { throw .wire(error) }
    }

    // MARK: What arrives

    /// Adds bytes that have arrived. Call ``next(now:)`` until it returns nil before the next ones.
    package mutating func append(_ bytes: some Collection<UInt8>, now: Duration) {
        lastReceived = now
        channel.append(bytes)
    }

    /// Returns the next event. Throws when the session has ended: the output is then sent, and the connection closed.
    package mutating func next(now: Duration) throws(Failure) -> Event? {
        while true {
            let next: MessageChannel.Event?
            do throws(WireError) { next = try channel.next() } catch { throw .wire(error) }
            switch next {
            case nil: return nil
            case .opened: greet()
            case .received(let message): if let event = try handle(message, now) { return event }
            }
        }
    }

    private mutating func handle(_ message: ProxyMessage, _ now: Duration) throws(Failure) -> Event? {
        switch (message, greeting) {
        case (.ping, _): try send(.pingAnswer)
        case (.pingAnswer, _): break
        case (.disconnect, _):
            try send(.disconnectAnswer)
            throw .closed
        case (.disconnectAnswer, _): throw .closed
        case (.helloAnswer(let version, _, let name), .hello):
            guard version.major == APIVersion.current.major else { throw .incompatible(version) }
            channel.version = version
            info.name = name
            greeting = .deviceInfo
            try send(.deviceInfoRequest)
        case (.deviceInfo(let info), .deviceInfo):
            self.info = info
            guard !info.features.isEmpty else { throw .notAProxy }
            greeting = .complete
            if info.features.contains(.connections) { try send(.subscribeSlots) }
            return .ready(info)
        case (.scannerState(let state, _, let configured), .complete):
            scannerMode = configured
            return scannerChanged(to: state, now) ?? .received(message)
        case (_, .complete): return .received(message)
        default: break
        }
        return nil
    }

    // MARK: Advertisements

    /// Asks for advertisements, as received. Does nothing if it was asked for.
    ///
    /// Returns what is known of the subscription already: `subscribed` also if the proxy does not confirm any.
    package mutating func subscribe(now: Duration) throws(Failure) -> Event? {
        switch subscription {
        case .none: break
        case .running: return hasFault ? nil : .subscribed
        case .waiting(_, let attempts, let isAnswered):
            // Nothing is known before the first alarm.
            guard attempts > 1 else { return nil }
            return isAnswered ? .scannerFailed(isTriedAgain: false) : .subscriptionUnanswered
        }
        hasFault = false
        try send(.subscribeAdvertisements(flags: 1))
        guard info.features.contains(.scannerState) else {
            subscription = .running(since: now, attempts: 1)
            return .subscribed
        }
        subscription = .waiting(until: now + Self.pause(after: 0), attempts: 1, isAnswered: false)
        return nil
    }

    private static func pause(after attempts: Int) -> Duration {
        subscriptionPauses[min(attempts, subscriptionPauses.count - 1)]
    }

    private mutating func scannerChanged(to state: ScannerState, _ now: Duration) -> Event? {
        let (until, attempts): (Duration, Int)
        switch (subscription, state) {
        case (.none, _), (.running, .running): return nil
        case (.waiting(_, let attempts, _), .running):
            subscription = .running(since: now, attempts: attempts)
            return hasFault ? nil : .subscribed
        case (.waiting(let former, let count, _), _): (until, attempts) = (former, count)
        case (.running(let since, let count), _):
            let failures = now - since >= Self.stability ? 0 : count
            (until, attempts) = (now + Self.pause(after: failures), failures + 1)
        }
        subscription = .waiting(until: until, attempts: attempts, isAnswered: true)
        guard state == .failed else { return nil }
        hasFault = true
        return .scannerFailed(isTriedAgain: false)
    }

    /// Ends the subscription. Does nothing if there is none.
    package mutating func unsubscribe() throws(Failure) {
        if case .none = subscription { return }
        subscription = .none
        try send(.unsubscribeAdvertisements)
    }

    // MARK: Time

    /// When ``alarm(now:)`` is due.
    package var nextAlarm: Duration {
        var alarm = lastReceived + Self.silenceLimit
        if greeting != .complete {
            alarm = min(alarm, start + Self.greetingLimit)
        } else {
            alarm = min(alarm, max(lastReceived, lastPing) + Self.pingInterval)
        }
        switch subscription {
        case .none: break
        case .waiting(let until, _, _): alarm = min(alarm, until)
        case .running(let since, _): if hasFault { alarm = min(alarm, since + Self.proof) }
        }
        return alarm
    }

    /// Does what is due. Throws `late` or `silent`.
    ///
    /// - Parameter hasLinks: whether the subscription must not end, because the links would end with it.
    package mutating func alarm(now: Duration, hasLinks: Bool = false) throws(Failure) -> Event? {
        guard now < lastReceived + Self.silenceLimit else { throw .silent }
        guard greeting == .complete else {
            guard now < start + Self.greetingLimit else { throw .late }
            return nil
        }
        if now >= max(lastReceived, lastPing) + Self.pingInterval {
            lastPing = now
            try send(.ping)
        }
        if case .running(let since, _) = subscription, hasFault, now >= since + Self.proof {
            hasFault = false
            return .subscribed
        }
        guard case .waiting(let until, let attempts, let isAnswered) = subscription, now >= until else { return nil }
        hasFault = true
        let isKept = isAnswered && hasLinks
        subscription = .waiting(
            until: now + Self.pause(after: attempts), attempts: attempts + 1, isAnswered: isKept)
        if !isKept {
            // A proxy refuses a second subscription of the same client.
            if isAnswered { try send(.unsubscribeAdvertisements) }
            try send(.subscribeAdvertisements(flags: 1))
        }
        return isAnswered ? .scannerFailed(isTriedAgain: true) : .subscriptionUnanswered
    }
}
