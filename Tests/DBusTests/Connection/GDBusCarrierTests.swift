import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import CGLib
import Dispatch
import Logging
import Loop
import Testing
import Waiting

@testable import DBus

/// What is particular about sessions over GDBus. What they have in common with those over a socket is in
/// `BusSessionTests` and `ExportedObjectTests`.
@Suite(.startsProcesses, .hangLimit)
struct GDBusCarrierTests {
    private static let interface = "org.example.Thing"
    private static let description = InterfaceDescription(
        interface, .method("Greet", takes: "s", returns: "s"), .method("Take", takes: "h"))

    private func session(
        _ address: BusAddress, service: String? = nil,
        onSignal: @escaping @Sendable (IncomingMessage) -> Void = { _ in },
        onLoss: @escaping @Sendable () -> Void = {}
    ) async throws -> BusSession {
        let session = BusSession(
            loop: EventLoop(name: "test"), logger: Logger(label: "test"), service: service, onSignal: onSignal,
            onLoss: onLoss)
        try await session.open(address, timeout: HangLimit.step)
        return session
    }

    private func serve(_ path: String, on session: BusSession, greeting: String = "hello") async throws {
        _ = try await session.export(
            ExportedObject(path: path, interface: Self.description) { call in
                .success(MethodReply([.string("\(greeting) \(call.arguments[0].string ?? "")")]))
            })
    }

    private func service(_ method: String) -> MethodCall {
        MethodCall(LibdbusService.name, "/", "org.example.Service", method)
    }

    // MARK: A connection that exists

    @Test func `two sessions and the program itself use one connection`() async throws {
        let bus = try await PrivateBus()
        let libdbus = try LibdbusService(address: bus.address)
        let program = await GDBusProgram(bus, subscribingTo: "org.example.Events")
        let logs = (SharedValue<[String]>([]), SharedValue<[String]>([]))
        var sessions: [BusSession] = []
        for log in [logs.0, logs.1] {
            sessions.append(
                try await session(.existing(program.connection)) { message in
                    let member = message.member.string
                    log.change { $0.append(member) }
                })
        }
        let name = try #require(await sessions[0].uniqueName)
        #expect(await sessions[1].uniqueName == name)
        func call(_ path: String, _ interface: String, _ method: String, _ arguments: String...) async -> String {
            await LibdbusClient.call(bus.address, name, path, interface, method, arguments)
        }
        for (number, session) in sessions.enumerated() {
            try await serve("/thing\(number)", on: session, greeting: "session \(number) greets")
            try await session.listen("type='signal',interface='org.example.Events'", timeout: HangLimit.step)
        }
        try await sessions[0].listen("type='signal',interface='org.example.Other'", timeout: HangLimit.step)

        // Calls of all three, and the signals that each causes.
        for session in sessions { _ = try await session.call(service("Emit"), timeout: HangLimit.step) }
        #expect(await program.call(LibdbusService.name, "/", "org.example.Service", "Emit"))
        for log in [logs.0, logs.1, program.signals] {
            await until { log.value.filter { $0 == "Happened" }.count == 3 }
        }
        // Each serves its own object, and GDBus the rest.
        #expect(await call("/thing0", Self.interface, "Greet", "you") == "session 0 greets you")
        #expect(await call("/thing1", Self.interface, "Greet", "you") == "session 1 greets you")
        #expect(await call("/program", GDBusProgram.interface, "Greet", "you") == "the program greets you")
        #expect(await call("/nobody", Self.interface, "Greet", "you") == "org.freedesktop.DBus.Error.UnknownMethod")
        #expect(await call("/thing0", "org.freedesktop.DBus.Peer", "Ping") == "")

        // One session ends, and the other goes on.
        let hanging = Task { [first = sessions[0]] in
            try await first.call(service("Hang"), timeout: .seconds(3600))
        }
        _ = try await sessions[0].call(service("Emit"), timeout: HangLimit.step)
        await sessions[0].close()
        let error = await #expect(throws: DBusError.self) { try await hanging.value }
        #expect(error?.kind == .disconnected)
        #expect(await call("/thing0", Self.interface, "Greet", "you") == "org.freedesktop.DBus.Error.UnknownMethod")
        _ = try await sessions[1].call(service("Emit"), timeout: HangLimit.step)
        #expect(await call("/thing1", Self.interface, "Greet", "you") == "session 1 greets you")
        await sessions[1].close()

        // The program's connection is as it was: open, with its own rules alone.
        #expect(!program.isClosed)
        #expect(await program.call(LibdbusService.name, "/", "org.example.Service", "Emit"))
        await until { program.signals.value.count == 6 }
        let other = try await session(.address(bus.address))
        try await other.emit(path: "/", interface: "org.example.Other", signal: "Elsewhere", [])
        _ = try await other.call(.bus("GetId"), timeout: HangLimit.step)
        #expect(await call("/program", GDBusProgram.interface, "Greet", "you") == "the program greets you")
        #expect(!program.received.value.contains("Elsewhere"))
        #expect(logs.1.value.filter { $0 == "Happened" }.count == 5)
        await other.close()
        await program.stop()
        libdbus.stop()
    }

