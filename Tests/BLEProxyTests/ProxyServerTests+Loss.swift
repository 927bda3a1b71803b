import BLE
import BLETestSupport
import BLETesting
import Loop
import Testing

@testable import BLEESPHome
@testable import BLEProxy

/// A central whose proxy is lost, and comes back.
extension ProxyServerTests {
    @Test func `a proxy that is lost is named, with a remedy, and so is one that is not reached`() async throws {
        let peer = try await ProxiedPeer()
        // The next attempt to connect, which has a remedy of its own, is on a clock that stands still.
        let central = try await peer.makeCentral(.quiet(clock: ManualClock()))
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        #expect(await central.obstacle == nil)
        await peer.server.close()
        #expect(try await states.next() == .resetting)
        let obstacle = await central.obstacle
        #expect(obstacle?.code == .bluetoothLost)
        #expect(obstacle?.message == "the proxy attic closed the connection")
        #expect(obstacle?.remedy?.hasPrefix("Check that it is switched on") == true)
        await central.shutDown()
        let refusal = await error { _ = try await peer.makeCentral(.quiet()) }
        #expect(refusal?.code == .bluetoothUnavailable)
        #expect(refusal?.message.hasPrefix("the proxy attic ") == true)
        await peer.end()
    }

    /// A central over connections to the server that is current, alone or as one of several radios.
    private func central(
        over server: SharedValue<ProxyServer>, _ key: EncryptionKey?, isOneOfSeveral: Bool, _ clock: ManualClock
    ) async throws -> Central {
        let connector: @Sendable (EventLoop) async throws(LoopError) -> FileDescriptor = { (_) throws(LoopError) in
            let (here, there) = try StreamSocket.pair()
            await server.value.accept(there)
            return here
        }
        guard isOneOfSeveral else {
            let backend = ESPHomeCentral(name: "attic", key: key, connector: connector)
            return try await Central(backend: backend, configuration: .quiet(clock: clock))
        }
        let radio = Radio.esphome(name: "attic", key: key, connector: connector)
        return try await Central(severalRadios: [radio], configuration: .quiet(clock: clock))
    }

    @Test(arguments: [false, true])
    func `a proxy that comes back with another key is told so`(_ isOneOfSeveral: Bool) async throws {
        let (peer, other, clock) = (try await ProxiedPeer(), try await ProxiedPeer(), ManualClock())
        let server = SharedValue(peer.server)
        let central = try await central(over: server, peer.key, isOneOfSeveral: isOneOfSeveral, clock)
        var obstacles = await central.adapterObstacles().makeAsyncIterator()
        let none = try await obstacles.next()
        #expect(none.flatMap { $0 } == nil)
        let waits = SharedValue<[String]>([])
        let scan = Task {
            for try await event in central.discoveryEvents(staleAfter: nil) {
                if case .waiting(let reason) = event { waits.change { $0.append(reason.message) } }
            }
        }
        await until { await central.isScanning }
        server.change { $0 = other.server }
        await peer.server.close()
        let lost = try await obstacles.next()
        #expect(lost??.message == "the proxy attic closed the connection")
        await clock.sleepers(for: .milliseconds(500))
        clock.advance(by: .milliseconds(500))
        let refused = try await obstacles.next()
        #expect(refused??.message == "the proxy attic has another key")
        let reason = await central.obstacle
        #expect(reason?.code == .bluetoothLost && (reason?.cause as? BLEError)?.code == .unauthorized)
        #expect(await central.adapterState == .resetting)
        // A scan that goes on is told both reasons, although their code is the same.
        let both = ["the proxy attic closed the connection", "the proxy attic has another key"]
        try await waits.until { $0 == both }
        scan.cancel()
        await central.shutDown()
        for ended in [peer, other] { await ended.end() }
    }

    @Test func `a proxy that has stayed for 30 s is tried again after the shortest pause`() async throws {
        let peer = try await ProxiedPeer()
        let (other, clock) = (try await ProxiedPeer(key: peer.key), ManualClock())
        let server = SharedValue(peer.server)
        let central = try await central(over: server, peer.key, isOneOfSeveral: false, clock)
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        server.change { $0 = other.server }
        await peer.server.close()
        #expect(try await states.next() == .resetting)
        await clock.sleepers(for: .milliseconds(500))
        clock.advance(by: .milliseconds(500))
        #expect(try await states.next() == .poweredOn)
        clock.advance(by: .seconds(30))
        await other.server.close()
        #expect(try await states.next() == .resetting)
        // It would be 1 s after a shorter time.
        await clock.sleepers(for: .milliseconds(500))
        await central.shutDown()
        for ended in [peer, other] { await ended.end() }
    }

    @Test func `the pauses before a proxy that ends each connection soon grow`() async throws {
        let peer = try await ProxiedPeer()
        let (other, clock) = (try await ProxiedPeer(key: peer.key), ManualClock())
        let server = SharedValue(peer.server)
        let central = try await central(over: server, peer.key, isOneOfSeveral: false, clock)
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        server.change { $0 = other.server }
        await peer.server.close()
        #expect(try await states.next() == .resetting)
        await clock.sleepers(for: .milliseconds(500))
        clock.advance(by: .milliseconds(500))
        #expect(try await states.next() == .poweredOn)
        await other.server.close()
        #expect(try await states.next() == .resetting)
        await clock.sleepers(for: .seconds(1))
        clock.advance(by: .milliseconds(500))
        #expect(await central.adapterState == .resetting)
        await central.shutDown()
        for ended in [peer, other] { await ended.end() }
    }
}
