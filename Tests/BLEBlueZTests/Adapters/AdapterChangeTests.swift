import BLE
import BLEBlueZ
import BLESimulation
import BLETestSupport
import BLEBackendTesting
import BLEFakeBlueZ
import BlueZTestSupport
import Testing

/// More than one adapter, and scans while adapters change.
@Suite(.startsProcesses, .hangLimit)
struct AdapterChangeTests {
    private let world: BlueZWorld
    private let central: Central

    init() async throws {
        world = try await BlueZWorld()
        _ = await world.radio.add(.battery())
        central = try await world.makeCentral()
    }

    @Test func `an adapter that replaces another is reported, and scans continue on it`() async throws {
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        let scan = Task { [central] in for try await _ in central.discoveries() {} }
        await until { await world.daemon.isDiscovering }
        await world.daemon.addAdapter("hci1")
        await world.daemon.setPresent(false)
        // Both are on; no operation of the first continues on the second.
        #expect(try await states.next() == .unavailable)
        #expect(try await states.next() == .poweredOn)
        await until { await world.daemon.calls["hci1 StartDiscovery"] == 1 }
        scan.cancel()
        await central.shutDown()
    }

    @Test func `after a restart of bluetoothd the adapter of before is waited for`() async throws {
        await central.shutDown()
        // The time of the wait does not pass.
        let central = try await world.makeCentral(.quiet(clock: ShortSleepsClock()))
        await world.daemon.addAdapter("hci1")
        let scan = Task { for try await _ in central.discoveries() {} }
        await until { await world.daemon.isDiscovering }
        var states = await central.adapterStates().makeAsyncIterator()
        #expect(try await states.next() == .poweredOn)
        let before = await world.daemon.calls["GetManagedObjects", default: 0]
        await world.daemon.kill()
        await world.daemon.setPresent(false)
        try await world.daemon.start()
        // The daemon shows one after the other.
        await until { await world.daemon.calls["GetManagedObjects", default: 0] > before }
        await world.daemon.setPresent(true)
        await until { await world.daemon.isDiscovering }
        #expect(await world.daemon.calls["hci1 StartDiscovery"] == nil)
        // The signals so far do not show the final state.
        #expect(try await states.next() == .resetting)
        #expect(try await states.next() == .poweredOn)
        scan.cancel()
        await central.shutDown()
    }

    @Test func `the late answer to a scan that is void starts nothing`() async throws {
        await world.daemon.hang("after StartDiscovery")
        let found = Task { [central] in
            for try await discovery in central.discoveries() { return discovery.peripheral.id }
            throw BLEError.cancelled
        }
        await world.daemon.untilHung()
        var states = await central.adapterStates().makeAsyncIterator()
        await world.daemon.setPowered(false)
        while try await states.next() != .poweredOff {}
        await world.daemon.setPowered(true)
        while try await states.next() != .poweredOn {}
        await world.daemon.release()
        // The present scan is another one, and discovers.
        _ = try await found.value
        await central.shutDown()
    }

    @Test func `a scan whose start is not waited for leaves no session`() async throws {
        let backend = BlueZCentral.bluez(bus: world.bus.address)
        let other = try await Central(backend: backend, configuration: .quiet())
        await world.daemon.hang("after StartDiscovery")
        let starting = Task { try await backend.startDiscovery(DiscoveryFilter()) }
        await world.daemon.untilHung()
        starting.cancel()
        await #expect(throws: BLEError.self) { try await starting.value }
        await world.daemon.release()
        await until { await !world.daemon.isDiscovering }
        await other.shutDown()
    }

    @Test func `what a renewed subscription brings before it is asked for is delivered`() async throws {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.setConnectionPolicy(
            .maintained(backoff: Backoff(initial: .milliseconds(10), factor: 2, maximum: .seconds(1))))
        var events = try await strap.notifications(EchoStrap.output).events.makeAsyncIterator()
        var story = await strap.connectionEvents().makeAsyncIterator()
        await peer.daemon.setPowered(false)
        // The subscription survives a failed attempt to connect.
        while let event = try await story.next() { if case .connectFailed = event { break } }
        await peer.daemon.hang("StartNotify")
        await peer.daemon.setPowered(true)
        await peer.daemon.untilHung()
        await peer.until(subscribers: 1)
        await peer.notify([2])
        await peer.daemon.release()
        while let event = try await events.next() {
            guard case .value(let value) = event else { continue }
            #expect(value == [2])
            break
        }
        await central.shutDown()
    }

    @Test func `a peripheral without services connects, and has none`() async throws {
        let bare = await world.radio.add(PeripheralDefinition(advertisement: Advertisement(rssi: -40), services: []))
        let peripheral = try await central.find(bare.id)
        try await peripheral.connect()
        #expect(try await peripheral.services().services.isEmpty)
        await expectError(.characteristicNotFound) {
            _ = try await peripheral.read(Characteristic<UInt8>(BluetoothUUID(0x2A19)))
        }
        await central.shutDown()
    }
}

/// The continuous clock, on which sleeps of 2 s and more last until they are cancelled.
private struct ShortSleepsClock: Clock {
    private let clock = ContinuousClock()

    var now: ContinuousClock.Instant { clock.now }
    var minimumResolution: Duration { clock.minimumResolution }

    func sleep(until deadline: ContinuousClock.Instant, tolerance: Duration?) async throws {
        guard deadline - now < .seconds(2) else {
            await untilCancelled()
            throw CancellationError()
        }
        try await clock.sleep(until: deadline, tolerance: tolerance)
    }
}
