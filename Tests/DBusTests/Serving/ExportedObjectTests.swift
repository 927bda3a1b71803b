import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Dispatch
import Logging
import Loop
import Synchronization
import Testing

/// Objects that are served, called through libdbus and observed through another session.
@Suite(.startsProcesses, .hangLimit)
struct ExportedObjectTests {
    private static let name = "org.example.Served"
    private static let interface = "org.example.Thing"
    private static let description = InterfaceDescription(
        interface,
        .method("Greet", takes: "s", returns: "s"),
        .method("Refuse"),
        .method("Give", takes: "v", returns: "v"),
        .property("Label", type: "s"))

    private func session(
        _ bus: PrivateBus, over carrier: TestCarrier = .socket,
        onSignal: @escaping @Sendable (IncomingMessage) -> Void = { _ in }
    ) async throws -> BusSession {
        let session = BusSession(
            loop: EventLoop(name: "test"), logger: Logger(label: "test"), onSignal: onSignal, onLoss: {})
        try await session.open(bus.address(over: carrier), timeout: HangLimit.step)
        return session
    }

    /// A session that owns the name and serves an object at `/thing`; the number is the export's.
    private func serve(
        _ bus: PrivateBus, over carrier: TestCarrier = .socket
    ) async throws -> (session: BusSession, id: UInt32) {
        let session = try await session(bus, over: carrier)
        let object = ExportedObject(path: "/thing", interface: Self.description) { call in
            switch call.method {
            case "Greet": .success(MethodReply([.string("hello \(call.arguments[0].string ?? "")")]))
            case "Give": .success(MethodReply(call.arguments))
            default: .failure(.remote("org.example.Error.Refused", "no"))
            }
        } property: { name in
            name == "Label" ? .string("a thing") : nil
        }
        let id = try await session.export(object)
        _ = try await session.call(
            .bus("RequestName", [.string(Self.name), .uint32(0)]), timeout: HangLimit.step)
        return (session, id)
    }

    @Test func `the descriptors of a call are closed while it is carried out`() async throws {
        let bus = try await PrivateBus()
        let (session, client) = (try await session(bus), try await session(bus))
        let (hasBegun, isOver, hasEnded) = (SharedValue(false), SharedValue(false), SharedValue(false))
        let object = ExportedObject(path: "/thing", interface: Self.description) { _ in
            hasBegun.change { $0 = true }
            try? await isOver.until { $0 }
            return .success(MethodReply([.variant(.byte(1))]))
        }
        _ = try await session.export(object)
        _ = try await session.call(.bus("RequestName", [.string(Self.name), .uint32(0)]), timeout: HangLimit.step)
        /// Returns this program's end of the socket whose other end only the call has.
        func send() async throws -> PacketSocket {
            let (kept, given) = try PacketSocket.pair()
            try await client.send(
                MethodCall(
                    Self.name, "/thing", Self.interface, "Give", [.variant(.unixFD(0))], descriptors: [given]))
            return PacketSocket(kept, on: client.loop)
        }
        let socket = try await send()
        client.loop.perform { socket.open(onPacket: { _ in true }, onEnd: { hasEnded.change { $0 = true } }) }
        try await hasBegun.until { $0 }
        try await hasEnded.until { $0 }
        isOver.change { $0 = true }
        client.loop.perform { socket.close() }
        await client.close()
        await session.close()
    }

