import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import Logging
import Loop
import Testing

@testable import DBus

@Suite struct ReadingPaceTests {
    private let start = ContinuousClock.now

    private func pace(_ tolerance: Duration) -> ReadingPace {
        var pace = ReadingPace()
        pace.tolerance = tolerance
        return pace
    }

    @Test func `without tolerance nothing waits`() {
        var pace = pace(.zero)
        #expect(pace.pause(at: start) == nil)
        let wait = pace.hasRead(5, isBehind: false, at: start)
        #expect(wait == nil)
        #expect(pace.pause(at: start) == nil)
    }

    @Test func `the first message is read at once, and the next in the time that is tolerated`() {
        var pace = pace(.milliseconds(5))
        #expect(pace.pause(at: start) == nil)
        let wait = pace.hasRead(1, isBehind: false, at: start)
        #expect(wait == nil)
        #expect(pace.pause(at: start + .milliseconds(2)) == .milliseconds(3))
        #expect(pace.pause(at: start + .milliseconds(5)) == nil)
    }

    @Test func `while messages are frequent, the socket is not polled`() {
        var pace = pace(.milliseconds(5))
        let wait = pace.hasRead(2, isBehind: false, at: start)
        #expect(wait == .milliseconds(5))
    }

    @Test func `a look that finds nothing does not count`() {
        var pace = pace(.milliseconds(5))
        _ = pace.hasRead(2, isBehind: false, at: start)
        let wait = pace.hasRead(0, isBehind: false, at: start + .milliseconds(5))
        #expect(wait == nil)
        #expect(pace.pause(at: start + .milliseconds(6)) == nil)
    }

    @Test func `a socket that has more than was read is not waited for`() {
        var pace = pace(.milliseconds(5))
        let wait = pace.hasRead(200, isBehind: true, at: start)
        #expect(wait == nil)
        #expect(pace.pause(at: start + .milliseconds(1)) == nil)
    }
}

/// Sessions whose signals may wait for an hour, so that whatever is read was not waited for.
@Suite(.startsProcesses, .hangLimit) struct ReadingPauseTests {
    private let signals: SharedValue<[String]>
    private let losses: SharedValue<Int>
    private let bus: PrivateBus
    private let receiver: BusSession
    private let sender: BusSession

    init() async throws {
        let (signals, losses) = (SharedValue<[String]>([]), SharedValue(0))
        bus = try await PrivateBus()
        receiver = BusSession(
            loop: EventLoop(name: "receiver"), logger: Logger(label: "test"),
            onSignal: { message in
                var body = message.body
                if message.interface == "org.example.News", let text = try? body.string() {
                    signals.change { $0.append(text) }
                }
            },
            onLoss: { losses.change { $0 += 1 } })
        sender = BusSession(
            loop: EventLoop(name: "sender"), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})
        (self.signals, self.losses) = (signals, losses)
        for session in [receiver, sender] { try await session.open(.address(bus.address), timeout: HangLimit.step) }
        try await receiver.listen("type='signal',interface='org.example.News'", timeout: HangLimit.step)
        await receiver.setTolerance(.seconds(3600))
        // Nothing came before it.
        try await send("first")
        await until { signals.value == ["first"] }
    }

    /// Sends a signal. Returns when the bus has passed it on.
    private func send(_ text: String) async throws {
        try await sender.emit(path: "/", interface: "org.example.News", signal: "Happened", [.string(text)])
        try await askBus(sender)
    }

    private func askBus(_ session: BusSession) async throws {
        _ = try await session.call(.bus("GetId"), timeout: HangLimit.step)
    }

    private func end() async {
        await receiver.close()
        await sender.close()
    }

    @Test func `a call ends the pause, and its answer comes after the signals`() async throws {
        try await send("second")
        #expect(signals.value == ["first"])
        try await askBus(receiver)
        #expect(signals.value == ["first", "second"])
        await end()
    }

    @Test func `without tolerance, what has waited is read`() async throws {
        try await send("second")
        await receiver.setTolerance(.zero)
        await until { signals.value == ["first", "second"] }
        try await send("third")
        await until { signals.value == ["first", "second", "third"] }
        await end()
    }

    @Test func `with less tolerance, what has waited is read`() async throws {
        try await send("second")
        await receiver.setTolerance(.milliseconds(1))
        await until { signals.value == ["first", "second"] }
        await end()
    }

    @Test func `the end of the bus is noticed during a pause, after what came before it`() async throws {
        try await send("second")
        bus.stop()
        await until { losses.value == 1 }
        #expect(signals.value == ["first", "second"])
        await sender.close()
    }
}