    @Test func `a session is lost once when the program closes its connection, and can have no other on it`()
        async throws
    {
        let bus = try await PrivateBus()
        let libdbus = try LibdbusService(address: bus.address)
        let program = await GDBusProgram(bus, subscribingTo: "org.example.Events")
        let losses = SharedValue(0)
        let session = try await session(.existing(program.connection), onLoss: { losses.change { $0 += 1 } })
        let hanging = Task { try await session.call(service("Hang"), timeout: .seconds(3600)) }
        _ = try await session.call(service("Emit"), timeout: HangLimit.step)
        await program.stop()
        let error = await #expect(throws: DBusError.self) { try await hanging.value }
        #expect(error?.kind == .disconnected)
        await until { losses.value == 1 }
        #expect(await !session.isOpen)
        let again = await #expect(throws: DBusError.self) {
            try await self.session(.existing(program.connection))
        }
        #expect(again?.kind == .unreachable)
        #expect(losses.value == 1)
        libdbus.stop()
    }

    @Test func `a closed session leaves no reference to the connection behind`() async throws {
        let bus = try await PrivateBus()
        let reference = bus.makeGDBusConnection()
        let isGone = reference.watch()
        let session = try await session(.existing(consume reference))
        try await session.listen("type='signal',interface='org.example.Other'", timeout: HangLimit.step)
        await session.close()
        await until { isGone.value }
    }

    @Test func `a connection of the carrier's own is gone after its close, also if nobody keeps the loop`() async throws
    {
        /// Isolated to a loop that goes with it.
        actor Opener {
            let loop = EventLoop(name: "test")
            nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

            func openAndClose(_ address: String) async throws -> SharedValue<Bool> {
                let reference = try await GDBusReference.connect(address, until: BusOutcome())
                let isGone = reference.watch()
                let carrier = try GDBusCarrier(consume reference, isShared: false, loop: loop) { _ in false }
                await carrier.open()
                carrier.close()
                return isGone
            }
        }
        let bus = try await PrivateBus()
        for _ in 0..<10 {
            let isGone = try await Opener().openAndClose(bus.address)
            await until { isGone.value }
        }
    }

    // MARK: Strangers

    @Test(arguments: TestCarrier.allCases)
    func `a stranger's signals, calls and answers are not those of the service`(_ carrier: TestCarrier) async throws {
        // This bus passes on answers that nobody has asked for.
        let bus = try await PrivateBus(
            policy: """
                <policy context="default">
                  <allow user="*"/><allow own="*"/><allow send_destination="*"/><allow receive_sender="*"/>
                  <allow send_requested_reply="false" send_type="method_return"/>
                  <allow receive_requested_reply="false" receive_type="method_return"/>
                </policy>
                """)
        let name = "org.example.Served"
        let (called, answers) = (SharedValue(false), AsyncStream.makeStream(of: String.self))
        let server = try await session(.address(bus.address))
        _ = try await server.export(
            ExportedObject(path: "/thing", interface: Self.description) { _ in
                called.change { $0 = true }
                for await answer in answers.stream { return .success(MethodReply([.string(answer)])) }
                return .failure(.cancelled)
            })
        _ = try await server.call(.bus("RequestName", [.string(name), .uint32(0)]), timeout: HangLimit.step)
        let signals = SharedValue<[String]>([])
        let victim = try await session(bus.address(over: carrier), service: name) { message in
            let member = message.member.string
            signals.change { $0.append(member) }
        }
        try await serve("/mine", on: victim)
        let victimName = try #require(await victim.uniqueName)
        let calling = Task {
            try await victim.call(
                MethodCall(name, "/thing", Self.interface, "Greet", [.string("you")]), timeout: HangLimit.step)
        }
        await until { called.value }

        let stranger = try await session(.address(bus.address))
        for serial in UInt32(1)...200 { try await stranger.answer(serial, of: victimName, "forged") }
        try await stranger.emit(path: "/", interface: Self.interface, signal: "Forged", [], to: victimName)
        let refused = await LibdbusClient.call(bus.address, victimName, "/mine", Self.interface, "Greet", ["you"])
        #expect(refused == "org.freedesktop.DBus.Error.AccessDenied")
        try await server.emit(path: "/", interface: Self.interface, signal: "Genuine", [], to: victimName)
        answers.continuation.yield("genuine")
        #expect(try await calling.value.value().string == "genuine")
        #expect(signals.value == ["Genuine"])
        for session in [stranger, victim, server] { await session.close() }
    }

    @Test func `descriptors that the loop does not read end the session`() async throws {
        let bus = try await PrivateBus()
        let program = await GDBusProgram(bus, subscribingTo: "org.example.Events")
        let losses = SharedValue(0)
        let session = try await session(.existing(program.connection), onLoss: { losses.change { $0 += 1 } })
        try await serve("/thing", on: session)
        let name = try #require(await session.uniqueName)
        let stranger = try await self.session(.address(bus.address))
        let gate = DispatchSemaphore(value: 0)
        defer { gate.signal() }
        session.loop.perform { gate.wait() }
        let descriptor = try PacketSocket.pair().0
        for _ in 0..<300 {
            try await stranger.post(
                MethodCall(name, "/thing", Self.interface, "Take", [.unixFD(0)], descriptors: [descriptor]))
        }
        await until { program.received.value.filter { $0 == "Take" }.count == 300 }
        gate.signal()
        await until { losses.value == 1 }
        #expect(await !session.isOpen)
        // The connection is as good as before.
        try await self.session(.existing(program.connection)).close()
        await stranger.close()
        await program.stop()
    }

    // MARK: Room

    @Test func `a sender waits while GDBus cannot write`() async throws {
        let bus = try await PrivateBus()
        let relay = try BusRelay(to: bus)
        defer { relay.stop() }
        let sender = try await session(.gdbus(relay.address))
        let values = SharedValue<[UInt8]>([])
        let receiver = try await session(.address(bus.address)) { message in
            guard message.member == "PropertiesChanged" else { return }
            var body = message.body
            _ = try? body.text()
            try? body.forEachProperty { (_, value) throws(DBusError) in
                let bytes = try value.bytes()
                values.change { $0.append(bytes[0]) }
            }
        }
        try await receiver.listen("type='signal',member='PropertiesChanged'", timeout: HangLimit.step)

        relay.setHeld(true)
        let emitter = try await sender.makeEmitter(path: "/", interface: Self.interface, property: "Value")
        let isEnough = SharedValue(false)
        let sending = Task {
            var count = 0
            while !isEnough.value {
                try await emitter.send([UInt8(truncatingIfNeeded: count)] + Array(repeating: 0, count: 500))
                count += 1
            }
            return count
        }
        let output = try await sender.open().output
        await until { output.hasBacklog }
        isEnough.change { $0 = true }
        relay.setHeld(false)
        let count = try await sending.value
        await until { values.value.count == count }
        #expect(values.value == (0..<count).map { UInt8(truncatingIfNeeded: $0) })
        await sender.close()
        await receiver.close()
    }

    @Test func `room that GDBus has again while the loop handles messages is not missed`() async throws {
        let bus = try await PrivateBus()
        let relay = try BusRelay(to: bus)
        defer { relay.stop() }
        let connection = try GDBusReference.connected(to: relay.address)
        let (outputs, handledCount) = (SharedValue<MessageOutput?>(nil), SharedValue(0))
        let sender = try await session(.existing(connection)) { message in
            guard message.member == "Go", let output = outputs.value else { return }
            let number = handledCount.change { count in
                count += 1
                return count
            }
            switch number {
            case 64:
                // The last one of the loop's turn sends more than GDBus is given at once.
                for value in UInt8(0)..<16 {
                    let bytes = [UInt8](repeating: value, count: 64 << 10)
                    let signal = OutgoingSignal("/", Self.interface, "Value", [.bytes(bytes)])
                    if let message = try? OutgoingMessage.signal(signal, serial: output.nextSerial()) {
                        output.send(message)
                    }
                }
            case 65:
                // In the next turn, GDBus was given more, and writes all of that before the loop reads again.
                relay.setHeld(false)
                g_dbus_connection_flush_sync(connection.pointer, nil, nil)
            default: break
            }
        }
        let output = try await sender.open().output
        outputs.change { $0 = output }
        let values = SharedValue<[UInt8]>([])
        let receiver = try await session(.address(bus.address)) { message in
            guard message.member == "Value" else { return }
            var body = message.body
            guard let value = try? body.bytes().first else { return }
            values.change { $0.append(value) }
        }
        try await receiver.listen("type='signal',member='Value'", timeout: HangLimit.step)
        let name = try #require(await sender.uniqueName)

        // The loop reads all signals at once, and handles them in two turns.
        let (gate, isBlocked) = (DispatchSemaphore(value: 0), SharedValue(false))
        defer { gate.signal() }
        sender.loop.perform {
            isBlocked.change { $0 = true }
            gate.wait()
        }
        try await isBlocked.until { $0 }
        for _ in 1...65 { try await receiver.emit(path: "/", interface: Self.interface, signal: "Go", [], to: name) }
        // GDBus answers this itself, after it has received the signals.
        _ = try await receiver.call(
            MethodCall(name, "/", "org.freedesktop.DBus.Peer", "Ping"), timeout: HangLimit.step)
        relay.setHeld(true)
        gate.signal()
        await until { values.value.count == 16 }
        #expect(values.value == Array(UInt8(0)..<16))
        await sender.close()
        await receiver.close()
    }
}

