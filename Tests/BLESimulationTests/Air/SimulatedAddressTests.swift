import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Peripherals that rotate their addresses.
@Suite(.hangLimit) struct SimulatedAddressTests {
    /// Returns the peripherals that a scan of two seconds hears.
    private static func heard(_ central: Central, _ clock: ManualClock) async throws -> Set<Peripheral.ID> {
        let found = SharedValue<Set<Peripheral.ID>>([])
        async let scan: Void = {
            for try await discovery in central.discoveries() {
                found.change { _ = $0.insert(discovery.peripheral.id) }
            }
        }()
        await clock.run(for: .seconds(2))
        let ids = found.value
        await central.shutDown()
        try? await scan
        return ids
    }

    private func central(_ world: SimulatedWorld, adapter: String? = nil) async throws -> Central {
        try await Central(
            backend: .simulated(world.radio, adapter: adapter), configuration: .quiet(clock: world.clock))
    }

    @Test func `without a bond, a new address is that of a stranger`() async throws {
        let world = try await SimulatedWorld()
        let (known, battery) = try await world.add(.battery())
        let address = await battery.rotateAddress()
        #expect(address != battery.id)
        #expect(await battery.address == address)
        let first = try #require(UInt8(address.rawValue.prefix(2), radix: 16))
        #expect(first >> 6 == 0b01)
        try await world.radio.run {
            let heard = try await Self.heard(central(world), world.clock)
            #expect(heard == [address])
            // The former address does not answer.
            let refused = SharedValue<BLEError.Code?>(nil)
            async let attempt: Void = {
                do throws(BLEError) {
                    try await known.connect()
                } catch {
                    refused.change { [error] in $0 = error.code }
                }
            }()
            await world.clock.run(for: .seconds(60))
            await attempt
            #expect(refused.value != nil)
        }
        #expect(await battery.isConnected == false)
        await world.central.shutDown()
    }

    @Test func `an adapter with a bond goes on with the id that it knows, and others hear a stranger`() async throws {
        let world = try await SimulatedWorld()
        await world.radio.addAdapter("hci1")
        let (peripheral, battery) = try await world.add(.battery())
        try await peripheral.pair()
        try await peripheral.disconnect()
        for _ in 1...2 { await battery.rotateAddress() }
        try await world.run {
            let heard = try await Self.heard(central(world), world.clock)
            #expect(heard == [battery.id])
            let other = try await Self.heard(central(world, adapter: "hci1"), world.clock)
            #expect(await other == [battery.address])
        }
        #expect(try await peripheral.read(.batteryLevel) == 90)
        #expect(await battery.isConnected)
        await world.central.shutDown()
    }

    @Test func `a pairing discloses the identity address behind the first one, and both are the peripheral`()
        async throws
    {
        let world = try await SimulatedWorld()
        let battery = await world.radio.add(.battery())
        let first = await battery.rotateAddress()
        let peripheral = try await world.central.find(first)
        #expect(try await peripheral.pairingState().identity == first)
        try await peripheral.pair()
        #expect(try await peripheral.pairingState().identity == battery.id)
        let properties = try await peripheral.systemProperties()
        #expect(properties["Address"] == .text(battery.id.rawValue))
        try await peripheral.disconnect()
        await battery.rotateAddress()
        // As the path of bluetoothd's object, the id stays while the program runs.
        #expect(try await peripheral.read(.batteryLevel) == 90)
        let same = world.central.peripheral(battery.id)
        #expect(try await same.read(.batteryLevel) == 90)
        await battery.dropLink()
        await until { await peripheral.connectionState == .disconnected }
        await until { await same.connectionState == .disconnected }
        // bluetoothd, when it starts anew, has the identity address.
        await world.radio.stop()
        await world.radio.restart()
        let heard = try await world.run { try await Self.heard(central(world), world.clock) }
        #expect(heard == [battery.id])
        await world.central.shutDown()
    }

    @Test func `a central with a link under one address gets no second one under another`() async throws {
        let world = try await SimulatedWorld()
        // The identity address was heard before it was private.
        let (known, battery) = try await world.add(.battery())
        let peripheral = try await world.central.find(await battery.rotateAddress())
        let connecting = Task { try await known.connect() }
        try await peripheral.pair()
        try await world.run { try await connecting.value }
        #expect(try await known.read(.batteryLevel) == 90)
        #expect(try await peripheral.read(.batteryLevel) == 90)
        await battery.dropLink()
        await until { await peripheral.connectionState == .disconnected }
        await until { await known.connectionState == .disconnected }
        await world.central.shutDown()
    }

    @Test func `a link stays as it is until it ends`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, battery) = try await world.add(.battery())
        try await peripheral.connect()
        let address = await battery.rotateAddress()
        #expect(try await peripheral.read(.batteryLevel) == 90)
        await world.clock.run(for: .seconds(60))
        #expect(try await peripheral.read(.batteryLevel) == 90)
        await battery.dropLink()
        await until { await peripheral.connectionState == .disconnected }
        let heard = try await world.run { try await Self.heard(central(world), world.clock) }
        #expect(heard == [address])
        await world.central.shutDown()
    }

    @Test func `the address rotates after each interval until that is ended`() async throws {
        let world = try await SimulatedWorld()
        let battery = await world.radio.add(.battery())
        await battery.rotateAddress(every: .seconds(900))
        var addresses: Set<Peripheral.ID> = [await battery.address]
        for _ in 1...3 {
            await world.clock.run(for: .seconds(900))
            addresses.insert(await battery.address)
        }
        #expect(addresses.count == 4)
        await battery.rotateAddress(every: nil)
        let last = await battery.address
        await world.clock.run(for: .seconds(2000))
        #expect(await battery.address == last)
        await world.central.shutDown()
    }

    @Test func `former addresses are forgotten half a minute later`() async throws {
        let world = try await SimulatedWorld()
        let (_, battery) = try await world.add(.battery())
        for _ in 1...3 {
            let former = await battery.address
            await battery.rotateAddress()
            await world.clock.run(for: .seconds(29))
            #expect(await world.central.knownPeripherals().map(\.id).contains(former))
            // The next address is heard only by a scan.
            _ = try await world.central.find(await battery.address)
            await world.clock.run(for: .seconds(1))
            #expect(await world.central.knownPeripherals().map(\.id) == [battery.address])
        }
        await world.central.shutDown()
    }

    @Test func `a fault of the peripheral meets it under each of its addresses`() async throws {
        let world = try await SimulatedWorld()
        let battery = await world.radio.add(.battery())
        let peripheral = try await world.central.find(await battery.rotateAddress())
        await battery.fail(.read, .next(1), with: .insufficientResources)
        let error = await expectError(.attributeError) { try await peripheral.read(.batteryLevel) }
        #expect(error?.attError == .insufficientResources)
        await world.central.shutDown()
    }

    @Test func `settings are those of an address, and of a peripheral with a bond`() async throws {
        let world = try await SimulatedWorld()
        let battery = await world.radio.add(.battery())
        for hasBond in [false, true] {
            let known = try await world.central.find(hasBond ? await battery.rotateAddress() : battery.id)
            try await known.setTrusted(true)
            if hasBond {
                try await known.pair()
                try await known.disconnect()
            }
            await battery.rotateAddress()
            let next = try await world.central.find(hasBond ? known.id : await battery.address)
            #expect(try await next.pairingState().isTrusted == hasBond)
        }
        await world.central.shutDown()
    }
}
