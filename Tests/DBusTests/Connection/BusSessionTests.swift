import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
@testable import DBus
import Foundation
import Logging
import Loop
import Testing

/// What a session received, for a test to wait for.
private struct Recorder {
    let signals: AsyncStream<String>
    let losses: AsyncStream<Void>
    let session: BusSession

    /// A session on `bus` whose signals are recorded as `member(text)`.
    init(_ bus: PrivateBus, over carrier: TestCarrier) async throws {
        let (signals, signal) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingNewest(10_000))
        let (losses, loss) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(10))
        session = BusSession(
            loop: EventLoop(name: "test"), logger: Logger(label: "test"),
            onSignal: { message in
                var body = message.body
                let text = (try? body.string()) ?? ""
                if message.member == "Happened", !body.isAtEnd {
                    let values = try? body.value()
                    signal.yield("Happened(\(text) \(values?[key: "level"]?.integer ?? -1))")
                } else if !message.path.hasPrefix("/org/freedesktop/DBus") {
                    signal.yield("\(message.member.string)(\(text))")
                } else if message.member == "NameOwnerChanged", text.hasPrefix("org.") {
                    body.skip()
                    let isGone = (try? body.string())?.isEmpty ?? true
                    signal.yield("\(isGone ? "gone" : "there") \(text)")
                }
            },
            onLoss: { loss.yield() })
        self.signals = signals
        self.losses = losses
        try await session.open(bus.address(over: carrier), timeout: HangLimit.step)
    }
}

@Suite(.startsProcesses, .hangLimit)
struct BusSessionTests {
    private func call(_ method: String, _ arguments: DBusValue..., descriptors: [FileDescriptor] = []) -> MethodCall {
        MethodCall(LibdbusService.name, "/", "org.example.Service", method, arguments, descriptors: descriptors)
    }

    /// Runs a test with a bus, a libdbus service on it, and a session.
    private func withService(
        over carrier: TestCarrier, _ test: (PrivateBus, Recorder) async throws -> Void
    ) async throws {
        let bus = try await PrivateBus()
        let service = try LibdbusService(address: bus.address)
        let recorder: Recorder
        do {
            recorder = try await Recorder(bus, over: carrier)
            try await test(bus, recorder)
        } catch {
            service.stop()
            throw error
        }
        await recorder.session.close()
        service.stop()
    }

    // MARK: Calls

