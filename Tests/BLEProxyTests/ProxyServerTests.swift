import BLE
import BLEBackendTesting
import BLEProfiles
import BLETestSupport
import BLETesting
import Logging
import Loop
import Testing
import Waiting

@testable import BLEESPHome
@testable import BLEProxy

/// What goes wrong between a proxy and its clients.
@Suite(.hangLimit)
struct ProxyServerTests {
    func error(_ work: () async throws -> Void) async -> BLEError? {
        do { try await work() } catch { return error as? BLEError }
        return nil
    }

    @Test(arguments: [true, false]) func `a client and a proxy agree on encryption, or say why not`(
        _ isEncrypted: Bool
    ) async throws {
        let peer = try await ProxiedPeer(key: isEncrypted ? .random() : nil)
        let central = try await peer.makeCentral(.quiet())
        #expect(try await central.adapters().map(\.address) == ["AA:BB:CC:DD:EE:FF"])
        await central.shutDown()
        var events = await peer.server.events().makeAsyncIterator()
        let wrong: EncryptionKey? = isEncrypted ? nil : .random()
        let refusal = await error { _ = try await Central(backend: peer.backend(key: wrong), configuration: .quiet()) }
        #expect(refusal?.code == .unauthorized)
        #expect(refusal?.isRetryable == false)
        #expect(refusal?.message == "the proxy attic \(isEncrypted ? "requires encryption" : "does not encrypt")")
        let reason = isEncrypted ? "the client does not encrypt" : "the client requires encryption"
        while let event = try await events.next() {
            if case .clientRefused = event {
                #expect(event == .clientRefused(reason: reason, count: 1))
                break
            }
        }
        await peer.end()
    }

    @Test func `a proxy is reached over TCP, and unavailable if nothing listens`() async throws {
        let peer = try await ProxiedPeer()
        let (ports, port) = AsyncStream.makeStream(of: UInt16.self, bufferingPolicy: .bufferingOldest(1))
        let serving = Task {
            defer { port.finish() }
            try await peer.server.run(port: 0) { port.yield($0) }
        }
        var listening = ports.makeAsyncIterator()
        let number = try #require(await listening.next())
        // The name may have an address of IPv6, too, at which nothing listens.
        let central = try await Central(
            backend: .esphome("localhost", port: number, key: peer.key), configuration: .quiet())
        #expect(try await central.read(.batteryLevel) == 87)
        await central.shutDown()
        serving.cancel()
        try await serving.value
        let refusal = await error {
            _ = try await Central(
                backend: .esphome("127.0.0.1", port: number, key: peer.key), configuration: .quiet())
        }
        #expect(refusal?.code == .bluetoothUnavailable)
        #expect(refusal?.isRetryable == true)
        await peer.end()
    }

    @Test func `a wrong key is told`() async throws {
        let peer = try await ProxiedPeer()
        let refusal = await error {
            _ = try await Central(backend: peer.backend(key: .random()), configuration: .quiet())
        }
        #expect(refusal?.code == .unauthorized)
        #expect(refusal?.message == "the proxy attic has another key")
        await peer.end()
    }

    @Test func `a proxy that closes at once is unavailable`() async throws {
        let backend = ESPHomeCentral(name: "attic", key: .random()) { (_) throws(LoopError) in
            try StreamSocket.pair().0
        }
        let refusal = await error { _ = try await Central(backend: backend, configuration: .quiet()) }
        #expect(refusal?.code == .bluetoothUnavailable)
    }

    @Test func `a proxy without a free connection is busy`() async throws {
        let peer = try await ProxiedPeer(connectionLimit: 0)
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.first(matching: .service(.heartRate)).peripheral
        #expect(await error { try await strap.connect(timeout: .seconds(600)) }?.code == .busy)
        await central.shutDown()
        await peer.end()
    }

    @Test func `a peripheral is paired and unpaired by the proxy, which does not report bonds`() async throws {
        let peer = try await ProxiedPeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.first(matching: .service(.heartRate)).peripheral
        try await strap.pair()
        let inside = peer.inner.peripheral(EchoStrap.id)
        #expect(try await inside.isPaired)
        #expect(try await strap.read(EchoStrap.secret) == Array("secret".utf8))
        #expect(await error { _ = try await strap.isPaired }?.code == .notSupported)
        #expect(await error { try await strap.pair() }?.code == .pairingFailed)
        try await strap.unpair()
        #expect(try await !inside.isPaired)
        await central.shutDown()
        await peer.end()
    }

