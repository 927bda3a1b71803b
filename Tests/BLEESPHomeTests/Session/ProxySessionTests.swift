import BLETesting
import Testing

@testable import BLEESPHome

@Suite struct ProxySessionTests {
    private func alarm(_ session: borrowing ProxySession) -> Duration { session.nextAlarm }

    /// Both sides of a session that is ready.
    private struct Pair: ~Copyable {
        var session: ProxySession
        var server: MessageChannel

        init(_ key: EncryptionKey? = nil, features: ProxyFeatures = [.connections, .rawAdvertisements, .scannerState]) {
            session = ProxySession(key, client: "test", now: .zero)
            server = MessageChannel(server: key, name: "kitchen", mac: "aabbccddeeff")
            var info = ProxyInfo()
            (info.name, info.features) = ("kitchen", features)
            self.info = info
        }

        let info: ProxyInfo

        /// Answers the greeting.
        mutating func begin(now: Duration = .zero) throws {
            var events: [ProxySession.Event] = []
            for _ in 0..<4 {
                for message in try received() {
                    switch message {
                    case .hello: try server.send(.helloAnswer(version: .current, server: "test", name: "kitchen"))
                    case .deviceInfoRequest: try server.send(.deviceInfo(info))
                    default: break
                    }
                }
                events += try deliver(now: now)
            }
            #expect(events == [.ready(info)])
        }

        /// What the proxy receives.
        mutating func received() throws -> [ProxyMessage] {
            server.append(session.takeOutput())
            var messages: [ProxyMessage] = []
            while let event = try server.next() { if case .received(let message) = event { messages.append(message) } }
            return messages
        }

        mutating func send(_ message: ProxyMessage, now: Duration = .zero) throws -> [ProxySession.Event] {
            try server.send(message)
            return try deliver(now: now)
        }

        private mutating func deliver(now: Duration) throws -> [ProxySession.Event] {
            session.append(server.takeOutput(), now: now)
            var events: [ProxySession.Event] = []
            while let event = try session.next(now: now) { events.append(event) }
            return events
        }
    }

    @Test(arguments: [true, false]) func `a session is ready when the proxy has said what it is`(_ isEncrypted: Bool)
        throws
    {
        var pair = Pair(isEncrypted ? .random() : nil)
        try pair.begin()
        let (isReady, info) = (pair.session.isReady, pair.session.info)
        #expect(isReady)
        #expect(info == pair.info)
    }

