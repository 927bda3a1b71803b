import BLE
import BLESimulation
import BLETestSupport
import BLETesting
import Loop
import Testing

@testable import BLEESPHome

/// A central with a proxy that does what ESPHome's firmware does: it tells of links to its subscriber alone, and ends
/// them without one. In virtual time: nothing ends a wait but an answer.
@Suite(.hangLimit)
struct FirmwareProxyTests {
    private let clock = ManualClock()
    private let proxy: RawProxy
    private let central: Central
    private let address: UInt64 = 0xF0F1_F2F3_F4F5

    init() async throws {
        let (here, there) = try StreamSocket.pair()
        proxy = RawProxy(there, features: [.connections, .rawAdvertisements, .scannerState], isFirmware: true)
        let radio = Radio.esphome(name: "attic", key: nil) { (_) throws(LoopError) in here }
        central = try await Central(severalRadios: [radio], configuration: .quiet(clock: clock))
    }

    private var strap: Peripheral { central.peripheral("F0:F1:F2:F3:F4:F5") }

    /// Scans until the strap is found. The scan goes on.
    private func find() async throws -> Task<Void, any Error> {
        let found = SharedValue(false)
        let task = Task { [central] in
            for try await event in central.discoveryEvents(staleAfter: nil) {
                if case .found = event { found.change { $0 = true } }
            }
        }
        try await proxy.firmware.until(\.isSubscribed)
        // Flags.
        let raw = RawAdvertisement(address: address, rssi: -50, addressType: 1, data: [2, 1, 6])
        proxy.send(.advertisements([raw]))
        try await found.until { $0 }
        return task
    }

    private func end(_ scan: Task<Void, any Error>) async {
        scan.cancel()
        await until { await !central.isScanning }
    }

    private func count(_ message: ProxyMessage) -> Int { proxy.received.value.count { $0 == message } }

    @Test func `a link is made after a scan has ended, and the subscription ends with it`() async throws {
        await end(try await find())
        try await proxy.received.until { $0.last == .unsubscribeAdvertisements }
        try await strap.connect(timeout: .seconds(600))
        #expect(proxy.firmware.value.links == [address])
        try await strap.disconnect()
        try await proxy.received.until { $0.last == .unsubscribeAdvertisements }
        #expect(count(.subscribeAdvertisements(flags: 1)) == 2)
        #expect(count(.unsubscribeAdvertisements) == 2)
        await central.shutDown()
    }

    @Test func `a link outlasts the end of the scan, which may begin again`() async throws {
        var scan = try await find()
        try await strap.connect(timeout: .seconds(600))
        await end(scan)
        // The proxy answers in order.
        #expect(try await strap.services().isEmpty)
        #expect(proxy.firmware.value.links == [address])
        #expect(await strap.connectionState == .connected)
        #expect(count(.unsubscribeAdvertisements) == 0)
        // The peripheral with the link is found at once.
        scan = try await find()
        await until { await central.isScanning }
        await end(scan)
        #expect(count(.subscribeAdvertisements(flags: 1)) == 1)
        try await strap.disconnect()
        try await proxy.received.until { $0.last == .unsubscribeAdvertisements }
        await central.shutDown()
    }

    @Test func `a scanner that fails while there are links is started again with its mode`() async throws {
        let scan = try await find()
        try await strap.connect(timeout: .seconds(600))
        let former = count(.setScannerMode(.active))
        proxy.send(.scannerState(.failed, mode: .active, configured: .active))
        await until { await !central.isScanning }
        for _ in 0..<3 {
            await clock.sleepers(for: .seconds(10))
            clock.advance(by: .seconds(10))
        }
        try await proxy.received.until { $0.last == .setScannerMode(.active) && $0.count > 0 }
        #expect(count(.setScannerMode(.passive)) == 1)
        #expect(count(.setScannerMode(.active)) == former + 1)
        #expect(count(.unsubscribeAdvertisements) == 0)
        #expect(proxy.firmware.value.links == [address])
        await end(scan)
        await central.shutDown()
    }
}

/// Scans that are stopped, and radios that are late.
@Suite(.hangLimit)
struct WaitingProxyTests {
    private let clock = ManualClock()

    private func subscriptions(_ count: Int, _ proxy: RawProxy) async throws {
        try await proxy.received.until { $0.count { $0 == .subscribeAdvertisements(flags: 1) } == count }
    }

    @Test(arguments: [false, true]) func `a scan that is stopped before it has begun is cancelled`(
        _ isOneOfSeveral: Bool
    ) async throws {
        let (here, there) = try StreamSocket.pair()
        let proxy = RawProxy(there, features: [.connections, .rawAdvertisements, .scannerState])
        let esphome = ESPHomeCentral(name: "attic", key: nil) { (_) throws(LoopError) in here }
        let backend: any CentralBackend = isOneOfSeveral ? RadiosBackend([("attic", esphome)]) : esphome
        let central = try await Central(backend: backend, configuration: .quiet(clock: clock))
        let first = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        try await subscriptions(1, proxy)
        try await backend.stopDiscovery()
        await expectError(.cancelled) { try await first.value }
        try await proxy.received.until { $0.last == .unsubscribeAdvertisements }
        let second = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        try await subscriptions(2, proxy)
        proxy.send(.scannerState(.running, mode: .active, configured: .active))
        try await second.value
        try await backend.stopDiscovery()
        await central.shutDown()
    }