extension GDBusReference {
    /// Connects to the bus at an address. Blocks the thread.
    fileprivate static func connected(to address: String) throws -> GDBusReference {
        let flags =
            G_DBUS_CONNECTION_FLAGS_AUTHENTICATION_CLIENT.rawValue
            | G_DBUS_CONNECTION_FLAGS_MESSAGE_BUS_CONNECTION.rawValue
        guard
            let connection = g_dbus_connection_new_for_address_sync(
                address, GDBusConnectionFlags(rawValue: flags), nil, nil, nil)
        else { throw DBusError(.unreachable, message: "no connection") }
        defer { g_object_unref(UnsafeMutableRawPointer(connection)) }
        return GDBusReference(retaining: connection)
    }

    /// Returns what becomes true when the connection is released.
    fileprivate func watch() -> SharedValue<Bool> {
        let isGone = SharedValue(false)
        g_object_weak_ref(
            UnsafeMutableRawPointer(pointer).assumingMemoryBound(to: GObject.self),
            { flag, _ in Unmanaged<SharedValue<Bool>>.fromOpaque(flag!).takeRetainedValue().change { $0 = true } },
            Unmanaged.passRetained(isGone).toOpaque())
        return isGone
    }
}

extension BusSession {
    /// Answers a call that was not made to this session.
    fileprivate func answer(_ serial: UInt32, of name: String, _ text: String) throws(DBusError) {
        let output = try open().output
        let header = MessageHeader(replySerial: serial, destination: name, signature: "s")
        var writer = MessageWriter()
        try writer.begin(.answer, flags: 1, serial: output.nextSerial(), header)
        let start = writer.bytes.count
        try writer.append(.string(text))
        output.send(try writer.finish(bodyAt: start))
    }

    /// Makes a call that is not to be answered.
    fileprivate func post(_ call: MethodCall) throws(DBusError) {
        let output = try open().output
        var bytes = try OutgoingMessage.call(call, serial: output.nextSerial())
        bytes[2] |= 1
        output.send(bytes, call.descriptors)
    }
}
