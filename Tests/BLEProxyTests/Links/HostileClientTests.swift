import BLE
import BLEBackendTesting
import BLEESPHome
import BLETestSupport
import BLETesting
import Loop
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

    private func isDown(_ message: ProxyMessage) -> Bool {
        if case .connection(address, false, _, _) = message { true } else { false }
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
        await until { await peer.server.hasNoClient }
        let other = try await RawClient(peer.server)
        other.send(connect)
        try await other.until { isUp($0) }
        await peer.end()
        #expect(await peer.server.slots.isEmpty)
        deaf.close()
        other.close()
    }

    @Test func `links that are given up again and again are told once a second, and none of them as ended`()
        async throws
    {
        let peer = try await ProxiedPeer(key: nil)
        await peer.peripheral.setAcceptsLinks(false)
        var events = await peer.server.events().makeAsyncIterator()
        let client = try await RawClient(peer.server)
        guard case .clientConnected(let restless)? = try await events.next() else { Issue.record(); return }
        func giveUp(times: Int) async throws {
            for _ in 0..<times {
                client.send(connect, .request(.disconnect, address: address, addressType: 1))
                try await client.until { isDown($0) }
            }
        }
        try await giveUp(times: 300)
        #expect(try await events.next() == .linkFailed(EchoStrap.id, restless, count: 1))
        peer.clock.advance(by: .seconds(1))
        #expect(try await events.next() == .linkFailed(EchoStrap.id, restless, count: 299))
        await peer.peripheral.setAcceptsLinks(true)
        client.send(connect)
        try await client.until { isUp($0) }
        #expect(try await events.next() == .linkConnected(EchoStrap.id, restless))
        client.send(.request(.disconnect, address: address, addressType: 1))
        try await client.until { isDown($0) }
        #expect(try await events.next() == .linkDisconnected(EchoStrap.id, restless))
        await peer.peripheral.setAcceptsLinks(false)
        try await giveUp(times: 2)
        client.close()
        // What was not told yet.
        #expect(try await events.next() == .linkFailed(EchoStrap.id, restless, count: 2))
        #expect(try await events.next() == .clientDisconnected(restless, dropped: 0))
        await peer.end()
    }
}

extension ProxyServer {
    fileprivate var hasNoClient: Bool { clients.isEmpty }

    /// Sends the clients, which do not read, as much as may wait for them.
    fileprivate func fillUnsent() {
        for (id, client) in clients {
            while client.socket.unsentCount < 1 << 20 { send(.deviceInfo(Self.info(configuration)), to: id) }
        }
    }
}