    @Test func `a proxy that does not answer does not delay the others at the start, and is used when it does`()
        async throws
    {
        let attempts = SharedValue(0)
        let mute = Radio.esphome(name: "mute", key: nil) { [clock] (_) throws(LoopError) in
            let (here, there) = try StreamSocket.pair()
            let number = attempts.change { attempts in
                attempts += 1
                return attempts
            }
            // Ends when the central gives the attempt up.
            if number == 1 {
                do { try await clock.sleep(for: .seconds(77_777)) } catch { throw .cancelled }
            }
            _ = RawProxy(there)
            return here
        }
        let good = Radio.esphome(name: "good", key: nil) { (_) throws(LoopError) in
            let (here, there) = try StreamSocket.pair()
            _ = RawProxy(there)
            return here
        }
        let making = Task { [clock] in
            try await Central(radios: [mute, good], configuration: .quiet(clock: clock))
        }
        await clock.sleepers(for: .seconds(5))
        clock.advance(by: .seconds(5))
        let central = try await making.value
        #expect(await central.radios.map(\.state) == [.unavailable, .poweredOn])
        #expect(await central.adapterState == .poweredOn)
        // The limit of the attempt, which began before the five seconds or after.
        clock.advance(by: .seconds(10))
        await clock.sleepers(for: .milliseconds(500))
        clock.advance(by: .milliseconds(500))
        await until { await central.radios.map(\.state) == [.poweredOn, .poweredOn] }
        await central.shutDown()
    }
}

/// A proxy that does not answer.
@Suite(.hangLimit)
struct SilentProxyTests {
    private let clock = ManualClock()
    private let proxy: RawProxy
    private let backend: ESPHomeCentral
    private let central: Central
    private let address: UInt64 = 0xF0F1_F2F3_F4F5
    private let id: Peripheral.ID = "F0:F1:F2:F3:F4:F5"

    init() async throws {
        let (here, there) = try StreamSocket.pair()
        proxy = RawProxy(there, features: [.connections, .rawAdvertisements, .pairing])
        backend = ESPHomeCentral(name: "attic", key: nil) { (_) throws(LoopError) in here }
        central = try await Central(backend: backend, configuration: .quiet(clock: clock))
    }

    private func received(_ message: ProxyMessage, _ count: Int = 1) async throws {
        try await proxy.received.until { $0.count { $0 == message } == count }
    }

    /// Receives an advertisement of the peripheral, and begins to connect to it without a scan.
    private func connecting() async throws -> Task<Void, any Error> {
        try await backend.startDiscovery(DiscoveryFilter())
        proxy.send(.advertisements([RawAdvertisement(address: address, rssi: -50, addressType: 1, data: [2, 1, 6])]))
        await until { await !backend.knownPeripherals().isEmpty }
        try await backend.stopDiscovery()
        try await received(.unsubscribeAdvertisements)
        let attempt = Task { [backend, id] in try await backend.connect(id) }
        try await received(.request(.connectWithoutCache, address: address, addressType: 1))
        return attempt
    }

    private func connected() async throws {
        let attempt = try await connecting()
        proxy.send(.connection(address: address, isConnected: true, mtu: 23, error: 0))
        try await attempt.value
    }

    /// Lets the time pass that the proxy has for the end of a link, and waits for the end of the subscription.
    private func passEnding() async throws {
        await clock.sleepers(for: .seconds(10))
        #expect(proxy.received.value.count { $0 == .unsubscribeAdvertisements } == 1)
        clock.advance(by: .seconds(10))
        try await received(.unsubscribeAdvertisements, 2)
        await central.shutDown()
    }

    @Test func `an attempt that was cancelled holds the subscription for 10 s at most`() async throws {
        let attempt = try await connecting()
        attempt.cancel()
        await expectError(.cancelled) { try await attempt.value }
        try await received(.request(.disconnect, address: address, addressType: nil))
        try await passEnding()
    }

    @Test func `a slot that is not reported as free holds the subscription for 10 s at most`() async throws {
        try await connected()
        proxy.send(.slots(ProxySlots(free: 2, limit: 3, allocated: [address])))
        proxy.send(.connection(address: address, isConnected: false, mtu: 0, error: 0x13))
        try await passEnding()
    }

    @Test func `an unpairing that was cancelled holds no subscription, and takes no later answer`() async throws {
        let request = ProxyMessage.request(.unpair, address: address, addressType: nil)
        let first = Task { [backend, id] in try await backend.unpair(id) }
        try await received(request)
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        try await received(.unsubscribeAdvertisements)
        let second = Task { [backend, id] in try await backend.unpair(id) }
        try await received(request, 2)
        proxy.send(.unpaired(address: address, isUnpaired: true, error: 0))
        try await second.value
        try await received(.unsubscribeAdvertisements, 2)
        await central.shutDown()
    }

    @Test func `the late answer to an unpairing is not that of a pairing`() async throws {
        try await connected()
        let unpairing = Task { [backend, id] in try await backend.unpair(id) }
        try await received(.request(.unpair, address: address, addressType: nil))
        unpairing.cancel()
        await expectError(.cancelled) { try await unpairing.value }
        let pairing = Task { [backend, id] in try await backend.pair(id) }
        try await received(.request(.pair, address: address, addressType: nil))
        // As firmware answers both.
        proxy.send(.paired(address: address, isPaired: false, error: 0))
        proxy.send(.paired(address: address, isPaired: true, error: 0))
        try await pairing.value
        await central.shutDown()
    }
}
