import BLE
import BLEBackendTesting
import BLEESPHome
import BLETestSupport
import Loop
import Testing

@testable import BLEProxy

/// Which bonds clients of a proxy make and remove.
@Suite(.hangLimit)
struct ProxyBondTests {
    private let address: UInt64 = 0xF0F1_F2F3_F4F5

    private func isUp(_ message: ProxyMessage) -> Bool {
        if case .connection(address, true, _, _) = message { true } else { false }
    }

    private func isDown(_ message: ProxyMessage) -> Bool {
        if case .connection(address, false, _, _) = message { true } else { false }
    }

    /// Makes a link and pairs, and ends the link.
    private func pair(_ client: RawClient, _ server: ProxyServer) async throws {
        client.send(.request(.connect, address: address, addressType: 1))
        try await client.until { isUp($0) }
        client.send(.request(.pair, address: address, addressType: 1))
        let paired = ProxyMessage.paired(address: address, isPaired: true, error: 0)
        try await client.until { $0 == paired }
        client.send(.request(.disconnect, address: address, addressType: 1))
        try await client.until { isDown($0) }
        await server.untilFree()
    }

    @Test func `a bond is removed for the holder of the link, or if the proxy has made it`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let inside = peer.inner.peripheral(EchoStrap.id)
        // The bond of another program.
        try await inside.pair()
        try await inside.disconnect()
        let (holder, other) = (try await RawClient(peer.server), try await RawClient(peer.server))
        let unpair = ProxyMessage.request(.unpair, address: address, addressType: 1)
        let refused = ProxyMessage.unpaired(address: address, isUnpaired: false, error: -1)
        let unpaired = ProxyMessage.unpaired(address: address, isUnpaired: true, error: 0)
        other.send(unpair)
        try await other.until { $0 == refused }
        let connect = ProxyMessage.request(.connect, address: address, addressType: 1)
        holder.send(connect)
        try await holder.until { isUp($0) }
        other.send(unpair)
        try await other.until { $0 == refused }
        #expect(try await inside.isPaired)
        // To pair again does not make it the proxy's own.
        holder.send(.request(.pair, address: address, addressType: 1))
        try await holder.until { if case .paired(address, false, _) = $0 { true } else { false } }
        holder.send(.request(.disconnect, address: address, addressType: 1))
        try await holder.until { isDown($0) }
        await peer.server.untilFree()
        other.send(unpair)
        try await other.until { $0 == refused }
        holder.send(connect)
        try await holder.until { isUp($0) }
        holder.send(unpair)
        // The answer is before the end of the link, which follows.
        let earlier = try await holder.until { $0 == unpaired }
        #expect(!earlier.contains { isDown($0) })
        try await holder.until { isDown($0) }
        #expect(try await !inside.isPaired)
        await peer.server.untilFree()
        try await pair(holder, peer.server)
        // Whoever asks for the peripheral meanwhile gets it afterward.
        other.send(unpair, connect)
        try await other.until { $0 == unpaired }
        try await other.until { isUp($0) }
        #expect(try await !inside.isPaired)
        await peer.end()
        holder.close()
        other.close()
    }

    @Test func `a proxy that is closed waits for the bond that it removes, also without a link`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await RawClient(peer.server)
        try await pair(client, peer.server)
        // Nothing is removed until Bluetooth is back.
        await peer.stopBluetooth()
        var adapter = await peer.inner.adapterStates().makeAsyncIterator()
        while try await adapter.next() != .resetting {}
        client.send(.request(.unpair, address: address, addressType: 1), .ping)
        try await client.until { $0 == .pingAnswer }
        #expect(await peer.server.isUnpairing)
        let closing = Task { [server = peer.server] in
            await server.close()
            return await server.isUnpairing
        }
        while await peer.server.hasClients { await Task.yield() }
        await peer.restartBluetooth()
        #expect(await !closing.value)
        await peer.end()
        client.close()
    }
}

extension ProxyServer {
    fileprivate var isUnpairing: Bool { !unpairs.isEmpty }
    fileprivate var hasClients: Bool { !clients.isEmpty }
}
