import BLE
import BLEBlueZ
import BLEProfiles
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// Tests that need a bus of their own: its loss and its return.
@Suite(.startsProcesses, .hangLimit)
struct RecoveryTests {
    private static let backoff = Backoff(initial: .milliseconds(20), factor: 2, maximum: .milliseconds(200))

    @Test func `scans, links and streams outlast the loss of the bus`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.setConnectionPolicy(.maintained(backoff: Self.backoff))
        var events = try await strap.notifications(EchoStrap.output).events.makeAsyncIterator()
        var states = await central.adapterStates().makeAsyncIterator()
        peer.bus.stop()
        guard case .gap(let error) = try await events.next() else { return #expect(Bool(false), "a gap was expected") }
        #expect(error.code == .bluetoothLost)
        #expect(try await states.next() == .poweredOn)
        #expect(try await states.next() == .resetting)
        // A scan that begins meanwhile discovers after the recovery, and a call waits.
        let scan = Task { try await central.find() }
        let reading = Task { try await strap.read(.batteryLevel) }
        await peer.daemon.kill()
        try await peer.bus.restart()
        try await peer.daemon.start()
        #expect(try await reading.value == 87)
        await peer.until(subscribers: 1)
        await peer.notify([4])
        repeat {
            guard case .value(let value) = try await events.next() else { continue }
            #expect(value == [4])
            break
        } while true
        // It does not advertise while it has a link.
        try await strap.disconnect()
        #expect(try await scan.value == strap)
        await central.shutDown()
    }

    @Test func `a bus that comes back before bluetoothd is waited on`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        var states = await central.adapterStates().makeAsyncIterator()
        peer.bus.stop()
        await peer.daemon.kill()
        #expect(try await states.next() == .poweredOn)
        #expect(try await states.next() == .resetting)
        try await peer.bus.restart()
        for _ in 0..<1000 { await Task.yield() }
        #expect(await central.adapterState == .resetting)
        try await peer.daemon.start()
        #expect(try await states.next() == .poweredOn)
        _ = try await central.find()
        await central.shutDown()
    }

    @Test func `an adapter that is plugged in elsewhere takes the place of one that is gone`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        var states = await central.adapterStates().makeAsyncIterator()
        await peer.daemon.setPresent(false)
        #expect(try await states.next() == .poweredOn)
        #expect(try await states.next() == .unavailable)
        #expect(try await central.adapters().isEmpty)
        await peer.daemon.setPresent(true)
        #expect(try await states.next() == .poweredOn)
        _ = try await central.find()
        await central.shutDown()
    }

    /// With a daemon that reports the reason.
    @Test(arguments: [("Timeout", DisconnectReason.timeout), ("Remote", .remote), ("Unheard", .unknown)])
    func `the daemon's reason is the link's`(_ name: String, _ reason: DisconnectReason) async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        var values = try await strap.notifications(EchoStrap.output).makeAsyncIterator()
        await peer.daemon.sayReason("org.bluez.Reason.\(name)", "so it is")
        await peer.loseLink()
        let error = await #expect(throws: BLEError.self) { try await values.next() }
        #expect(error?.disconnectReason == reason)
        #expect(error?.message.contains("so it is") == true)
        await central.shutDown()
    }
}
