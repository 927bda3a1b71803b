import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct SimulatedRadioTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// A task that scans until that fails; its scan is running when this returns.
    private func scanning() async -> Task<Void, any Error> {
        let scan = Task { [world] in for try await _ in world.central.discoveries() {} }
        await until { (try? await world.central.adapters().first?.isDiscovering) == true }
        return scan
    }

    // MARK: The adapter

    @Test func `there is one adapter`() async throws {
        let adapters = try await world.central.adapters()
        #expect(adapters.map(\.id) == ["hci0"])
        #expect(adapters.first?.isPowered == true)
        #expect(adapters.first?.isDiscovering == false)
        let scan = await scanning()
        #expect(try await world.central.adapters().first?.isDiscovering == true)
        scan.cancel()
        _ = await scan.result
    }

    @Test func `switching off ends links, and scans until it is on again`() async throws {
        let (strap, grip) = try await world.add(.heartRateStrap())
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        _ = try await beats.next()
        let scan = await scanning()
        await world.radio.setPowered(false)
        let error = await expectError(.disconnected) { try await beats.next() }
        #expect(error?.disconnectReason == .adapterGone)
        #expect(await strap.connectionState == .disconnected)
        #expect(await grip.isConnected == false)
        #expect(try await world.central.adapters().first?.isPowered == false)
        #expect(try await world.central.adapters().first?.isDiscovering == false)
        await world.radio.setPowered(true)
        while try await world.central.adapters().first?.isDiscovering == false { await Task.yield() }
        scan.cancel()
        _ = await scan.result
    }

    @Test func `while it is off nothing works, and then everything again`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        await world.radio.setPowered(false)
        let error = await expectError(.poweredOff) { try await strap.connect() }
        #expect(error?.remedy != nil)
        let scan = Task { [world] in
            for try await discovery in world.central.discoveries() { return discovery.peripheral as Peripheral? }
            return nil
        }
        await world.radio.setPowered(true)
        // A scan that was asked for while it was off starts with it.
        #expect(try await scan.value == strap)
        await until { await !world.central.isScanning }
        #expect(try await HeartRate(strap).bodySensorLocation() == .chest)
        #expect(try await world.add(.battery()).peripheral != strap)
    }

    @Test func `the adapter's state is reported once for each change`() async throws {
        var states = await world.central.adapterStates().makeAsyncIterator()
        await world.radio.setPowered(false)
        await world.radio.setPowered(false)
        await world.radio.setPowered(true)
        await world.radio.stop()
        await world.radio.stop()
        await world.radio.setPowered(false)
        await world.radio.restart()
        await world.radio.restart()
        await world.radio.setPowered(true)
        for state in [AdapterState.poweredOn, .poweredOff, .poweredOn, .resetting, .poweredOff, .poweredOn] {
            #expect(try await states.next() == state)
        }
    }

    @Test func `a radio that is off leaves the clock alone`() async throws {
        _ = await world.radio.add(.battery())
        let scan = await scanning()
        await world.clock.sleepers(1)
        await world.radio.setPowered(false)
        // The scan's check for silent peripherals goes on.
        await until { world.clock.sleeperCount <= 1 }
        scan.cancel()
        _ = await scan.result
        await until { world.clock.sleeperCount == 0 }
    }

    // MARK: The service

    @Test func `when the service stops everything on a link fails with bluetoothLost`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        var beats = try await HeartRate(strap).measurements().makeAsyncIterator()
        _ = try await beats.next()
        await world.radio.stop()
        await expectError(.bluetoothLost) { try await beats.next() }
        #expect(await strap.connectionState == .disconnected)
        #expect(await world.central.adapterState == .resetting)
        // An operation that begins meanwhile waits for the service, within its deadline.
        let caller = Task { try await strap.connect() }
        await world.clock.sleepers(1, for: .seconds(20))
        world.clock.advance(by: .seconds(20))
        await expectError(.timedOut) { try await caller.value }
    }

    @Test func `no central can be made while the service is stopped`() async throws {
        await world.radio.stop()
        await expectError(.bluetoothUnavailable) { try await Central(backend: .simulated(world.radio)) }
        await world.radio.restart()
        let central = try await Central(backend: .simulated(world.radio))
        #expect(await central.adapterState == .poweredOn)
    }

    @Test func `a service that has started again knows no peripheral before its advertisement`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        // The scan that has discovered it has ended.
        while try await world.central.adapters().first?.isDiscovering == true { await Task.yield() }
        await world.radio.stop()
        await world.radio.restart()
        #expect(await world.central.knownPeripherals() == [])
        // A connect discovers it again.
        try await strap.connect()
        #expect(await world.central.knownPeripherals().map(\.id) == [strap.id])
    }

    @Test func `a peripheral that was connected to is searched for when the system has forgotten it`() async throws {
        let (strap, _) = try await world.add(.heartRateStrap())
        try await strap.connect()
        await world.radio.stop()
        let caller = Task { try await strap.connect() }
        await world.radio.restart()
        try await caller.value
        while try await world.central.adapters().first?.isDiscovering == true { await Task.yield() }
    }

    @Test func `a connect that waits fails at once when the service stops`() async throws {
        let (strap, grip) = try await world.add(.heartRateStrap())
        await grip.setAdvertising(false)
        let caller = Task { try await strap.connect() }
        await world.clock.sleepers(2, for: .seconds(20))  // the caller's deadline, and the radio's
        await world.radio.stop()
        await until { await strap.connectionState == .disconnected }
        world.clock.advance(by: .milliseconds(100))
        await expectError(.bluetoothLost) { try await caller.value }
    }

    // MARK: Several centrals

    @Test func `every central hears every peripheral, and one adapter has the link`() async throws {
        await world.radio.addAdapter("hci1")
        let (strap, grip) = try await world.add(.heartRateStrap())
        let configuration = Central.Configuration(clock: world.clock)
        let other = try await Central(
            backend: .simulated(world.radio, adapter: "hci1"), configuration: configuration)
        for try await discovery in other.discoveries() where discovery.peripheral.id == grip.id { break }
        try await strap.connect()
        #expect(await other.knownPeripherals().map(\.isConnected) == [false])
        let same = other.peripheral(grip.id)
        let caller = Task { try await same.connect(timeout: .seconds(60)) }
        await world.clock.sleepers(1, for: .seconds(20))
        #expect(await same.connectionState == .connecting)
        try await strap.disconnect()
        world.clock.advance(by: .milliseconds(100))
        try await caller.value
        #expect(await grip.isConnected)
        #expect(await strap.connectionState == .disconnected)
    }

    @Test func `a central that shuts down ends its links and no others`() async throws {
        let (strap, grip) = try await world.add(.heartRateStrap())
        let other = try await Central(backend: .simulated(world.radio))
        let lamp = await world.radio.add(.battery())
        for try await discovery in other.discoveries() where discovery.peripheral.id == lamp.id { break }
        try await strap.connect()
        try await other.peripheral(lamp.id).connect()
        await other.shutDown()
        #expect(await lamp.isConnected == false)
        #expect(await grip.isConnected)
        #expect(await strap.connectionState == .connected)
    }

    @Test func `one central's stop leaves another's subscription alone`() async throws {
        let (strap, grip) = try await world.add(.battery())
        var levels = try await Battery(strap).levels().makeAsyncIterator()
        let handle = try #require(try await strap.services()[.battery]?[BluetoothUUID(0x2A19)]?.handle)
        let other = SimulatedBackend.simulated(world.radio)
        try await other.start(CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock))
        try await other.stopNotifications(of: AttributeID(peripheral: grip.id, handle: handle))
        #expect(await grip.subscriberCount(of: BluetoothUUID(0x2A19)) == 1)
        await strap.central.shutDown()
        await expectError(.shutDown) { try await levels.next() }
    }
}
