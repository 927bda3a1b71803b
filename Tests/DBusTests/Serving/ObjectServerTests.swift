import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Logging
import Loop
import Synchronization
import Testing

/// Trees of objects that are served, seen through another session.
@Suite(.startsProcesses, .hangLimit)
struct ObjectServerTests {
    private static let name = "org.example.Served"
    private static let manager = "org.freedesktop.DBus.ObjectManager"
    private static let door = InterfaceDescription(
        "org.example.Door", .property("Zone", type: "s"), .property("Angle", type: "q"), .property("Alarm", type: "b"),
        .method("Open", takes: "qs", returns: "b"))
    private static let lampDescription = InterfaceDescription("org.example.Lamp", .property("Power", type: "y"))

    private let bus: PrivateBus
    private let session: BusSession
    private let server: ObjectServer

    init() async throws {
        bus = try await PrivateBus()
        session = try await Self.session(bus)
        server = ObjectServer(session, root: "/app")
        try await server.start()
        _ = try await session.call(.bus("RequestName", [.string(Self.name), .uint32(0)]), timeout: HangLimit.step)
    }

    private static func session(
        _ bus: PrivateBus, onSignal: @escaping @Sendable (IncomingMessage) -> Void = { _ in }
    ) async throws -> BusSession {
        let session = BusSession(
            loop: EventLoop(name: "test"), logger: Logger(label: "test"), onSignal: onSignal, onLoss: {})
        try await session.open(.address(bus.address), timeout: HangLimit.step)
        return session
    }

    private static func door(_ angle: UInt16, alarm: Bool? = nil) -> ObjectServer.Interface {
        ObjectServer.Interface(door) { name in
            switch name {
            case "Zone": .string("hall")
            case "Angle": .uint16(angle)
            case "Alarm": alarm.map { .boolean($0) }
            default: nil
            }
        } handle: { call in
            .success(MethodReply([.boolean(call.arguments.first?.integer == 90)]))
        }
    }

    private static let lamp = ObjectServer.Interface(lampDescription) { _ in .byte(3) }

    /// The objects, interfaces and properties that a client sees, in the order on the bus.
    private func listing(_ client: BusSession) async throws -> [String] {
        try await client.ask(MethodCall(Self.name, "/app", Self.manager, "GetManagedObjects"), timeout: HangLimit.step)
        {
            (body) throws(DBusError) in
            var names: [String] = []
            var objects = try body.array()
            while !objects.isAtEnd {
                var object = try objects.entry()
                names.append(try object.objectPath())
                var interfaces = try object.array()
                while !interfaces.isAtEnd {
                    var interface = try interfaces.entry()
                    names.append(try interface.string())
                    try interface.forEachProperty { (name, _) throws(DBusError) in names.append(name.string) }
                }
            }
            return names
        }
    }

