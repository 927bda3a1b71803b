import BLEBackendTesting
import BLEESPHome
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// Clients that ask for links to keep them from others, or to hide what happens.
@Suite(.hangLimit)
struct HostileClientTests {
    private let address: UInt64 = 0xF0F1_F2F3_F4F5
    private var connect: ProxyMessage { .request(.connect, address: address, addressType: 1) }

    private func isUp(_ message: ProxyMessage) -> Bool {
        if case .connection(address, true, _, _) = message { true } else { false }
    }

    @Test func `a client that is dropped in its own request for a link leaves none`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let deaf = try await RawClient(peer.server)
        deaf.send(.subscribeSlots)
        try await deaf.until { if case .slots = $0 { true } else { false } }
        await deaf.setReading(false)
        await peer.server.fillUnsent()
        // The number of its slots does not fit any more.
        deaf.send(connect)
        await until { await peer.server.clients.isEmpty }
        let other = try await RawClient(peer.server)
        other.send(connect)
        try await other.until { isUp($0) }
        await peer.end()
        #expect(await peer.server.slots.isEmpty)
        deaf.close()
        other.close()
    }
}

extension ProxyServer {
    /// Sends the clients, which do not read, as much as may wait for them.
    fileprivate func fillUnsent() {
        for (id, client) in clients {
            while client.socket.unsentCount < 1 << 20 { send(.deviceInfo(Self.info(configuration)), to: id) }
        }
    }
}
