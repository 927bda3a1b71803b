import BLE
import BLEESPHome
import BLEFakeBlueZ
import BLEProxy
import BLETestSupport
import BLETesting
import DBus
import Logging
import Loop
import Testing

/// Announcements through a fake Avahi on a private bus.
@Suite(.startsProcesses, .hangLimit)
struct ProxyAnnouncementTests {
    /// Avahi, with one group, which tells what it is asked.
    private final class FakeAvahi: Sendable {
        let calls = SharedValue<[IncomingCall]>([])
        private let session: BusSession

        /// - Parameters:
        ///   - taken: a name that another machine has. Empty for all names.
        ///   - states: those of a group that is committed: registering, established.
        init(_ bus: PrivateBus, taken: String? = nil, states: [Int32] = [1, 2]) async throws {
            let session = BusSession(
                loop: EventLoop(name: "avahi"), logger: .silent, onSignal: { _ in }, onLoss: {})
            self.session = session
            try await session.open(.address(bus.address), timeout: .seconds(600))
            let record: @Sendable (IncomingCall) -> Void = { [calls] call in calls.change { $0.append(call) } }
            let server = InterfaceDescription(
                "org.freedesktop.Avahi.Server", .method("EntryGroupNew", returns: "o"),
                .method("GetAlternativeServiceName", takes: "s", returns: "s"))
            _ = try await session.export(
                ExportedObject(path: "/", interface: server) { call in
                    record(call)
                    guard call.method == "EntryGroupNew" else {
                        return .success(MethodReply([.string("\(call.arguments[0].string ?? "")-2")]))
                    }
                    return .success(MethodReply([.objectPath("/Client1/EntryGroup1")]))
                })
            let group = InterfaceDescription(
                "org.freedesktop.Avahi.EntryGroup", .method("AddService", takes: "iiussssqaay"), .method("Commit"),
                .method("Free"))
            _ = try await session.export(
                ExportedObject(path: "/Client1/EntryGroup1", interface: group) { call in
                    record(call)
                    if call.method == "AddService", let taken, taken == "" || call.arguments[3].string == taken {
                        return .failure(.remote("org.freedesktop.Avahi.CollisionError", "taken"))
                    }
                    if call.method == "Commit" {
                        Task {
                            // Those of other groups are not meant.
                            try await Self.tell(4, of: "/Client1/EntryGroup2", to: call.sender, session)
                            for state in states { try await Self.tell(state, to: call.sender, session) }
                        }
                    }
                    return .success(MethodReply())
                })
            let name = DBusValue.string("org.freedesktop.Avahi")
            _ = try await session.call(.bus("RequestName", [name, .uint32(4)]), timeout: .seconds(600))
        }

        func collide() async throws {
            try await Self.tell(3, to: calls.value.last?.sender, session)
        }

        private static func tell(
            _ state: Int32, of path: String = "/Client1/EntryGroup1", to client: String?, _ session: BusSession
        ) async throws {
            try await session.emit(
                path: path, interface: "org.freedesktop.Avahi.EntryGroup", signal: "StateChanged",
                [.int32(state), .string("")], to: client)
        }

        func stop() async { await session.close() }
    }

    private let states = SharedValue<[ProxyAnnouncement.State]>([])

    private func announcing(_ bus: PrivateBus, host: String = "0.0.0.0", _ body: () async throws -> Void) async throws {
        let announcement = ProxyAnnouncement(
            .init(name: "attic", friendlyName: "Attic", address: "AA:BB:CC:DD:EE:FF", key: .random()),
            bus: bus.address
        ) { [states] state in states.change { $0.append(state) } }
        let task = Task { await announcement.run(host: host, port: 6053) }
        do {
            try await body()
        } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        await task.value
    }

    @Test func `a proxy is announced with what Home Assistant reads, and again after Avahi has restarted`() async throws
    {
        let bus = try await PrivateBus()
        let avahi = try await FakeAvahi(bus)
        try await announcing(bus) {
            try await avahi.calls.until { $0.last?.method == "Commit" }
            try await states.until { $0 == [.announced("attic")] }
            let call = try #require(avahi.calls.value.first { $0.method == "AddService" })
            #expect(call.arguments[3].string == "attic")
            #expect(call.arguments[4].string == "_esphomelib._tcp")
            #expect(call.arguments[7].integer == 6053)
            // On all interfaces, over IPv4.
            #expect(call.arguments[0].integer == -1)
            #expect(call.arguments[1].integer == 0)
            let texts = call.arguments[8].elements?.compactMap(\.bytes).map { String(decoding: $0, as: UTF8.self) }
            for text in [
                "mac=aabbccddeeff", "friendly_name=Attic", "api_encryption=Noise_NNpsk0_25519_ChaChaPoly_SHA256",
            ] {
                #expect(texts?.contains(text) == true, "\(texts ?? [])")
            }
            await avahi.stop()
            try await states.until { $0.last == .unavailable(reason: "Avahi does not run") }
            let next = try await FakeAvahi(bus)
            try await next.calls.until { $0.last?.method == "Commit" }
            try await states.until { $0.last == .announced("attic") }
            // Another machine takes the name.
            try await next.collide()
            try await states.until { $0.last == .announced("attic-2") }
            await next.stop()
        }
    }

    @Test func `a proxy that Avahi does not publish is not said to be announced`() async throws {
        for (taken, reason) in [
            (nil, "Avahi could not announce the proxy"), ("", "other machines have the last 16 names that were tried"),
        ] as [(String?, String)] {
            let bus = try await PrivateBus()
            let avahi = try await FakeAvahi(bus, taken: taken, states: [1, 4])
            states.change { $0 = [] }
            try await announcing(bus, host: "127.0.0.1") {
                try await states.until { $0 == [.unavailable(reason: reason)] }
                let call = try #require(avahi.calls.value.first { $0.method == "AddService" })
                #expect(call.arguments[0].integer != -1)
                #expect(call.arguments[1].integer == 0)
            }
            await avahi.stop()
        }
    }

    @Test func `without Avahi, that is told, and the proxy is announced when it starts`() async throws {
        let bus = try await PrivateBus()
        try await announcing(bus) {
            try await states.until { $0 == [.unavailable(reason: "Avahi does not run")] }
            let avahi = try await FakeAvahi(bus, taken: "attic")
            try await states.until { $0.last == .announced("attic-2") }
            let names = avahi.calls.value.filter { $0.method == "AddService" }.map { $0.arguments[3].string }
            #expect(names == ["attic", "attic-2"])
            await avahi.stop()
        }
    }
}

extension Logger {
    fileprivate static var silent: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}
