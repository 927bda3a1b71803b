import BLE
import BLEBackendTesting
import BLEESPHome
import BLETesting
import Loop
import Testing

@testable import BLEProxy

/// What a proxy does for clients whose requests cross the ends of their links.
@Suite(.hangLimit)
struct ProxyLinkTests {
    private let address: UInt64 = 0xF0F1_F2F3_F4F5

    private func isUp(_ message: ProxyMessage) -> Bool {
        if case .connection(address, true, _, _) = message { true } else { false }
    }

    private func isDown(_ message: ProxyMessage) -> Bool {
        if case .connection(address, false, _, _) = message { true } else { false }
    }

    private func connected(_ peer: ProxiedPeer) async throws -> RawClient {
        let client = try await RawClient(peer.server)
        client.send(.request(.connect, address: address, addressType: 1))
        try await client.until { isUp($0) }
        return client
    }

    /// The handle of a characteristic's value.
    private func handle(_ key: CharacteristicKey, _ peer: ProxiedPeer) async throws -> UInt32 {
        for service in try await peer.inner.peripheral(EchoStrap.id).services() {
            for characteristic in service where characteristic.uuid == key.characteristic {
                return UInt32(characteristic.handle) + 1
            }
        }
        throw BLEError(.characteristicNotFound, "no such characteristic")
    }

    @Test(arguments: [true, false]) func `what was queued on a link does not make another one`(
        _ leaves: Bool
    ) async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        let slow = try await handle(EchoStrap.slow.key, peer)
        let write = ProxyMessage.write(address: address, handle: slow, withResponse: true, [1])
        await peer.hold()
        let events = await peer.inner.peripheral(EchoStrap.id).connectionEvents()
        client.send(write, write, write)
        await peer.untilHeld()
        let tasks = await peer.server.tasks
        #expect(tasks.count == 3)
        if leaves { client.close() } else { await peer.loseLink() }
        for task in tasks { await task.value }
        await peer.server.untilFree()
        #expect(await peer.inner.peripheral(EchoStrap.id).connectionState == .disconnected)
        await peer.end()
        var connections = 0
        do { for try await event in events { if case .connected = event { connections += 1 } } } catch {}
        #expect(connections == 0)
        await peer.release()
        client.close()
    }

    @Test func `each start and end of notifications is answered once, and an error is none of them`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        let output = try await handle(EchoStrap.output.key, peer)
        let start = ProxyMessage.notify(address: address, handle: output, isEnabled: true)
        let end = ProxyMessage.notify(address: address, handle: output, isEnabled: false)
        let answer = ProxyMessage.notifyAnswer(address: address, handle: output)
        client.send(start, end, start, end, start)
        for _ in 0..<5 { #expect(try await client.until { $0 == answer } == []) }
        await peer.until(subscribers: 1)
        await peer.notify([7])
        let value = ProxyMessage.notification(address: address, handle: output, [7])
        #expect(try await client.until { $0 == value } == [])
        await peer.end()
        client.close()
    }

    @Test func `requests without a link and for handles that do not exist are refused, and leave nothing`() async throws
    {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await RawClient(peer.server)
        client.send(.read(address: address, handle: 3))
        let refusal = ProxyMessage.attributeError(address: address, handle: 3, error: -1)
        try await client.until { $0 == refusal }
        client.send(.request(.connect, address: address, addressType: 1))
        try await client.until { isUp($0) }
        for handle: UInt32 in [0x1_0003, 0xFFF0] {
            client.send(.write(address: address, handle: handle, withResponse: false, [1]))
            let refusal = ProxyMessage.attributeError(address: address, handle: handle, error: 1)
            try await client.until { $0 == refusal }
        }
        #expect(await peer.server.tasks.isEmpty)
        #expect(await peer.server.writeCount == 0)
        await peer.end()
        client.close()
    }

    @Test func `a client that connects what it holds is told that it does`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        client.send(.request(.connect, address: address, addressType: 1))
        let earlier = try await client.until { isUp($0) }
        #expect(!earlier.contains { isDown($0) })
        await peer.end()
        client.close()
    }

    @Test func `a link that the client does not know of is ended`() async throws {
        let (here, there) = try StreamSocket.pair()
        let proxy = RawProxy(there)
        let backend = ESPHomeCentral(name: "raw", key: nil) { (_) throws(LoopError) in here }
        let central = try await Central(backend: backend, configuration: .init())
        proxy.send(.connection(address: address, isConnected: true, mtu: 23, error: 0))
        let request = ProxyMessage.request(.disconnect, address: address, addressType: nil)
        try await proxy.received.until { $0.contains(request) }
        await central.shutDown()
        proxy.close()
    }
}

extension ProxyServer {
    fileprivate var tasks: [Task<Void, Never>] { clients.values.flatMap { $0.requests.values.map(\.task) } }
    fileprivate var writeCount: Int { clients.values.reduce(0) { $0 + $1.writes.count + $1.commands.count } }
    fileprivate func untilFree() async { while !owners.isEmpty { await Task.yield() } }
}
