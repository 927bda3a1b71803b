import BLE
import BLEESPHome
import BLEFakeBlueZ
import BLEProxy
import BLETestSupport
import BLETesting
import BlueZTestSupport
import DBus
import Testing

/// Announcements through a fake Avahi on a private bus.
@Suite(.startsProcesses, .hangLimit)
struct ProxyAnnouncementTests {
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
