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

        /// - Parameter taken: a name that another machine has.
        init(_ bus: PrivateBus, taken: String? = nil) async throws {
            session = BusSession(
                loop: EventLoop(name: "avahi"), logger: .silent, onSignal: { _ in }, onLoss: {})
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
                    if call.method == "AddService", call.arguments[3].string == taken {
                        return .failure(.remote("org.freedesktop.Avahi.CollisionError", "taken"))
                    }
                    return .success(MethodReply())
                })
            let name = DBusValue.string("org.freedesktop.Avahi")
            _ = try await session.call(.bus("RequestName", [name, .uint32(4)]), timeout: .seconds(600))
        }

        func collide() async throws {
            try await session.emit(
                path: "/Client1/EntryGroup1", interface: "org.freedesktop.Avahi.EntryGroup", signal: "StateChanged",
                [.int32(3), .string("collision")], to: calls.value.last?.sender)
        }

        func stop() async { await session.close() }
    }

    private let states = SharedValue<[ProxyAnnouncement.State]>([])

    private func announcing(_ bus: PrivateBus, _ body: () async throws -> Void) async throws {
        let announcement = ProxyAnnouncement(
            .init(name: "attic", friendlyName: "Attic", address: "AA:BB:CC:DD:EE:FF", key: .random()),
            bus: bus.address
        ) { [states] state in states.change { $0.append(state) } }
        let task = Task { await announcement.run(port: 6053) }
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
