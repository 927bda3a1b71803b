import BLE
import BLEDefinitions
import BLETestSupport
import BLETesting
import Testing

@testable import BLEProxy

/// A Matter server that goes, that does not answer, or that is another one.
@Suite(.hangLimit)
struct MatterProxyHealingTests {
    private func isDisconnected(_ world: MatterWorld) async -> Bool {
        await world.central.peripheral(world.devices[0].address).connectionState == .disconnected
    }

    /// Lets the pause pass after which the server is dialed again.
    private func pause(_ pause: Duration, _ world: MatterWorld) async {
        await world.clock.sleepers(for: pause)
        world.clock.advance(by: pause)
    }

    @Test func `a server that dies loses its links and its scan, and is dialed again`() async throws {
        let world = try await MatterWorld()
        var events = world.events.makeAsyncIterator()
        let device = world.devices[0].address
        for number in 1...3 {
            let server = try await world.server(number)
            #expect(try await events.next() == .serverConnected)
            // A new connection knows no devices, and begins to count the links again.
            let early = try await server.command("connect", ["address": .string(device.rawValue)])
            #expect(early == ["error": "device_not_found"])
            #expect(try await world.connect(server) == 1)
            #expect(try await events.next() == .linkConnected(device))
            _ = try await server.command("start_scan")
            server.begin("read_characteristic", ["connection_handle": 1, "characteristic_uuid": "fff6"])
            server.close()
            #expect(try await events.next() == .linkDisconnected(device))
            // No connection has lasted: the pauses grow.
            let next: Duration = [.milliseconds(500), .seconds(1), .seconds(2)][number - 1]
            #expect(
                try await events.next() == .serverLost(reason: "it closed the connection", retryAfter: next))
            #expect(await isDisconnected(world))
            await until { await !world.central.isScanning }
            await pause(next, world)
        }
        _ = try await world.server(4)
        #expect(try await events.next() == .serverConnected)
        try await world.end()
        #expect(try await events.next() == .serverLost(reason: "the proxy ends", retryAfter: nil))
        #expect(try await events.next() == nil)
    }

    @Test func `a server that is away is told once, and dialed with growing pauses until it is there`() async throws {
        let world = try await MatterWorld(Array(repeating: nil, count: 8) + [RawMatterServer.Behavior()])
        var events = world.events.makeAsyncIterator()
        for seconds in [0.5, 1, 2, 4, 8, 16, 30, 30] { await pause(.seconds(seconds), world) }
        let server = try await world.server()
        // Not lost: it was never reached.
        #expect(
            try await events.next() == .serverNotReached(reason: "nothing listens", retryAfter: .milliseconds(500)))
        #expect(try await events.next() == .serverConnected)
        // A connection that has lasted makes the pauses short again.
        await world.clock.sleepers(for: .seconds(30))
        world.clock.advance(by: .seconds(30))
        try await server.until { $0.pings == 1 }
        server.close()
        #expect(
            try await events.next()
                == .serverLost(reason: "it closed the connection", retryAfter: .milliseconds(500)))
        await pause(.milliseconds(500), world)
        _ = try await world.server(2)
        try await world.end()
    }

    @Test func `a server with another version ends the proxy with an error that says so`() async throws {
        var behavior = RawMatterServer.Behavior()
        behavior.greeting = .object([
            "type": "hello_response", "version": 2, "error": "unsupported_version", "message": "no",
        ])
        let world = try await MatterWorld([behavior])
        var events = world.events.makeAsyncIterator()
        guard case .failure(let error) = await world.result() else { Issue.record(); return }
        #expect(error.code == .notSupported)
        #expect(!error.isRetryable)
        #expect(error.message == "the Matter server speaks version 2 of the protocol, and this proxy 1")
        await #expect(throws: BLEError.self) { while try await events.next() != nil {} }
        await world.central.shutDown()
    }

    @Test func `beside clients, a server with another version is told, and dialed again every 30 s`() async throws {
        var other = RawMatterServer.Behavior()
        other.greeting = .object(["type": "hello_response", "version": 2, "error": "unsupported_version"])
        let world = try await MatterWorld([other, other, RawMatterServer.Behavior()]) { central in
            ProxyServer(central, .init(name: "attic", address: "AA:BB:CC:DD:EE:FF", key: nil, connectionLimit: 2))
        }
        var events = world.events.makeAsyncIterator()
        let reason = "the Matter server speaks version 2 of the protocol, and this proxy 1"
        #expect(try await events.next() == .serverNotReached(reason: reason, retryAfter: .seconds(30)))
        for _ in 1...2 { await pause(.seconds(30), world) }
        _ = try await world.server(3)
        #expect(try await events.next() == .serverConnected)
        try await world.end()
    }

    @Test(
        arguments: [
            (
                "HTTP/1.1 404 Not Found\r\n\r\n",
                "it has no such path (HTTP status 404): is it started with --ble-proxy?"
            ),
            ("SSH-2.0-OpenSSH_9.2\r\n\r\n", "it is not a WebSocket server: its answer is not HTTP"),
        ])
    func `a server of another kind is told, and tried again`(_ answer: String, _ reason: String) async throws {
        let world = try await MatterWorld([RawMatterServer.Behavior(answer: answer), RawMatterServer.Behavior()])
        var events = world.events.makeAsyncIterator()
        #expect(try await events.next() == .serverNotReached(reason: reason, retryAfter: .milliseconds(500)))
        await pause(.milliseconds(500), world)
        _ = try await world.server(2)
        try await world.end()
    }

    @Test(arguments: [false, true]) func `a server that does not greet within 10 s is given up`(
        _ opens: Bool
    ) async throws {
        var silent = RawMatterServer.Behavior(answer: opens ? nil : "")
        silent.greeting = nil
        let world = try await MatterWorld([silent, RawMatterServer.Behavior()])
        var events = world.events.makeAsyncIterator()
        try await world.servers.until { $0.count == 1 }
        // The proxy has connected, and waits for what follows.
        try await world.servers.value[0].until { $0.request != nil }
        await world.clock.sleepers(for: .seconds(10))
        world.clock.advance(by: .seconds(10))
        let reason = "it did not greet within 10.0 seconds"
        #expect(try await events.next() == .serverNotReached(reason: reason, retryAfter: .milliseconds(500)))
        await pause(.milliseconds(500), world)
        _ = try await world.server(2)
        #expect(try await events.next() == .serverConnected)
        try await world.end()
    }

    @Test func `a silent server is pinged after 30 s, and given up after 60 s`() async throws {
        var mute = RawMatterServer.Behavior()
        mute.answersPings = false
        let world = try await MatterWorld([mute, RawMatterServer.Behavior()])
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        #expect(try await events.next() == .serverConnected)
        for count in 1...2 {
            await world.clock.sleepers(for: .seconds(30))
            world.clock.advance(by: .seconds(30))
            if count == 1 { try await server.until { $0.pings == 1 } }
        }
        let reason = "it was silent for 60.0 seconds"
        #expect(try await events.next() == .serverLost(reason: reason, retryAfter: .milliseconds(500)))
        #expect(server.state.value.pings == 1)
        await pause(.milliseconds(500), world)
        // One that answers pings stays.
        let second = try await world.server(2)
        #expect(try await events.next() == .serverConnected)
        for count in 1...4 {
            await world.clock.sleepers(for: .seconds(30))
            world.clock.advance(by: .seconds(30))
            try await second.until { $0.pings == count }
            // Answered in order: the pong has arrived.
            #expect(try await second.command("stop_scan") == ["error": "not_scanning"])
        }
        try await world.end()
    }

    @Test(
        arguments: [
            ([0x81, 4] + Array("true".utf8), "it violates the protocol: a message is not a JSON object"),
            ([0x81, 2, 0xFF, 0xFF], "it violates the protocol: a message is not a JSON object"),
            ([0x82, 1, 1], "it violates the protocol: a binary message has no header"),
            ([0x81, 0x80, 0, 0, 0, 0], "it violates the WebSocket protocol: a frame of a server is masked"),
            ([0x82, 127, 0, 0, 0, 1, 0, 0, 0, 0], "it sends a message of more than 65536 bytes"),
            ([0x88, 5, 0x0F, 0xA3] + Array("b\u{7}e".utf8), "it closed the connection (4003, b\u{FFFD}e)"),
        ] as [([UInt8], String)])
    func `a message that is not allowed ends the connection and its links`(
        _ bytes: [UInt8], _ reason: String
    ) async throws {
        let world = try await MatterWorld()
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        _ = try await world.connect(server)
        server.sendBytes(bytes)
        for expected: MatterProxyEvent in [
            .serverConnected, .linkConnected(world.devices[0].address), .linkDisconnected(world.devices[0].address),
            .serverLost(reason: reason, retryAfter: .milliseconds(500)),
        ] { #expect(try await events.next() == expected) }
        #expect(await isDisconnected(world))
        await pause(.milliseconds(500), world)
        _ = try await world.server(2)
        try await world.end()
    }

    @Test func `the end of the proxy ends its links, and it runs once at a time`() async throws {
        let world = try await MatterWorld()
        let server = try await world.server()
        _ = try await world.connect(server)
        await expectError(.failed) { try await world.proxy.run() }
        let peripheral = world.central.peripheral(world.devices[0].address)
        #expect(await peripheral.connectionState == .connected)
        try await world.end()
        try await server.until { $0.hasEnded }
        #expect(server.state.value.closes == [1000])
    }

    @Test func `a timer of an earlier connection that has fired tells nothing of the refusals of the next one`()
        async throws
    {
        let world = try await MatterWorld()
        var events = world.events.makeAsyncIterator()
        _ = try await world.server()
        #expect(try await events.next() == .serverConnected)
        let device = world.devices[0].address
        await world.proxy.refuseAround(device, world.clock)
        for _ in 0..<2 { #expect(try await events.next() == .linkRefused(device, count: 1)) }
        // In a later turn than what the timer does.
        await world.proxy.refuseLink(device)
        world.clock.advance(by: .seconds(1))
        #expect(try await events.next() == .linkRefused(device, count: 2))
        try await world.end()
    }

    @Test func `a server that does not read loses its connection`() async throws {
        let world = try await MatterWorld()
        var events = world.events.makeAsyncIterator()
        let server = try await world.server()
        #expect(try await events.next() == .serverConnected)
        await server.setReading(false)
        // Each is answered with as many bytes.
        let pings = Array(
            Array(repeating: RawMatterServer.encode(9, [UInt8](repeating: 0, count: 125)), count: 1000).joined())
        for _ in 0..<20 { server.sendBytes(pings) }
        let reason = "it does not read what it is sent"
        #expect(try await events.next() == .serverLost(reason: reason, retryAfter: .milliseconds(500)))
        try await world.end()
    }
}

extension MatterProxy {
    /// Refuses a link of one connection and two of the next one, while the timer of the first fires.
    fileprivate func refuseAround(_ device: Peripheral.ID, _ clock: ManualClock) {
        refuseLink(device)
        clock.advance(by: .seconds(1))
        endRefusals()
        for _ in 0..<2 { refuseLink(device) }
    }
}