    @Test(arguments: TestCarrier.allCases) func `libdbus can call what is served`(_ carrier: TestCarrier) async throws {
        let bus = try await PrivateBus()
        let (session, id) = try await serve(bus, over: carrier)
        func call(_ interface: String, _ method: String, _ arguments: String...) async -> String {
            await LibdbusClient.call(bus.address, Self.name, "/thing", interface, method, arguments)
        }
        #expect(await call(Self.interface, "Greet", "you") == "hello you")
        #expect(await call(Self.interface, "Refuse") == "org.example.Error.Refused")
        #expect(await call(Self.interface, "Nothing") == "org.freedesktop.DBus.Error.UnknownMethod")
        #expect(await call("org.freedesktop.DBus.Properties", "Get", Self.interface, "Label") == "a thing")
        #expect(
            await call(Self.interface, "Greet", "too", "many") == "org.freedesktop.DBus.Error.InvalidArgs")
        await session.unexport(id)
        #expect(await call(Self.interface, "Greet", "you") == "org.freedesktop.DBus.Error.UnknownMethod")
        await session.close()
    }

    @Test(arguments: [
        DBusValue.byte(255), .boolean(true), .int16(-3), .uint16(65535), .int32(-70_000), .uint32(4_000_000_000),
        .int64(.min), .uint64(.max), .double(0.5), .string("späß"), .objectPath("/a/b"), .signature("a{sv}"),
        .bytes([]), .bytes([0, 1, 255]), .array(element: "s", []), .strings(["a", ""]),
        .array(element: "(ys)", [.structure([.byte(1), .string("x")])]), .options([:]),
        .options(["a": .bytes([1]), "b": .options(["c": .uint16(2)])]),
        .dictionary(key: "q", value: "v", [.uint16(0xFFFF): .variant(.bytes([1, 2]))]),
        .structure([.string("s"), .variant(.variant(.byte(1)))]),
    ])
    func `every type survives the way there and back`(_ value: DBusValue) async throws {
        let bus = try await PrivateBus()
        let (server, _) = try await serve(bus, over: .gdbus)
        for carrier in TestCarrier.allCases {
            let client = try await session(bus, over: carrier)
            let call = MethodCall(Self.name, "/thing", Self.interface, "Give", [.variant(value)])
            #expect(try await client.call(call, timeout: HangLimit.step).value() == .variant(value))
            await client.close()
        }
        await server.close()
    }

    @Test(arguments: TestCarrier.allCases)
    func `signals arrive whole and in order`(_ carrier: TestCarrier) async throws {
        let bus = try await PrivateBus()
        let (server, _) = try await serve(bus, over: carrier)
        let (values, sink) = AsyncStream.makeStream(of: DBusValue.self, bufferingPolicy: .bufferingOldest(2000))
        let client = try await session(bus, over: carrier) { message in
            guard message.member == "Tick" else { return }
            var body = message.body
            if let value = try? body.value() { sink.yield(value) }
        }
        try await client.listen("type='signal',interface='\(Self.interface)'", timeout: HangLimit.step)
        for number in 0..<1000 {
            try await server.emit(
                path: "/thing", interface: Self.interface, signal: "Tick",
                [.options(["number": .uint32(UInt32(number)), "empty": .array(element: "(yv)", [])])])
        }
        var numbers: [Int] = []
        for await value in values {
            numbers.append(value[key: "number"]?.integer ?? -1)
            #expect(value[key: "empty"] == .array(element: "(yv)", []))
            if numbers.count == 1000 { break }
        }
        #expect(numbers == Array(0..<1000))
        await client.close()
        await server.close()
    }

    // Only over a socket: nobody sees what GDBus has received.
    @Test func `handlers begin among the signals, and what they do on an actor follows those received together`()
        async throws
    {
        let bus = try await PrivateBus()
        let events = SharedValue<[String]>([])
        let loop = EventLoop(name: "server")
        let server = BusSession(
            loop: loop, logger: Logger(label: "test"),
            onSignal: { message in if message.member == "Tick" { events.change { $0.append("signal") } } }, onLoss: {})
        try await server.open(.address(bus.address), timeout: HangLimit.step)
        let object = ExportedObject(path: "/thing", interface: Self.description) { call in
            let name = call.arguments[0].string ?? ""
            events.change { $0.append("receive \(name)") }
            return {
                events.change { $0.append("begin \(name)") }
                await server.unexport(0)
                events.change { $0.append("go on \(name)") }
                return .success(MethodReply([.string(name)]))
            }
        }
        _ = try await server.export(object)
        _ = try await server.call(.bus("RequestName", [.string(Self.name), .uint32(0)]), timeout: HangLimit.step)
        try await server.listen("type='signal',interface='\(Self.interface)'", timeout: HangLimit.step)
        let client = try await session(bus)
        // Meanwhile, nothing is received.
        let gate = DispatchSemaphore(value: 0)
        loop.perform { gate.wait() }
        let calls = ["a", "b"].map { name in
            Task.immediate {
                try await client.call(
                    MethodCall(Self.name, "/thing", Self.interface, "Greet", [.string(name)]), timeout: HangLimit.step)
            }
        }
        for _ in 0..<2 { _ = try await client.call(.bus("GetId"), timeout: HangLimit.step) }
        try await client.emit(path: "/thing", interface: Self.interface, signal: "Tick", [])
        _ = try await client.call(.bus("GetId"), timeout: HangLimit.step)
        gate.signal()
        for call in calls { _ = try await call.value }
        // The tasks of the two calls may begin in either order.
        let names = events.value.filter { $0.hasPrefix("receive") }.map { String($0.dropFirst(8)) }
        #expect(names.sorted() == ["a", "b"])
        let begun = names.flatMap { ["receive \($0)", "begin \($0)"] }
        #expect(events.value == begun + ["signal"] + names.map { "go on \($0)" })
        await client.close()
        await server.close()
    }

    @Test func `malformed bodies throw where they are read`() async throws {
        let bus = try await PrivateBus()
        let (server, _) = try await serve(bus)
        let (results, sink) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(10))
        let client = try await session(bus) { message in
            guard message.member == "Odd" else { return }
            var properties = message.body
            var bytes = message.body
            var text = message.body
            let errors = [
                Result { () throws(DBusError) in try properties.forEachProperty { (_, _) throws(DBusError) in } }.kind,
                Result { () throws(DBusError) in _ = try bytes.bytes() }.kind,
                Result { () throws(DBusError) in _ = try text.string() }.kind,
            ]
            sink.yield(errors.map { $0.map { "\($0)" } ?? "none" }.joined(separator: " "))
        }
        try await client.listen("type='signal',interface='\(Self.interface)'", timeout: HangLimit.step)
        let bodies: [[DBusValue]] = [[], [.uint32(1)], [.strings(["a"])], [.bytes([1])]]
        for body in bodies {
            try await server.emit(path: "/thing", interface: Self.interface, signal: "Odd", body)
        }
        var iterator = results.makeAsyncIterator()
        #expect(await iterator.next() == "malformed malformed malformed")
        #expect(await iterator.next() == "malformed malformed malformed")
        #expect(await iterator.next() == "malformed malformed malformed")
        #expect(await iterator.next() == "malformed none malformed")
        await client.close()
        await server.close()
    }
}

extension Result where Failure == DBusError {
    fileprivate var kind: DBusError.Kind? {
        if case .failure(let error) = self { error.kind } else { nil }
    }
}