    @Test func `slots are asked for where there are connections`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.received() == [])
        let slots = ProxyMessage.slots(ProxySlots(free: 3, limit: 3))
        #expect(try pair.send(slots) == [.received(slots)])
    }

    @Test func `another major version is refused`() throws {
        var pair = Pair()
        _ = try pair.received()
        #expect(throws: ProxySession.Failure.incompatible(APIVersion(2, 0))) {
            _ = try pair.send(.helloAnswer(version: APIVersion(2, 0), server: "", name: ""))
        }
    }

    @Test func `a device without a radio is refused`() throws {
        var pair = Pair(features: [])
        #expect(throws: ProxySession.Failure.notAProxy) { try pair.begin() }
        let isReady = pair.session.isReady
        #expect(!isReady)
    }

    @Test func `a silent proxy is pinged every 20 s, and given up at 90 s`() throws {
        var pair = Pair()
        try pair.begin(now: .seconds(1))
        for (index, time) in [21, 41, 61, 81].enumerated() {
            #expect(alarm(pair.session) == .seconds(time))
            _ = try pair.session.alarm(now: .seconds(time))
            #expect(try pair.received() == [.ping], "\(index)")
        }
        #expect(alarm(pair.session) == .seconds(91))
        _ = try pair.session.alarm(now: .seconds(90))
        #expect(throws: ProxySession.Failure.silent) { _ = try pair.session.alarm(now: .seconds(91)) }
    }

    @Test func `anything that arrives postpones the ping`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.send(.pingAnswer, now: .seconds(15)) == [])
        _ = try pair.session.alarm(now: .seconds(20))
        #expect(try pair.received() == [])
        #expect(alarm(pair.session) == .seconds(35))
        #expect(try pair.send(.ping, now: .seconds(30)) == [])
        #expect(try pair.received() == [.pingAnswer])
    }

    @Test func `a greeting has 60 s`() throws {
        var session = ProxySession(.random(), client: "test", now: .seconds(5))
        #expect(alarm(session) == .seconds(65))
        _ = try session.alarm(now: .seconds(64))
        // A byte now and then is not enough.
        session.append([1], now: .seconds(64))
        #expect(alarm(session) == .seconds(65))
        #expect(throws: ProxySession.Failure.late) { _ = try session.alarm(now: .seconds(65)) }
    }

    @Test func `the proxy may end the session`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(throws: ProxySession.Failure.closed) { _ = try pair.send(.disconnect(reason: 0)) }
        #expect(try pair.received() == [.disconnectAnswer])
    }

    @Test func `a wrong key ends the session`() throws {
        var session = ProxySession(.random(), client: "test", now: .zero)
        var server = MessageChannel(server: .random(), name: "kitchen", mac: "")
        server.append(session.takeOutput())
        #expect(throws: WireError.wrongKey) { while try server.next() != nil {} }
        session.append(server.takeOutput(), now: .zero)
        #expect(throws: ProxySession.Failure.wire(.wrongKey)) { _ = try session.next(now: .zero) }
    }

    @Test func `an unconfirmed subscription is repeated after 10, 30 and 60 s`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .seconds(1)) == nil)
        #expect(try pair.received() == [.subscribeAdvertisements(flags: 1)])
        var now = Duration.seconds(1)
        for pause in [10, 30, 60, 60] {
            now += .seconds(pause)
            _ = try pair.send(.pingAnswer, now: now - .seconds(1))
            #expect(alarm(pair.session) == now)
            #expect(try pair.session.alarm(now: now) == .subscriptionUnanswered)
            #expect(try pair.received() == [.subscribeAdvertisements(flags: 1)])
        }
        let state = ProxyMessage.scannerState(.running, mode: .active, configured: .active)
        // A scanner that comes and goes proves nothing.
        #expect(try pair.send(state, now: now) == [.received(state)])
        #expect(alarm(pair.session) == now + .seconds(1))
        #expect(try pair.session.subscribe(now: now) == nil)
        now += .seconds(1)
        #expect(try pair.session.alarm(now: now) == .subscribed)
        #expect(try pair.send(state, now: now) == [.received(state)])
        // A second subscription of the same client would be refused.
        #expect(try pair.session.subscribe(now: now) == .subscribed)
        #expect(try pair.received() == [])
        try pair.session.unsubscribe()
        try pair.session.unsubscribe()
        #expect(try pair.received() == [.unsubscribeAdvertisements])
        #expect(try pair.session.subscribe(now: now) == nil)
        #expect(try pair.received() == [.subscribeAdvertisements(flags: 1)])
    }

    private func state(_ state: ScannerState) -> ProxyMessage {
        .scannerState(state, mode: .active, configured: .active)
    }

    @Test func `a subscription is confirmed by a scanner that runs, not by one that starts`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        #expect(try pair.send(state(.starting)) == [.received(state(.starting))])
        #expect(alarm(pair.session) == .seconds(10))
        #expect(try pair.send(state(.running), now: .seconds(2)) == [.subscribed])
    }

    @Test func `a scanner that has not started within 10 s is told, and subscribed to anew`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        _ = try pair.received()
        #expect(try pair.send(state(.starting)) == [.received(state(.starting))])
        #expect(try pair.session.alarm(now: .seconds(10)) == .scannerFailed(isTriedAgain: true))
        #expect(try pair.received() == [.unsubscribeAdvertisements, .subscribeAdvertisements(flags: 1)])
        // Another client was faster.
        _ = try pair.send(.pingAnswer, now: .seconds(39))
        #expect(try pair.session.alarm(now: .seconds(40)) == .subscriptionUnanswered)
    }

    @Test func `a scanner that fails is told, and started again with growing pauses until it has run for 60 s`() throws
    {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        #expect(try pair.send(state(.running)) == [.subscribed])
        _ = try pair.received()
        var now = Duration.zero
        for pause in [30, 60, 60] {
            #expect(try pair.send(state(.failed), now: now) == [.scannerFailed(isTriedAgain: false)])
            for _ in 0..<(pause / 10 - 1) {
                now += .seconds(10)
                _ = try pair.send(.pingAnswer, now: now)
                #expect(try pair.session.alarm(now: now) == nil)
            }
            now += .seconds(10)
            #expect(try pair.received() == [])
            #expect(try pair.session.alarm(now: now) == .scannerFailed(isTriedAgain: true))
            #expect(try pair.received() == [.unsubscribeAdvertisements, .subscribeAdvertisements(flags: 1)])
            #expect(try pair.send(state(.running), now: now) == [.received(state(.running))])
        }
        #expect(try pair.session.alarm(now: now + .seconds(1)) == .subscribed)
        now += .seconds(60)
        #expect(try pair.send(state(.failed), now: now) == [.scannerFailed(isTriedAgain: false)])
        #expect(try pair.session.alarm(now: now + .seconds(9)) == nil)
        #expect(try pair.session.alarm(now: now + .seconds(10)) == .scannerFailed(isTriedAgain: true))
    }

    @Test func `a scanner that comes and goes is told once, and runs again when it has for 1 s`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        #expect(try pair.send(state(.running)) == [.subscribed])
        for millisecond in 1...500 {
            let now = Duration.milliseconds(millisecond)
            #expect(try pair.send(state(.failed), now: now) == [.scannerFailed(isTriedAgain: false)])
            #expect(try pair.send(state(.running), now: now) == [.received(state(.running))])
        }
        #expect(alarm(pair.session) == .milliseconds(1500))
        #expect(try pair.session.alarm(now: .milliseconds(1499)) == nil)
        #expect(try pair.session.alarm(now: .milliseconds(1500)) == .subscribed)
    }

    @Test func `the subscription of links is not renewed: a proxy would end them`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        #expect(try pair.send(state(.failed)) == [.scannerFailed(isTriedAgain: false)])
        _ = try pair.received()
        #expect(try pair.session.alarm(now: .seconds(10), hasLinks: true) == .scannerFailed(isTriedAgain: true))
        #expect(try pair.received() == [])
        // It is known already why there are no advertisements.
        #expect(try pair.session.subscribe(now: .seconds(11)) == .scannerFailed(isTriedAgain: false))
        _ = try pair.send(.pingAnswer, now: .seconds(39))
        #expect(try pair.session.alarm(now: .seconds(40)) == .scannerFailed(isTriedAgain: true))
        #expect(try pair.received() == [.unsubscribeAdvertisements, .subscribeAdvertisements(flags: 1)])
    }

    @Test func `the mode of the scanner is the one that was asked for or reported last`() throws {
        var pair = Pair()
        try pair.begin()
        func mode(_ session: borrowing ProxySession) -> ScannerMode? { session.scannerMode }
        #expect(mode(pair.session) == nil)
        try pair.session.send(.setScannerMode(.passive))
        #expect(mode(pair.session) == .passive)
        #expect(try pair.session.subscribe(now: .zero) == nil)
        // Also in the message that confirms the subscription.
        #expect(try pair.send(state(.running)) == [.subscribed])
        #expect(mode(pair.session) == .active)
    }

    @Test func `a scanner that pauses between two windows has not failed`() throws {
        var pair = Pair()
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == nil)
        #expect(try pair.send(state(.running)) == [.subscribed])
        for stop in [ScannerState.stopping, .stopped, .idle, .starting] {
            #expect(try pair.send(state(stop), now: .seconds(70)) == [.received(state(stop))])
        }
        #expect(try pair.send(state(.running), now: .seconds(71)) == [.subscribed])
        #expect(alarm(pair.session) == .seconds(91))
    }

    @Test func `a proxy that does not report its scanner does not confirm`() throws {
        var pair = Pair(features: [.rawAdvertisements])
        try pair.begin()
        #expect(try pair.session.subscribe(now: .zero) == .subscribed)
    }
}