    @Test(arguments: TestCarrier.allCases, [0, 1, 512, 100_000, 4_000_000])
    func `bytes come back as they were sent`(_ carrier: TestCarrier, _ count: Int) async throws {
        try await withService(over: carrier) { _, recorder in
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0) }
            let reply = try await recorder.session.call(call("Echo", .bytes(bytes)), timeout: HangLimit.step)
            #expect(try reply.value().bytes == bytes)
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a remote error keeps its name and text`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            await #expect(throws: DBusError.remote("org.example.Error.Broken", "it broke")) {
                try await recorder.session.call(call("Fail"), timeout: HangLimit.step)
            }
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a call ends at its deadline`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            let error = await #expect(throws: DBusError.self) {
                try await recorder.session.call(call("Hang"), timeout: .milliseconds(50))
            }
            #expect(error?.kind == .timedOut)
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a cancelled call ends at once`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            let task = Task { try await recorder.session.call(call("Hang"), timeout: .seconds(3600)) }
            task.cancel()
            let error = await #expect(throws: DBusError.self) { try await task.value }
            #expect(error?.kind == .cancelled)
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a call can be withdrawn until it is sent`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            var slow = call("Hang")
            slow.pace = .slow
            let ends = SharedValue<[String]>([])
            let withdrawn = try await recorder.session.starting(slow, count: CallGate.objectCapacity + 2) {
                number, end in
                ends.change { $0.append("\(number): \(end)") }
            }
            // One that was sent, and the last, which waits for its turn.
            #expect(withdrawn == [false, true])
            await recorder.session.close()
            #expect(ends.value.count == CallGate.objectCapacity + 1)
            #expect(Set(ends.value).count == ends.value.count)
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a missing service, and one that leaves, are distinguished from other errors`(
        _ carrier: TestCarrier
    ) async throws {
        try await withService(over: carrier) { _, recorder in
            let missing = MethodCall("org.example.Nobody", "/", "org.example.Service", "Echo")
            let error = await #expect(throws: DBusError.self) {
                try await recorder.session.call(missing, timeout: HangLimit.step)
            }
            #expect(error?.isServiceGone == true)
            let leaving = await #expect(throws: DBusError.self) {
                try await recorder.session.call(call("Leave"), timeout: HangLimit.step)
            }
            #expect(leaving?.isServiceGone == true)
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `descriptors pass both ways`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            let reply = try await recorder.session.call(call("Pipe"), timeout: HangLimit.step)
            let received = try #require(reply.descriptors.first)
            #expect(try reply.value().integer == 0)
            let file = FileHandle(fileDescriptor: received.rawValue, closeOnDealloc: false)
            #expect(try file.readToEnd() == Data("through".utf8))

            let pipe = Pipe()
            try pipe.fileHandleForWriting.write(contentsOf: Data("12345".utf8))
            let sent = FileDescriptor(owning: dup(pipe.fileHandleForReading.fileDescriptor))
            let count = try await recorder.session.call(
                call("Count", .unixFD(0), descriptors: [sent]), timeout: HangLimit.step)
            #expect(try count.value().integer == 5)
        }
    }

    // MARK: Signals

    @Test(arguments: TestCarrier.allCases)
    func `signals arrive typed and before the answer that was asked for after them`(
        _ carrier: TestCarrier
    ) async throws {
        try await withService(over: carrier) { _, recorder in
            try await recorder.session.listen("type='signal',interface='org.example.Events'", timeout: HangLimit.step)
            for _ in 0..<3 { _ = try await recorder.session.call(call("Emit"), timeout: HangLimit.step) }
            try await recorder.session.ask(call("Emit"), timeout: HangLimit.step) { _ in }
            var signals = recorder.signals.makeAsyncIterator()
            for _ in 0..<4 { #expect(await signals.next() == "Happened(now 7)") }
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `names that come and go are reported`(_ carrier: TestCarrier) async throws {
        let bus = try await PrivateBus()
        let recorder = try await Recorder(bus, over: carrier)
        try await recorder.session.listen(
            "type='signal',member='NameOwnerChanged',arg0='\(LibdbusService.name)'", timeout: HangLimit.step)
        let service = try LibdbusService(address: bus.address)
        var signals = recorder.signals.makeAsyncIterator()
        #expect(await signals.next() == "there \(LibdbusService.name)")
        service.stop()
        // Previous owner, no new one.
        #expect(await signals.next()?.hasSuffix(LibdbusService.name) == true)
        await recorder.session.close()
    }

    @Test(arguments: TestCarrier.allCases)
    func `a question ends at its deadline and when it is cancelled`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            let late = await #expect(throws: DBusError.self) {
                try await recorder.session.ask(call("Hang"), timeout: .milliseconds(50)) { _ in }
            }
            #expect(late?.kind == .timedOut)
            let task = Task { try await recorder.session.ask(call("Hang"), timeout: .seconds(3600)) { _ in } }
            task.cancel()
            let cancelled = await #expect(throws: DBusError.self) { try await task.value }
            #expect(cancelled?.kind == .cancelled)
            // The session is as good as before.
            try await recorder.session.ask(call("Emit"), timeout: HangLimit.step) { _ in }
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `an answer of another type is an error, not a crash`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { _, recorder in
            let error = await #expect(throws: DBusError.self) {
                try await recorder.session.ask(.bus("GetId"), timeout: HangLimit.step) { (reader) throws(DBusError) in
                    try reader.uint32()
                }
            }
            #expect(error?.kind == .malformed)
        }
    }

    // MARK: Loss

    @Test(arguments: [TestCarrier.socket, .gdbus])
    func `a missing bus is unreachable`(_ carrier: TestCarrier) async throws {
        let address = "unix:path=/nonexistent/socket"
        let session = BusSession(
            loop: EventLoop(), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: { Issue.record("lost") })
        let error = await #expect(throws: DBusError.self) {
            try await session.open(carrier == .gdbus ? .gdbus(address) : .address(address), timeout: HangLimit.step)
        }
        #expect(error?.kind == .unreachable)
        #expect(await session.isOpen == false)
    }

    @Test(arguments: TestCarrier.allCases)
    func `a question that finds the bus gone does not wait for its answer`(_ carrier: TestCarrier) async throws {
        let bus = try await PrivateBus()
        let session = try await Recorder(bus, over: carrier).session
        let error = await #expect(throws: DBusError.self) { try await session.askAfter { bus.stopAndWait() } }
        #expect(error?.kind == .disconnected)
    }

    @Test(arguments: [TestCarrier.socket, .gdbus], 0..<9)
    func `a session that is cut while it opens, or later, is not open`(
        _ carrier: TestCarrier, _ count: Int
    ) async throws {
        let bus = try await PrivateBus()
        let relay = try BusRelay(to: bus, after: count)
        defer { relay.stop() }
        let session = BusSession(
            loop: EventLoop(name: "test"), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})
        do {
            let address = relay.address
            try await session.open(carrier == .gdbus ? .gdbus(address) : .address(address), timeout: HangLimit.step)
            while true { _ = try await session.call(.bus("GetId"), timeout: HangLimit.step) }
        } catch {
            #expect(error.kind == .disconnected || error.kind == .unreachable)
        }
        #expect(await session.isOpen == false)
    }

    @Test(arguments: [TestCarrier.socket, .gdbus])
    func `a session that gives up while it connects leaves no socket behind`(_ carrier: TestCarrier) async throws {
        let listener = try SilentListener()
        let address = carrier == .gdbus ? BusAddress.gdbus(listener.address) : .address(listener.address)
        for _ in 0..<20 {
            let session = BusSession(
                loop: EventLoop(name: "test"), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})
            let error = await #expect(throws: DBusError.self) {
                try await session.open(address, timeout: .microseconds(1))
            }
            #expect(error?.kind == .timedOut)
        }
        await listener.untilAllAreClosed()
    }

    @Test(arguments: TestCarrier.allCases)
    func `the loss of the bus fails what waits and is reported once`(_ carrier: TestCarrier) async throws {
        let bus = try await PrivateBus()
        let service = try LibdbusService(address: bus.address)
        let recorder = try await Recorder(bus, over: carrier)
        let session = recorder.session
        let calling = Task { try await session.call(call("Hang"), timeout: .seconds(3600)) }
        let asking = Task { try await session.ask(call("Hang"), timeout: .seconds(3600)) { _ in } }
        // Both are on their way when this call has come back.
        _ = try await session.call(call("Echo", .bytes([])), timeout: HangLimit.step)
        bus.stop()
        let called = await #expect(throws: DBusError.self) { try await calling.value }
        #expect(called?.isLoss == true)
        let asked = await #expect(throws: DBusError.self) { try await asking.value }
        #expect(asked?.isLoss == true)
        var losses = recorder.losses.makeAsyncIterator()
        await losses.next()
        #expect(await session.isOpen == false)
        let after = await #expect(throws: DBusError.self) {
            try await session.call(call("Echo", .bytes([])), timeout: HangLimit.step)
        }
        #expect(after?.kind == .disconnected)
        service.stop()
    }

    @Test(arguments: TestCarrier.allCases)
    func `a closed session fails what waits and reports no loss`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { bus, _ in
            let session = BusSession(
                loop: EventLoop(), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: { Issue.record("lost") })
            try await session.open(bus.address(over: carrier), timeout: HangLimit.step)
            let calling = Task { try await session.call(call("Hang"), timeout: .seconds(3600)) }
            _ = try await session.call(call("Echo", .bytes([])), timeout: HangLimit.step)
            await session.close()
            let called = await #expect(throws: DBusError.self) { try await calling.value }
            #expect(called?.isLoss == true)
            await session.close()
        }
    }

    @Test(arguments: TestCarrier.allCases)
    func `a dropped session leaves no connection behind`(_ carrier: TestCarrier) async throws {
        try await withService(over: carrier) { bus, recorder in
            let names = MethodCall.bus("ListNames")
            func count() async throws -> Int {
                try await recorder.session.call(names, timeout: HangLimit.step).value().elements?.count ?? 0
            }
            let before = try await count()
            for _ in 0..<10 {
                let session = BusSession(
                    loop: EventLoop(), logger: Logger(label: "test"), onSignal: { _ in }, onLoss: {})
                try await session.open(bus.address(over: carrier), timeout: HangLimit.step)
            }
            while try await count() > before { await Task.yield() }
        }
    }
}

extension DBusError {
    /// The connection, or the service, is gone.
    fileprivate var isLoss: Bool { kind == .disconnected || kind == .cancelled || isServiceGone }
}

extension BusSession {
    /// Asks the bus something right after `work`, before the loop has seen what that did.
    fileprivate func askAfter(_ work: () -> Void) async throws(DBusError) {
        work()
        try await ask(.bus("GetId"), timeout: .seconds(3600)) { _ in }
    }
}

extension BusSession {
    /// Starts calls, and withdraws the first and the last. Returns whether they were not sent yet.
    fileprivate func starting(
        _ call: MethodCall, count: Int, _ ended: @escaping @Sendable (Int, DBusError.Kind) -> Void
    ) throws(DBusError) -> [Bool] {
        var calls: [PendingCall] = []
        for number in 0..<count {
            calls.append(
                try start(call, timeout: .seconds(3600)) { _ in
                } completion: { result in
                    if case .failure(let error) = result { ended(number, error.kind) }
                })
        }
        return [withdraw(calls[0]), withdraw(calls[count - 1])]
    }
}
