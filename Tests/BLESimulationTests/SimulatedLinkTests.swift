import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct SimulatedLinkTests {
    private static let level = BluetoothUUID(0x2A19)

    private let world: SimulatedWorld
    private let strap: Peripheral
    private let grip: SimulatedPeripheral

    init() async throws {
        world = try await SimulatedWorld()
        (strap, grip) = try await world.add(.battery())
    }

    /// A task that connects to the strap, which the radio tries for 20 s.
    private func connecting() async -> Task<Void, any Error> {
        let caller = Task { [strap] in try await strap.connect(timeout: .seconds(60)) }
        await world.clock.sleepers(1, for: .seconds(20))
        return caller
    }

    @Test func `a link has two ends`() async throws {
        #expect(await grip.isConnected == false)
        try await strap.connect()
        #expect(await grip.isConnected)
        try await strap.disconnect()
        #expect(await grip.isConnected == false)
    }

    @Test func `a definition is notified of the end of each link`() async throws {
        let told = SharedValue(0)
        var definition = PeripheralDefinition.battery()
        definition.services[0].onDisconnect = { _ in told.change { $0 += 1 } }
        let (peripheral, simulated) = try await world.add(definition)
        try await peripheral.connect()
        try await peripheral.disconnect()
        await until { told.value == 1 }
        try await peripheral.connect()
        await simulated.dropLink()
        await until { told.value == 2 }
    }

    @Test func `a peripheral that does not advertise is not found`() async throws {
        let silent = await world.radio.add(.battery())
        await silent.setAdvertising(false)
        let caller = Task { try await world.central.peripheral(silent.id).connect() }
        // The radio searches for it.
        await until { (try? await world.central.adapters().first?.isDiscovering) == true }
        world.clock.advance(by: .seconds(20))
        let error = await expectError(.peripheralNotFound) { try await caller.value }
        #expect(error?.remedy != nil)
        #expect(error?.peripheral == silent.id)
    }

    @Test func `a peripheral that does not advertise is tried for 20 seconds`() async throws {
        await grip.setAdvertising(false)
        let caller = await connecting()
        world.clock.advance(by: .milliseconds(19_900))
        await world.clock.sleepers(1, for: .seconds(20))
        #expect(await strap.connectionState == .connecting)
        world.clock.advance(by: .milliseconds(100))
        let error = await expectError(.connectionFailed) { try await caller.value }
        #expect(error?.isRetryable == true)
        #expect(world.clock.now.offset == .seconds(20))
    }

    @Test func `a peripheral that advertises again is connected to`() async throws {
        await grip.setAdvertising(false)
        let caller = await connecting()
        world.clock.advance(by: .seconds(10))
        await world.clock.sleepers(1, for: .seconds(20))
        await grip.setAdvertising(true)
        world.clock.advance(by: .milliseconds(100))
        try await caller.value
        #expect(await grip.isConnected)
    }

    @Test func `a peripheral that is removed while it is connected to does not answer`() async throws {
        await grip.setAdvertising(false)
        let caller = await connecting()
        await grip.remove()
        world.clock.advance(by: .seconds(20))
        await expectError(.connectionFailed) { try await caller.value }
    }

    @Test func `a connect that is cancelled leaves no link behind`() async throws {
        await grip.setAdvertising(false)
        let caller = await connecting()
        caller.cancel()
        await expectError(.cancelled) { try await caller.value }
        await until { await strap.connectionState == .disconnected }
        await grip.setAdvertising(true)
        world.clock.advance(by: .seconds(1))
        #expect(await grip.isConnected == false)
        #expect(world.clock.sleeperCount == 0)
    }

    @Test(arguments: [0, 1, 2]) func `a link ends for the central too`(_ way: Int) async throws {
        var levels = try await strap.notifications(Characteristic<[UInt8]>(Self.level)).makeAsyncIterator()
        switch way {
        case 0: await grip.disconnect()
        case 1: await grip.dropLink()
        default: await grip.remove()
        }
        let error = await expectError(.disconnected) { try await levels.next() }
        #expect(error?.peripheral == strap.id)
        #expect(await strap.connectionState == .disconnected)
        #expect(await grip.isConnected == false)
        #expect(await grip.subscriberCount(of: Self.level) == 0)
    }

    @Test func `ending a link that is not there does nothing`() async throws {
        await grip.dropLink()
        await grip.disconnect()
        try await strap.connect()
        #expect(await strap.connectionState == .connected)
    }

    @Test func `a removed peripheral has no values and takes none`() async throws {
        #expect(await grip.value(of: Self.level) == [90])
        await grip.remove()
        await grip.notify([1], from: Self.level)
        await grip.setAdvertising(true)
        await grip.setAdvertisement(Advertisement())
        #expect(await grip.value(of: Self.level) == nil)
    }

    @Test func `subscribers are counted`() async throws {
        #expect(await grip.subscriberCount(of: Self.level) == 0)
        func subscribe() async throws {
            let stream = try await strap.notifications(Characteristic<[UInt8]>(Self.level))
            #expect(await grip.subscriberCount(of: Self.level) == 1)
            #expect(await grip.subscriberCount(of: BluetoothUUID(0x2A37)) == 0)
            withExtendedLifetime(stream) {}
        }
        try await subscribe()
        await until { await grip.subscriberCount(of: Self.level) == 0 }
        #expect(await grip.isConnected)
    }
}
