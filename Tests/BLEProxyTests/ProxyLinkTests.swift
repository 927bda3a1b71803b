import BLE
import BLEBackendTesting
import BLEESPHome
import BLESimulation
import BLETestSupport
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

    /// The handle of a descriptor.
    private func descriptor(_ uuid: BluetoothUUID, of key: CharacteristicKey, _ peer: ProxiedPeer) async throws
        -> UInt32
    {
        for service in try await peer.inner.peripheral(EchoStrap.id).services() {
            for characteristic in service where characteristic.uuid == key.characteristic {
                if let descriptor = characteristic.descriptors.first(where: { $0.uuid == uuid }) {
                    return UInt32(descriptor.handle)
                }
            }
        }
        throw BLEError(.characteristicNotFound, "no such descriptor")
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

    @Test func `a read follows the writes of its attribute`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        let note = try await handle(EchoStrap.note.key, peer)
        let held = await peer.peripheral.hold(.write(of: EchoStrap.note))
        client.send(
            .write(address: address, handle: note, withResponse: true, [7]), .read(address: address, handle: note),
            .ping)
        await held.disturbed()
        try await client.until { $0 == .pingAnswer }
        await held.release()
        let written = ProxyMessage.writeAnswer(address: address, handle: note)
        let earlier = try await client.until { if case .readAnswer = $0 { true } else { false } }
        #expect(earlier == [written])
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

    @Test func `a write of the Client Characteristic Configuration starts and ends notifications`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        let output = try await handle(EchoStrap.output.key, peer)
        let configuration = try await descriptor(BluetoothUUID(0x2902), of: EchoStrap.output.key, peer)
        func write(_ value: [UInt8]) async throws {
            client.send(.writeDescriptor(address: address, handle: configuration, value))
            let answer = ProxyMessage.writeAnswer(address: address, handle: configuration)
            try await client.until { $0 == answer }
        }
        client.send(.notify(address: address, handle: output, isEnabled: true))
        try await write([1, 0])
        await peer.until(subscribers: 1)
        await peer.notify([7])
        let first = ProxyMessage.notification(address: address, handle: output, [7])
        try await client.until { $0 == first }
        try await write([0, 0])
        await peer.until(subscribers: 0)
        #expect(await peer.server.notificationCount == 0)
        try await write([2, 0])
        await peer.until(subscribers: 1)
        await peer.notify([8])
        let second = ProxyMessage.notification(address: address, handle: output, [8])
        #expect(try await client.until { $0 == second } == [])
        client.send(.writeDescriptor(address: address, handle: configuration, [1]))
        let refusal = ProxyMessage.attributeError(address: address, handle: configuration, error: 0x0D)
        try await client.until { $0 == refusal }
        await peer.end()
        client.close()
    }

    @Test func `what follows a write of the configuration waits for it, not it for that`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        let output = try await handle(EchoStrap.output.key, peer)
        let configuration = try await descriptor(BluetoothUUID(0x2902), of: EchoStrap.output.key, peer)
        let write = ProxyMessage.writeDescriptor(address: address, handle: configuration, [1, 0])
        let command = ProxyMessage.write(address: address, handle: configuration, withResponse: false, [1, 0])
        let written = ProxyMessage.writeAnswer(address: address, handle: configuration)
        let notified = ProxyMessage.notifyAnswer(address: address, handle: output)
        func notify(_ isEnabled: Bool) -> ProxyMessage {
            .notify(address: address, handle: output, isEnabled: isEnabled)
        }
        client.send(write, command, notify(true))
        try await client.until { $0 == written }
        try await client.until { $0 == notified }
        client.send(notify(false))
        try await client.until { $0 == notified }
        #expect(await peer.server.notificationCount == 0)
        client.send(write, notify(false))
        #expect(try await client.until { $0 == written }.contains(notified) == false)
        try await client.until { $0 == notified }
        #expect(await peer.server.notificationCount == 0)
        await peer.end()
        client.close()
    }

    @Test func `a link that cannot be ended is told to have ended, and its peripheral is free`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await connected(peer)
        await peer.peripheral.fail(.disconnect, .next(1))
        let request = ProxyMessage.request(.disconnect, address: address, addressType: 1)
        // One ending for all requests.
        client.send(request, request, request)
        let answer = ProxyMessage.connection(address: address, isConnected: false, mtu: 0, error: 0x100)
        try await client.until { $0 == answer }
        await peer.server.untilFree()
        client.send(.request(.connect, address: address, addressType: 1))
        try await client.until { isUp($0) }
        await peer.end()
        client.close()
    }

    @Test func `a client that dies frees what it held, for a living one that was refused`() async throws {
        let peer = try await ProxiedPeer(key: nil, connectionLimit: 1)
        let dying = try await connected(peer)
        let living = try await RawClient(peer.server)
        living.send(.subscribeSlots)
        let full = ProxyMessage.slots(.init(free: 0, limit: 0))
        try await living.until { $0 == full }
        living.send(.request(.connect, address: address, addressType: 1))
        let refusal = ProxyMessage.connection(address: address, isConnected: false, mtu: 0, error: 0)
        try await living.until { $0 == refusal }
        dying.close()
        let free = ProxyMessage.slots(.init(free: 1, limit: 1))
        try await living.until { $0 == free }
        living.send(.request(.connect, address: address, addressType: 1))
        try await living.until { isUp($0) }
        await peer.end()
        living.close()
    }

    @Test func `a client that comes back at once gets its peripheral, whose link is still being ended`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        var events = await peer.server.events().makeAsyncIterator()
        let former = try await connected(peer)
        let next = try await RawClient(peer.server)
        former.close()
        while let event = try await events.next() { if case .clientDisconnected = event { break } }
        let connect = ProxyMessage.request(.connect, address: address, addressType: 1)
        next.send(connect, connect)
        let earlier = try await next.until { isUp($0) }
        #expect(!earlier.contains { isDown($0) })
        await peer.end()
        next.close()
    }

    @Test func `those who wait for a link that is ending get it in the order in which they have asked`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let former = try await connected(peer)
        let (late, early) = (try await RawClient(peer.server), try await RawClient(peer.server))
        let held = await peer.peripheral.hold(.disconnect)
        let connect = ProxyMessage.request(.connect, address: address, addressType: 1)
        let disconnect = ProxyMessage.request(.disconnect, address: address, addressType: 1)
        // Who asks once more keeps its place.
        for (client, request) in [(former, disconnect), (early, connect), (late, connect), (early, connect)] {
            client.send(request, .ping)
            #expect(try await client.until { $0 == .pingAnswer } == [])
        }
        await held.release()
        #expect(try await early.until { isUp($0) } == [])
        #expect(try await late.until { isDown($0) } == [])
        await peer.end()
        for client in [former, late, early] { client.close() }
    }

    @Test func `links that are refused again and again are told once a second for each client`() async throws {
        let peer = try await ProxiedPeer(key: nil, connectionLimit: 0)
        var events = await peer.server.events().makeAsyncIterator()
        let connect = ProxyMessage.request(.connect, address: address, addressType: 1)
        func ask(_ client: RawClient, times: Int = 1) async throws {
            client.send(Array(repeating: connect, count: times) + [.ping])
            try await client.until { $0 == .pingAnswer }
        }
        let greedy = try await RawClient(peer.server)
        try await ask(greedy, times: 300)
        guard case .clientConnected(let first)? = try await events.next() else { Issue.record(); return }
        #expect(try await events.next() == .linkRefused(EchoStrap.id, first, count: 1))
        let modest = try await RawClient(peer.server)
        try await ask(modest)
        guard case .clientConnected(let second)? = try await events.next() else { Issue.record(); return }
        #expect(try await events.next() == .linkRefused(EchoStrap.id, second, count: 1))
        peer.clock.advance(by: .seconds(1))
        #expect(try await events.next() == .linkRefused(EchoStrap.id, first, count: 299))
        try await ask(greedy, times: 2)
        greedy.close()
        // What was not told yet.
        #expect(try await events.next() == .linkRefused(EchoStrap.id, first, count: 2))
        #expect(try await events.next() == .clientDisconnected(first, dropped: 0))
        try await ask(modest)
        #expect(try await events.next() == .linkRefused(EchoStrap.id, second, count: 1))
        await peer.end()
        modest.close()
    }

    @Test func `of two clients that ask, neither takes all links`() async throws {
        let peer = try await ProxiedPeer(key: nil, connectionLimit: 3)
        var addresses: [UInt64] = []
        for number in 1...3 {
            let thing = await peer.radio.add(.battery(name: "Thing \(number)"))
            addresses.append(try #require(DeviceAddress(thing.id)).rawValue)
        }
        let (greedy, modest) = (try await RawClient(peer.server), try await RawClient(peer.server))
        greedy.send(.subscribeSlots)
        // The last one is for another client.
        let alone = ProxyMessage.slots(.init(free: 2, limit: 2))
        try await greedy.until { $0 == alone }
        for (index, address) in addresses.enumerated() {
            greedy.send(.request(.connect, address: address, addressType: 1))
            try await greedy.until {
                if case .connection(address, let isConnected, _, _) = $0 { isConnected == (index < 2) } else { false }
            }
        }
        modest.send(.request(.connect, address: self.address, addressType: 1))
        try await modest.until { isUp($0) }
        await peer.end()
        greedy.close()
        modest.close()
    }

    @Test func `a client that does not read loses the oldest advertisements, but no answer`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let deaf = try await RawClient(peer.server)
        deaf.send(.subscribeAdvertisements(flags: 1))
        try await deaf.until { if case .scannerState = $0 { true } else { false } }
        await deaf.setReading(false)
        await peer.server.flood(count: 30_000)
        let (dropped, waiting, unsent) = await peer.server.advertisementCounts
        #expect(dropped > 0)
        #expect(waiting <= 512)
        #expect(unsent < 128 * 1024)
        deaf.send(.deviceInfoRequest)
        await deaf.setReading(true)
        // The answer is not lost, and neither is the newest advertisement, which waited.
        let isAnswer: @Sendable (ProxyMessage) -> Bool = { if case .deviceInfo = $0 { true } else { false } }
        let earlier = try await deaf.until {
            if case .advertisements(let all) = $0 { all.contains { $0.address == 29_999 } } else { false }
        }
        if !earlier.contains(where: isAnswer) { try await deaf.until(isAnswer) }
        await peer.end()
        deaf.close()
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
        let central = try await Central(backend: backend, configuration: .quiet())
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
    fileprivate var notificationCount: Int { clients.values.reduce(0) { $0 + $1.notifications.count } }

    /// Gives the clients advertisements of numbered addresses, faster than they can be sent.
    fileprivate func flood(count: Int) {
        for number in 0..<count {
            let advertisement = RawAdvertisement(
                address: UInt64(number), rssi: -50, addressType: 1, data: [UInt8](repeating: 0xFF, count: 31))
            for (id, client) in clients where client.isScanning { enqueue(advertisement, id, client) }
        }
    }

    /// The dropped and the waiting advertisements, and the unsent bytes, of all clients.
    fileprivate var advertisementCounts: (dropped: Int, waiting: Int, unsent: Int) {
        clients.values.reduce((0, 0, 0)) {
            (
                $0.0 + $1.advertisements.droppedCount, $0.1 + $1.advertisements.count,
                $0.2 + $1.socket.unsentCount
            )
        }
    }

    func untilFree() async { while !slots.isEmpty { await Task.yield() } }
}