    @Test func `two clients scan at once, and a peripheral belongs to one of them`() async throws {
        let peer = try await ProxiedPeer()
        let (one, other) = (try await peer.makeCentral(.quiet()), try await peer.makeCentral(.quiet()))
        let strap = try await one.first(matching: .service(.heartRate)).peripheral
        try await strap.connect()
        #expect(try await Battery(strap).level() == 87)
        let same = try await other.first(matching: .service(.heartRate)).peripheral
        #expect(await error { try await same.connect() } != nil)
        // The client that leaves frees what it held.
        await one.shutDown()
        await peer.until(connections: 0)
        try await same.connect()
        #expect(try await Battery(same).level() == 87)
        await other.shutDown()
        await peer.end()
    }

    @Test func `what clients do is told, and a client that leaves is told to all who ask`() async throws {
        let peer = try await ProxiedPeer()
        var events = await peer.server.events().makeAsyncIterator()
        let central = try await peer.makeCentral(.quiet())
        guard case .clientConnected(let client)? = try await events.next() else { Issue.record(); return }
        #expect(!client.name.isEmpty)
        let refusal = await error {
            _ = try await Central(backend: peer.backend(key: .random()), configuration: .quiet())
        }
        #expect(refusal?.code == .unauthorized)
        #expect(try await events.next() == .clientRefused(reason: "the key is wrong", count: 1))
        let strap = try await central.first(matching: .service(.heartRate)).peripheral
        try await strap.connect()
        #expect(try await events.next() == .linkConnected(EchoStrap.id, client))
        await central.shutDown()
        var last: Set<ProxyEvent> = []
        for _ in 0..<2 { if let event = try await events.next() { last.insert(event) } }
        #expect(last.contains(.linkDisconnected(EchoStrap.id, client)))
        // The client may have ended its link before it left.
        #expect(last.contains(.clientDisconnected(client, dropped: 0)))
        await peer.end()
        #expect(try await events.next() == nil)
    }

    @Test func `connections that never greet do not keep out a client`() async throws {
        let peer = try await ProxiedPeer()
        var silent: [FileDescriptor] = []
        for _ in 0..<40 {
            let (here, there) = try StreamSocket.pair()
            await peer.server.accept(there)
            silent.append(here)
        }
        #expect(await peer.server.clientCount == 4)
        let central = try await peer.makeCentral(.quiet())
        #expect(try await central.adapters().count == 1)
        #expect(await peer.server.clientCount == 4)
        await central.shutDown()
        await peer.end()
        withExtendedLifetime(silent) {}
    }

