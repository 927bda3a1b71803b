import BLE
import BLEBackendTesting
import BLEESPHome
import BLESimulation
import BLETesting
import Testing

@testable import BLEProxy

/// What a proxy tells of its scanner.
@Suite(.hangLimit)
struct ProxyScanTests {
    private func state(
        _ state: ScannerState, _ mode: ScannerMode = .active, _ configured: ScannerMode = .active
    ) -> @Sendable (ProxyMessage) -> Bool {
        let message = ProxyMessage.scannerState(state, mode: mode, configured: configured)
        return { $0 == message }
    }

    private func states(_ messages: [ProxyMessage]) -> [ProxyMessage] {
        messages.filter { if case .scannerState = $0 { true } else { false } }
    }

    @Test func `running is told when the radio scans, and stopped while it is off`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        await peer.radio.setPowered(false)
        var adapter = await peer.inner.adapterStates().makeAsyncIterator()
        while try await adapter.next() != .poweredOff {}
        let client = try await RawClient(peer.server)
        client.send(.subscribeAdvertisements(flags: 1))
        // The first one proves the subscription.
        let first = try await client.until(state(.stopped))
        #expect(!first.contains(where: state(.running)))
        await peer.radio.setPowered(true)
        try await client.until(state(.running))
        await peer.radio.setPowered(false)
        try await client.until(state(.stopped))
        await peer.radio.setPowered(true)
        try await client.until(state(.running))
        // Another client is told at once.
        let other = try await RawClient(peer.server)
        other.send(.subscribeAdvertisements(flags: 1))
        #expect(states(try await other.until(state(.running))).isEmpty)
        await peer.end()
        client.close()
        other.close()
    }

    @Test func `the radio scans actively if one client wants that, and each is told the mode of the radio`()
        async throws
    {
        let peer = try await ProxiedPeer(key: nil)
        let (one, other) = (try await RawClient(peer.server), try await RawClient(peer.server))
        one.send(.setScannerMode(.passive), .subscribeAdvertisements(flags: 1))
        try await one.until(state(.running, .passive, .passive))
        other.send(.subscribeAdvertisements(flags: 1))
        try await other.until(state(.running))
        try await one.until(state(.running, .active, .passive))
        // A change of the mode restarts the scan of all, so that the next one is 5 s later.
        peer.clock.advance(by: .seconds(5))
        other.send(.setScannerMode(.passive))
        try await other.until(state(.running, .passive, .passive))
        peer.clock.advance(by: .seconds(5))
        other.send(.setScannerMode(.active))
        try await one.until(state(.running, .active, .passive))
        peer.clock.advance(by: .seconds(5))
        other.close()
        try await one.until(state(.running, .passive, .passive))
        // The advertisements have not stopped.
        try await one.until { if case .advertisements = $0 { true } else { false } }
        await peer.end()
        one.close()
    }

    @Test func `a client that changes its mind again and again does not restart the scan as often`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let (one, other) = (try await RawClient(peer.server), try await RawClient(peer.server))
        one.send(.setScannerMode(.passive), .subscribeAdvertisements(flags: 1))
        try await one.until(state(.running, .passive, .passive))
        other.send(.setScannerMode(.passive), .subscribeAdvertisements(flags: 1))
        try await other.until(state(.running, .passive, .passive))
        other.send((0..<500).flatMap { _ in [ProxyMessage.setScannerMode(.passive), .setScannerMode(.active)] })
        other.send(.setScannerMode(.passive), .ping)
        try await other.until { $0 == .pingAnswer }
        #expect(await peer.server.scanCount == 2)
        // The last one wins.
        peer.clock.advance(by: .seconds(5))
        try await one.until(state(.running, .passive, .passive))
        #expect(await peer.server.scanCount == 3)
        one.close()
        let flip = [ProxyMessage.unsubscribeAdvertisements, .subscribeAdvertisements(flags: 1)]
        other.send((0..<500).flatMap { _ in flip })
        other.send(.ping)
        try await other.until { $0 == .pingAnswer }
        #expect(await peer.server.endingCount <= 2)
        await peer.end()
        other.close()
    }

    @Test func `a client that sets the mode without a subscription is told nothing, which would prove one`()
        async throws
    {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await RawClient(peer.server)
        client.send(.setScannerMode(.passive), .ping)
        #expect(try await client.until { $0 == .pingAnswer } == [])
        await peer.end()
        client.close()
    }

    @Test func `a subscription during the report of the linked peripherals gets a report of its own`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        try await peer.inner.peripheral(EchoStrap.id).connect()
        let address = try #require(DeviceAddress(EchoStrap.id)).rawValue
        let (one, other) = (try await RawClient(peer.server), try await RawClient(peer.server))
        one.send(.subscribeAdvertisements(flags: 1))
        try await one.untilReported(address, times: 1)
        // In one piece: the first report has begun, and nothing of it was sent.
        other.send(.subscribeAdvertisements(flags: 1), .unsubscribeAdvertisements, .subscribeAdvertisements(flags: 1))
        try await other.untilReported(address, times: 2)
        await peer.end()
        one.close()
        other.close()
    }

    @Test func `without subscribers, the radio does not scan`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        var scanning = await peer.inner.scanningStates().makeAsyncIterator()
        #expect(try await scanning.next() == false)
        let client = try await RawClient(peer.server)
        client.send(.subscribeAdvertisements(flags: 1))
        #expect(try await scanning.next() == true)
        client.send(.unsubscribeAdvertisements)
        #expect(try await scanning.next() == false)
        client.send(.subscribeAdvertisements(flags: 1))
        #expect(try await scanning.next() == true)
        client.close()
        #expect(try await scanning.next() == false)
        await peer.end()
    }
}

extension ProxyServer {
    /// The number of scans that were begun.
    fileprivate var scanCount: Int { scan.number }
    fileprivate var endingCount: Int { scan.endingCount }
}
