import BLE
import BLEFakeBlueZ
import BLESimulation
import BLETestSupport
import BLETesting
import BlueZTestSupport
import DBus
import Testing

@testable import BLEProxy

/// What is read of announcements, and kept.
@Suite struct FoundProxyTests {
    private func answer(
        _ name: String = "attic", at address: String = "10.0.0.7", port: UInt16 = 6053, texts: [String] = []
    ) -> [DBusValue] {
        [
            .int32(2), .int32(0), .string(name), .string("_esphomelib._tcp"), .string("local"),
            .string("\(name).local"), .int32(0), .string(address), .uint16(port),
            .array(element: "ay", texts.map { .bytes(Array($0.utf8)) }), .uint32(0),
        ]
    }

    @Test func `an announcement is read, and what it lacks is not known`() throws {
        let whole = try #require(
            FoundProxy(
                answer(texts: [
                    "mac=aabbccddeeff", "version=2026.11.0", "friendly_name=Attic", "Version=1", "version=2",
                    "project_name=esphome.bluetooth-proxy", "api_encryption=Noise_NNpsk0_25519_ChaChaPoly_SHA256",
                ])))
        #expect(whole.name == "attic")
        #expect(whole.friendlyName == "Attic")
        #expect(whole.host == "attic.local")
        #expect(whole.address == "10.0.0.7")
        #expect(whole.port == 6053)
        #expect(whole.mac == "AA:BB:CC:DD:EE:FF")
        #expect(whole.version == "2026.11.0")
        #expect(whole.project == "esphome.bluetooth-proxy")
        #expect(whole.isEncrypted)
        let bare = try #require(FoundProxy(answer(texts: ["mac=+abbccddeeff", "version=", "friendly_name", "=x"])))
        #expect(bare.mac == nil && bare.version == nil && bare.friendlyName == nil && bare.project == nil)
        #expect(!bare.isEncrypted)
    }

    @Test func `an answer that is not one about a service is refused`() {
        #expect(FoundProxy([]) == nil)
        #expect(FoundProxy(answer(port: 0)) == nil)
        #expect(FoundProxy(answer(at: "")) == nil)
        #expect(FoundProxy(answer("")) == nil)
        #expect(FoundProxy(Array(repeating: .int32(1), count: 11)) == nil)
    }

    private func service(_ name: String, _ family: Int32 = 0) -> FoundServices.Service {
        .init(interface: 2, family: family, name: name, type: "_esphomelib._tcp", domain: "local")
    }

    @Test func `of several addresses of a device, the most useful is returned`() throws {
        for addresses in [["fe80::1", "fd00::7", "10.0.0.7"], ["10.0.0.7", "fd00::7", "fe80::1"]] {
            var found = FoundServices()
            for (number, address) in addresses.enumerated() {
                let service = service("attic", Int32(number))
                let (isNew, isNewAgain) = (found.add(service), found.add(service))
                #expect(isNew && !isNewAgain)
                found.resolve(service, try #require(FoundProxy(answer(at: address, texts: ["mac=aabbccddeeff"]))))
            }
            // Another device of that name, in another network.
            _ = found.add(service("attic", 9))
            let other = FoundProxy(answer(at: "fe80::2", texts: ["mac=000000000001"]))
            found.resolve(service("attic", 9), try #require(other))
            #expect(found.proxies.map(\.address) == ["fe80::2%2", "10.0.0.7"])
        }
    }

    @Test func `what has gone, or was never resolved, is not returned, and a flood has an end`() throws {
        var found = FoundServices()
        for name in ["attic", "cellar"] { _ = found.add(service(name)) }
        found.remove(service("attic"))
        found.resolve(service("attic"), try #require(FoundProxy(answer())))
        #expect(found.proxies == [])
        let added = (0..<1000).count { found.add(service("thing \($0)")) }
        #expect(added == FoundServices.limit - 1)
        let hasRoom = found.add(service("attic"))
        #expect(!hasRoom)
        found.remove(service("cellar"))
        _ = found.add(service("attic"))
        found.resolve(service("attic"), try #require(FoundProxy(answer())))
        #expect(found.proxies.map(\.name) == ["attic"])
    }
}

/// Searches through a fake Avahi on a private bus.
@Suite(.startsProcesses, .hangLimit)
struct ProxySearchTests {
    private let clock = ManualClock()

    /// Begins a search that only the clock ends.
    private func searching(_ bus: PrivateBus) -> Task<[FoundProxy], any Error> {
        Task { [clock] in try await FoundProxy.search(for: .seconds(77), bus: bus.address, clock: clock) }
    }

    @Test func `a search returns the devices that are resolved in its time`() async throws {
        let bus = try await PrivateBus()
        let avahi = try await FakeAvahi(
            bus,
            services: [
                .init("cellar", at: nil, ["mac=000000000009"]),
                .init("attic", at: "fe80::1", family: 1, ["mac=aabbccddeeff"]),
                .init("attic", at: "10.0.0.7", port: 7000, ["mac=aabbccddeeff", "api_encryption=x"]),
                .init("\u{1B}[31m", at: "10.0.0.8", []),
            ])
        // How long Avahi takes is not known.
        var (duration, found) = (Duration.milliseconds(10), [FoundProxy]())
        while found.count < 2 || found.last?.port != 7000 {
            found = try await FoundProxy.search(for: duration, bus: bus.address)
            duration *= 4
        }
        #expect(found.map(\.name) == ["\u{1B}[31m", "attic"])
        #expect(found.map(\.address) == ["10.0.0.8", "10.0.0.7"])
        #expect(found.map(\.isEncrypted) == [false, true])
        let call = try #require(avahi.calls.value.first { $0.method == "ServiceBrowserNew" })
        #expect(call.arguments[2].string == "_esphomelib._tcp")
        await avahi.stop()
    }

    @Test func `a search takes its time, though nothing is found`() async throws {
        let bus = try await PrivateBus()
        let avahi = try await FakeAvahi(bus)
        let search = searching(bus)
        await clock.sleepers(for: .seconds(77))
        clock.advance(by: .seconds(77))
        #expect(try await search.value == [])
        await avahi.stop()
    }

    @Test func `without Avahi, a search says so and what helps, also if it stops`() async throws {
        let missing = await #expect(throws: BLEError.self) {
            _ = try await FoundProxy.search(bus: "unix:path=/does/not/exist")
        }
        #expect(missing?.code == .notSupported)
        #expect(missing?.remedy != nil)
        let bus = try await PrivateBus()
        let absent = await #expect(throws: BLEError.self) { _ = try await FoundProxy.search(bus: bus.address) }
        #expect(absent?.code == .notSupported)
        let avahi = try await FakeAvahi(bus)
        let search = searching(bus)
        try await avahi.calls.until { $0.last?.method == "ServiceBrowserNew" }
        await avahi.stop()
        await expectError(.notSupported) { _ = try await search.value }
    }

    @Test func `a search that fails or is cancelled ends at once`() async throws {
        let bus = try await PrivateBus()
        let avahi = try await FakeAvahi(bus)
        let failing = searching(bus)
        try await avahi.calls.until { $0.count == 1 }
        try await avahi.failBrowser()
        await expectError(.failed) { _ = try await failing.value }
        let cancelled = searching(bus)
        try await avahi.calls.until { $0.count == 2 }
        cancelled.cancel()
        await expectError(.cancelled) { _ = try await cancelled.value }
        await avahi.stop()
    }
}
