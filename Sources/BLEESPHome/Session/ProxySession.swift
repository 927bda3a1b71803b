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
        /// - Parameter isTriedAgain: whether the subscription is made again now. The mode of the scanner is to be set
        ///   again as well, which restarts it.
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

    /// How long a scanner has run whose failures before do not count any longer.
    private static let stability = Duration.seconds(60)

    private var channel: MessageChannel
    private var greeting = Greeting.handshake
    private var subscription = Subscription.none
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
            greeting = .complete
            if info.features.contains(.connections) { try send(.subscribeSlots) }
            return .ready(info)
        case (.scannerState(let state, _, _), .complete): return scannerChanged(to: state, now) ?? .received(message)
        case (_, .complete): return .received(message)
        default: break
        }
        return nil
    }

    // MARK: Advertisements

    /// Asks for advertisements, as received. Does nothing if it was asked for.
    ///
    /// Returns `subscribed` if the proxy does not confirm subscriptions.
    package mutating func subscribe(now: Duration) throws(Failure) -> Event? {
        guard case .none = subscription else { return nil }
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
            return .subscribed
        case (.waiting(let former, let count, _), _): (until, attempts) = (former, count)
        case (.running(let since, let count), _):
            let failures = now - since >= Self.stability ? 0 : count
            (until, attempts) = (now + Self.pause(after: failures), failures + 1)
        }
        subscription = .waiting(until: until, attempts: attempts, isAnswered: true)
        return state == .failed ? .scannerFailed(isTriedAgain: false) : nil
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
        if case .waiting(let until, _, _) = subscription { alarm = min(alarm, until) }
        return alarm
    }

    /// Does what is due. Throws `late` or `silent`.
    package mutating func alarm(now: Duration) throws(Failure) -> Event? {
        guard now < lastReceived + Self.silenceLimit else { throw .silent }
        guard greeting == .complete else {
            guard now < start + Self.greetingLimit else { throw .late }
            return nil
        }
        if now >= max(lastReceived, lastPing) + Self.pingInterval {
            lastPing = now
            try send(.ping)
        }
        guard case .waiting(let until, let attempts, let isAnswered) = subscription, now >= until else { return nil }
        subscription = .waiting(until: now + Self.pause(after: attempts), attempts: attempts + 1, isAnswered: false)
        // A proxy refuses a second subscription of the same client.
        if isAnswered { try send(.unsubscribeAdvertisements) }
        try send(.subscribeAdvertisements(flags: 1))
        return isAnswered ? .scannerFailed(isTriedAgain: true) : .subscriptionUnanswered
    }
}