    @Test func `connections that keep coming, from many hosts, do not keep out a client that greets`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await RawClient(peer.server, from: [1])
        var silent: [FileDescriptor] = []
        for number in 0..<200 {
            let (here, there) = try StreamSocket.pair()
            await peer.server.accept(there, from: [2 + UInt8(number % 8)])
            silent.append(here)
        }
        #expect(await peer.server.clientCount == 16)
        try await client.greet()
        await peer.end()
        client.close()
        withExtendedLifetime(silent) {}
    }

    @Test func `a client that does not greet is removed after 10 s, and refusals are told once a second`() async throws
    {
        let peer = try await ProxiedPeer(key: nil)
        var events = await peer.server.events().makeAsyncIterator()
        let late = try await [RawClient(peer.server, from: [1]), RawClient(peer.server, from: [2])]
        peer.clock.advance(by: .milliseconds(9999))
        #expect(await peer.server.clientCount == 2)
        peer.clock.advance(by: .milliseconds(1))
        #expect(await peer.server.clientCount == 0)
        let reason = "it did not greet within 10 s"
        #expect(try await events.next() == .clientRefused(reason: reason, count: 1))
        peer.clock.advance(by: .seconds(1))
        #expect(try await events.next() == .clientRefused(reason: reason, count: 1))
        await peer.server.refuse("it came last")
        await peer.end()
        // What was not told yet.
        #expect(try await events.next() == .clientRefused(reason: "it came last", count: 1))
        #expect(try await events.next() == nil)
        for client in late { client.close() }
    }

    @Test func `a client is pinged 60 s after its last byte, and removed after 150 s`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        let client = try await RawClient(peer.server)
        peer.clock.advance(by: .seconds(30))
        client.send(.ping)
        try await client.until { $0 == .pingAnswer }
        peer.clock.advance(by: .milliseconds(59_999))
        #expect(await peer.server.pings == [.zero])
        peer.clock.advance(by: .milliseconds(1))
        try await client.until { $0 == .ping }
        #expect(await peer.server.pings == [.seconds(90)])
        peer.clock.advance(by: .milliseconds(89_999))
        #expect(await peer.server.clientCount == 1)
        peer.clock.advance(by: .milliseconds(1))
        #expect(await peer.server.clientCount == 0)
        await peer.end()
        client.close()
    }

    @Test func `a name is cut, whatever its characters are made of`() async throws {
        let peer = try await ProxiedPeer(key: nil)
        var events = await peer.server.events().makeAsyncIterator()
        let client = try await RawClient(peer.server, from: [1])
        try await client.greet(as: "e" + String(repeating: "\u{301}", count: 1000))
        guard case .clientConnected(let named)? = try await events.next() else { Issue.record(); return }
        #expect(named.name.unicodeScalars.count == 64)
        await peer.end()
        client.close()
    }

    @Test func `a proxy listens once, until it is closed`() async throws {
        let peer = try await ProxiedPeer()
        let (ports, port) = AsyncStream.makeStream(of: UInt16.self, bufferingPolicy: .bufferingOldest(1))
        let serving = Task {
            defer { port.finish() }
            try await peer.server.run(port: 0) { port.yield($0) }
        }
        var listening = ports.makeAsyncIterator()
        _ = try #require(await listening.next())
        #expect(await error { try await peer.server.run(port: 0) }?.message == "the proxy listens already")
        await peer.server.close()
        try await serving.value
        #expect(await error { try await peer.server.run(port: 0) }?.message == "the proxy was closed")
        await peer.end()
    }

    @Test(
        arguments: [
            (.inUse, .busy, "another port"), (.exhausted, .failed, "ulimit -n"),
            (.refused("Permission denied"), .failed, "from 1024 on"),
        ] as [(LoopError, BLEError.Code, String)])
    func `a proxy that cannot listen says what to do`(_ error: LoopError, _ code: BLEError.Code, _ remedy: String) {
        let refusal = BLEError(error, listeningAt: "127.0.0.1", port: 6053)
        #expect(refusal.code == code)
        #expect(refusal.message == "the proxy cannot listen at 127.0.0.1, port 6053: \(error)")
        #expect(refusal.remedy?.contains(remedy) == true)
    }

    @Test func `a port that another program listens at is busy`() async throws {
        let (peer, other) = (try await ProxiedPeer(), try await ProxiedPeer())
        let (ports, port) = AsyncStream.makeStream(of: UInt16.self, bufferingPolicy: .bufferingOldest(1))
        let serving = Task {
            defer { port.finish() }
            try await peer.server.run(port: 0) { port.yield($0) }
        }
        var listening = ports.makeAsyncIterator()
        let number = try #require(await listening.next())
        let refusal = await error { try await other.server.run(port: number) }
        #expect(refusal?.code == .busy)
        #expect(
            refusal?.message == "the proxy cannot listen at 127.0.0.1, port \(number): another program uses it")
        #expect(refusal?.remedy?.contains("another port") == true)
        // An address of no interface of this machine.
        #expect(await error { try await other.server.run(host: "192.0.2.1", port: 0) }?.code == .failed)
        serving.cancel()
        try await serving.value
        for ended in [peer, other] { await ended.end() }
    }

    @Test func `a maintained link and a scan outlast a restart of the proxy`() async throws {
        let peer = try await ProxiedPeer()
        let central = try await peer.makeCentral(.init(connectionPolicy: .maintained()))
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        let strap = try await central.first(matching: .service(.heartRate)).peripheral
        var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
        await peer.until(subscribers: 1)
        await peer.notify([1])
        #expect(try await values.next() == [1])
        let events = await strap.connectionEvents()
        await peer.server.dropClients()
        #expect(try await states.next() == .resetting)
        #expect(try await states.next() == .poweredOn)
        var hasEnded = false
        for try await event in events {
            if case .disconnected = event { hasEnded = true }
            // The subscriptions are restored then.
            if case .connected = event, hasEnded { break }
        }
        await peer.notify([2])
        #expect(try await values.next() == [2])
        await central.shutDown()
        await peer.end()
    }
}

extension ProxyServer {
    fileprivate var clientCount: Int { clients.count }

    /// When each client was pinged.
    fileprivate var pings: [Duration] { clients.values.map(\.lastPing) }

    /// Ends the connections, as a proxy that restarts does.
    fileprivate func dropClients() { for id in clients.keys { remove(id) } }
}
