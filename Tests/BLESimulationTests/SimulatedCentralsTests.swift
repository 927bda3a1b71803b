import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Several centrals at one host.
@Suite(.hangLimit) struct SimulatedCentralsTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))
    private static let input = Characteristic<[UInt8]>(BluetoothUUID(0xFFE3))

    private let radio = SimulatedRadio()

    private let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Host", serviceUUIDs: [BluetoothUUID(0xFFE0)]),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [
                    CharacteristicDefinition(output.key.characteristic, [.read, .notify], value: [0]),
                    CharacteristicDefinition(input.key.characteristic, [.write], value: [0]),
                ])
        ])

    private func withCentrals(
        _ count: Int, _ check: (PeripheralHost, ServedPeripheral, [Peripheral]) async throws -> Void
    ) async throws {
        let host = try await PeripheralHost(backend: .simulated(radio), configuration: .quiet())
        var centrals: [Central] = []
        do {
            try await host.withServed(definition) { served in
                var remotes: [Peripheral] = []
                for _ in 0..<count {
                    let central = try await Central(backend: .simulated(radio), configuration: .quiet())
                    centrals.append(central)
                    let remote = try await central.first(matching: .name("Host"), timeout: HangLimit.step).peripheral
                    try await remote.connect()
                    remotes.append(remote)
                }
                try await check(host, served, remotes)
            }
        } catch {
            for central in centrals { await central.shutDown() }
            await host.shutDown()
            throw error
        }
        for central in centrals { await central.shutDown() }
        await host.shutDown()
    }

    @Test func `values reach all, or the one that they are for, and the others stay when one leaves`() async throws {
        try await withCentrals(3) { host, served, remotes in
            #expect(await host.connectedCentrals.count == 3)
            var streams: [NotificationStream<[UInt8]>.AsyncIterator] = []
            for remote in remotes {
                streams.append(try await remote.notifications(Self.output).makeAsyncIterator())
            }
            let subscribers = try await served.subscribers(of: Self.output)
            #expect(Set(subscribers).count == 3)
            try await served.notify([1], from: Self.output)
            for index in streams.indices { #expect(try await streams[index].next() == [1]) }
            for (number, subscriber) in subscribers.enumerated() {
                try await served.notify([10 + UInt8(number)], from: Self.output, to: subscriber)
            }
            var own: Set<UInt8> = []
            for index in streams.indices {
                let value = try #require(try await streams[index].next())
                own.insert(value[0])
            }
            #expect(own == [10, 11, 12])
            try await remotes[0].disconnect()
            await until { await host.connectedCentrals.count == 2 }
            try await served.notify([2], from: Self.output)
            for index in 1...2 { #expect(try await streams[index].next() == [2]) }
            #expect(try await remotes[1].read(Self.output) == [0])
        }
    }

    @Test func `one whose requests are held up does not hold up another`() async throws {
        try await withCentrals(2) { host, _, remotes in
            let hosted = try #require(await radio.hostedPeripherals.first)
            let held = await hosted.hold(.write(of: Self.input), .next(1))
            let slow = Task { try await remotes[0].write([7], to: Self.input) }
            await held.disturbed()
            try await remotes[1].write([8], to: Self.input)
            await hosted.dropLink()
            await #expect(throws: BLEError.self) { try await slow.value }
            await until { await host.connectedCentrals.isEmpty }
        }
    }

    @Test func `a fault of a request ends the link of the central whose request it is`() async throws {
        try await withCentrals(2) { host, _, remotes in
            let hosted = try #require(await radio.hostedPeripherals.first)
            await hosted.dropLink(before: .request, .next(1))
            await #expect(throws: BLEError.self) { try await remotes[0].read(Self.output) }
            await until { await host.connectedCentrals.count == 1 }
            #expect(try await remotes[1].read(Self.output) == [0])
        }
    }

    @Test func `a peripheral has one link, and a central on another adapter waits for it`() async throws {
        let pair = try await SimulatedPair(.battery(), adapter: "hci1")
        let remotes = pair.remotes
        try await remotes[0].connect()
        let waiting = Task { try await remotes[1].connect() }
        await until { await remotes[1].connectionState == .connecting }
        try await remotes[0].disconnect()
        try await waiting.value
        #expect(await pair.device.isConnected)
        await pair.world.central.shutDown()
        await pair.second.shutDown()
    }

    @Test func `centrals on one adapter are one central for a peripheral, whose handler runs once`() async throws {
        let started = SharedValue(0)
        let ended = SharedValue(0)
        let pair = try await SimulatedPair(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -40),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFFE0),
                        characteristics: [
                            CharacteristicDefinition(
                                Self.output.key.characteristic, .notify,
                                onSubscribe: { notifier in
                                    started.change { $0 += 1 }
                                    defer { ended.change { $0 += 1 } }
                                    var number: UInt8 = 0
                                    while true {
                                        try await notifier.clock.sleep(for: .seconds(1))
                                        number += 1
                                        await notifier.notify([number])
                                    }
                                })
                        ])
                ]))
        let logs = [NotificationLog(), NotificationLog()]
        try await pair.world.run {
            let first = try await pair.remotes[0].notifications(Self.output)
            let second = try await pair.remotes[1].notifications(Self.output)
            async let one: Void = logs[0].record(first.events)
            async let two: Void = logs[1].record(second.events)
            await pair.world.clock.run(for: .milliseconds(2500))
            #expect(started.value == 1)
            #expect(await pair.device.subscribers(of: Self.output).count == 1)
            // The handler goes on for the one that stays, although the other has started it and made the link.
            try await pair.remotes[0].disconnect()
            try? await one
            #expect(ended.value == 0)
            await pair.world.clock.run(for: .seconds(1))
            #expect(logs.map(\.values) == [[[1], [2]], [[1], [2], [3]]])
            #expect(await pair.device.isConnected)
            await pair.second.shutDown()
            try? await two
        }
        try await ended.until { $0 == 1 }
        #expect(await pair.device.isConnected == false)
        await pair.world.central.shutDown()
    }

    @Test func `a link that nobody else uses ends for all centrals of its adapter`() async throws {
        let pair = try await SimulatedPair(.battery())
        for remote in pair.remotes { try await remote.connect() }
        try await pair.remotes[1].disconnect()
        #expect(await pair.remotes[0].connectionState == .connected)
        try await pair.remotes[1].connect()
        try await pair.remotes[0].disconnect()
        await until { await pair.remotes[1].connectionState == .disconnected }
        #expect(await pair.device.isConnected == false)
        await pair.world.central.shutDown()
        await pair.second.shutDown()
    }

    @Test func `a pairing secures the link for all centrals of its adapter`() async throws {
        let pair = try await SimulatedPair(.battery())
        for remote in pair.remotes { try await remote.connect() }
        try await pair.remotes[0].pair()
        #expect(try await pair.remotes[1].pairingState().isPaired)
        let error = await expectError(.alreadyPaired) { try await pair.remotes[1].pair() }
        #expect(error != nil)
        await pair.device.dropLink()
        for remote in pair.remotes { await until { await remote.connectionState == .disconnected } }
        await pair.world.central.shutDown()
        await pair.second.shutDown()
    }

    /// Begins to connect, which the radio tries for 20 s.
    private func connecting(_ remote: Peripheral, _ world: SimulatedWorld, _ count: Int = 1) async
        -> Task<Void, any Error>
    {
        let task = Task { try await remote.connect(timeout: .seconds(60)) }
        await world.clock.sleepers(count, for: .seconds(20))
        return task
    }

    @Test func `a peripheral that is removed is not handed to a central that waits`() async throws {
        let pair = try await SimulatedPair(.battery(), adapter: "hci1")
        try await pair.remotes[0].connect()
        let waiting = await connecting(pair.remotes[1], pair.world)
        await pair.device.remove()
        #expect(await pair.remotes[1].connectionState == .connecting)
        // One with the same address that comes later is the same to a central.
        var definition = PeripheralDefinition.battery()
        definition.address = pair.device.id.rawValue
        let again = await pair.world.radio.add(definition)
        try await waiting.value
        #expect(await again.isConnected)
        await pair.shutDown()
    }

    @Test func `a central that cannot connect does not hold up others that wait`() async throws {
        let pair = try await SimulatedPair(.battery(), adapter: "hci1")
        let world = pair.world
        await world.radio.addAdapter("hci2")
        let third = try await Central(
            backend: .simulated(world.radio, adapter: "hci2"), configuration: .quiet(clock: world.clock))
        let remote = try await third.find(pair.device.id)
        try await pair.remotes[0].connect()
        try await pair.remotes[1].setBlocked(true)
        let blocked = await connecting(pair.remotes[1], world)
        let waiting = await connecting(remote, world, 2)
        try await pair.remotes[0].disconnect()
        try await waiting.value
        try await remote.disconnect()
        #expect(await pair.device.isConnected == false)
        // The other is connected as soon as it may be.
        try await pair.remotes[1].setBlocked(false)
        try await blocked.value
        #expect(await pair.device.isConnected)
        await third.shutDown()
        await pair.shutDown()
    }

    @Test func `a peripheral whose advertisement becomes connectable is connected to`() async throws {
        let pair = try await SimulatedPair(.battery())
        await pair.device.setAdvertisement(Advertisement(rssi: -50, isConnectable: false))
        let waiting = await connecting(pair.remotes[0], pair.world)
        await pair.device.setAdvertisement(Advertisement(rssi: -50, isConnectable: true))
        try await waiting.value
        #expect(await pair.device.isConnected)
        await pair.shutDown()
    }

    @Test func `a bond lets a central that waits by the identity address use the link`() async throws {
        let pair = try await SimulatedPair(.battery())
        await pair.device.rotateAddress()
        let current = try await pair.world.central.find(await pair.device.address)
        let waiting = await connecting(pair.remotes[1], pair.world)
        try await current.connect()
        #expect(await pair.remotes[1].connectionState == .connecting)
        try await current.pair()
        try await waiting.value
        await pair.shutDown()
    }
}