    @Test func `objects, interfaces and properties are listed as they were added and declared`() async throws {
        try await server.add("/app/z", [Self.lamp, Self.door(0)])
        try await server.add("/app/a", [Self.door(90, alarm: true)])
        let client = try await Self.session(bus)
        #expect(
            try await listing(client) == [
                "/app/z", "org.example.Lamp", "Power", "org.example.Door", "Zone", "Angle",
                "/app/a", "org.example.Door", "Zone", "Angle", "Alarm",
            ])
        try await server.remove("/app/z")
        #expect(try await listing(client).first == "/app/a")
        await client.close()
        await session.close()
    }

    @Test func `every interface of an object answers`() async throws {
        try await server.add("/app/a", [Self.lamp, Self.door(90)])
        func call(_ interface: String, _ method: String, _ arguments: String...) async -> String {
            await LibdbusClient.call(bus.address, Self.name, "/app/a", interface, method, arguments)
        }
        #expect(await call("org.freedesktop.DBus.Properties", "Get", "org.example.Door", "Zone") == "hall")
        #expect(
            await call("org.freedesktop.DBus.Properties", "Get", "org.example.Door", "Alarm")
                == "org.freedesktop.DBus.Error.UnknownProperty")
        #expect(await call("org.example.Lamp", "Open") == "org.freedesktop.DBus.Error.UnknownMethod")
        let client = try await Self.session(bus)
        let open = MethodCall(Self.name, "/app/a", "org.example.Door", "Open", [.uint16(90), .string("now")])
        #expect(try await client.call(open, timeout: HangLimit.step).values == [.boolean(true)])
        await client.close()
        await session.close()
    }

    @Test func `additions, changes and removals are signaled`() async throws {
        let (signals, sink) = AsyncStream.makeStream(of: String.self, bufferingPolicy: .bufferingOldest(10))
        let client = try await Self.session(bus) { message in
            var body = message.body
            switch message.member {
            case "InterfacesAdded": sink.yield("added \((try? body.objectPath()) ?? "?")")
            case "InterfacesRemoved":
                let path = (try? body.objectPath()) ?? "?"
                sink.yield("removed \(path) \((try? body.strings()) ?? [])")
            case "PropertiesChanged":
                let interface = (try? body.string()) ?? "?"
                var names: [String] = []
                try? body.forEachProperty { (name, _) throws(DBusError) in names.append(name.string) }
                sink.yield("changed \(message.path.string) \(interface) \(names) \((try? body.strings()) ?? [])")
            default: break
            }
        }
        for interface in [Self.manager, "org.freedesktop.DBus.Properties"] {
            try await client.listen("type='signal',interface='\(interface)'", timeout: HangLimit.step)
        }
        try await server.add("/app/a", [Self.door(1)])
        // A property without a value is signaled as invalidated.
        try await server.propertiesChanged("/app/a", "org.example.Door", ["Angle", "Alarm"])
        try await server.propertiesChanged("/app/b", "org.example.Door", ["Angle"])
        try await server.remove("/app/a")
        try await server.remove("/app/a")
        var iterator = signals.makeAsyncIterator()
        #expect(await iterator.next() == "added /app/a")
        #expect(await iterator.next() == "changed /app/a org.example.Door [\"Angle\"] [\"Alarm\"]")
        #expect(await iterator.next() == "removed /app/a [\"org.example.Door\"]")
        await client.close()
        await session.close()
    }

    @Test func `objects keep their order when some are removed and added again`() async throws {
        for name in ["a", "b", "c", "d"] { try await server.add("/app/\(name)", [Self.lamp]) }
        try await server.remove("/app/b")
        try await server.remove("/app/nothing")
        try await server.add("/app/b", [Self.door(1)])
        let client = try await Self.session(bus)
        let paths = try await listing(client).filter { $0.hasPrefix("/") }
        #expect(paths == ["/app/a", "/app/c", "/app/d", "/app/b"])
        await client.close()
    }

    @Test func `nothing is added in a task that is cancelled`() async throws {
        let server = ObjectServer(session, root: "/large")
        let adding = Task {
            for number in 0..<1000 {
                try await server.add("/large/object\(number)", [Self.lamp])
                if number == 10 { withUnsafeCurrentTask { $0?.cancel() } }
            }
        }
        await #expect(throws: DBusError.cancelled) { try await adding.value }
        try await server.start()
        let objects = try await session.call(
            MethodCall(Self.name, "/large", Self.manager, "GetManagedObjects"), timeout: HangLimit.step)
        guard case .dictionary(_, _, let entries)? = objects.values.first else { throw DBusError.cancelled }
        #expect(entries.count == 11)
        await server.stop()
    }

    @Test func `an object whose path is taken leaves nothing behind`() async throws {
        try await server.add("/app/a", [Self.door(1)])
        for interfaces in [[Self.lamp, Self.door(2)], [Self.lamp]] {
            await #expect(throws: DBusError.self) { try await server.add("/app/a", interfaces) }
        }
        let client = try await Self.session(bus)
        #expect(try await listing(client) == ["/app/a", "org.example.Door", "Zone", "Angle"])
        // The lamp, which could be served, is not.
        let power = await LibdbusClient.call(
            bus.address, Self.name, "/app/a", "org.freedesktop.DBus.Properties", "Get", ["org.example.Lamp", "Power"])
        #expect(power.hasPrefix("org.freedesktop.DBus.Error."))
        await server.stop()
        await #expect(throws: DBusError.self) { try await server.add("/app/b", [Self.lamp]) }
        await #expect(throws: DBusError.self) { try await listing(client) }
        await client.close()
        await session.close()
    }

    @Test(
        arguments: [
            ("", []), ("o", ["o"]), ("oa{sv}(iu)", ["o", "a{sv}", "(iu)"]), ("aay", ["aay"]),
            ("a(sa{qv})b", ["a(sa{qv})", "b"]),
        ] as [(String, [String])])
    func `a signature is split into its complete types`(_ signature: String, _ types: [String]) {
        let xml = InterfaceDescription("org.example.X", .method("M", takes: signature)).xml
        #expect(
            xml == "<interface name=\"org.example.X\"><method name=\"M\">"
                + types.map { "<arg type=\"\($0)\" direction=\"in\"/>" }.joined() + "</method></interface>")
    }
}
