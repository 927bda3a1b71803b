import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Two centrals on one adapter, which share the link to a peripheral, and one of which leaves it or changes it.
@Suite(.hangLimit) struct SimulatedSharedLinkTests {
    private static let output = Characteristic<[UInt8]>(BluetoothUUID(0xFFE2))
    private static let input = Characteristic<[UInt8]>(BluetoothUUID(0xFFE3))

    private struct User: PairingDelegate {
        func confirm(_ passkey: Passkey, for peripheral: Peripheral) async -> Bool { true }
        func authorizePairing(with peripheral: Peripheral) async -> Bool { true }
    }

    private static func definition(_ characteristics: CharacteristicDefinition...) -> PeripheralDefinition {
        PeripheralDefinition(
            advertisement: Advertisement(rssi: -40),
            services: [ServiceDefinition(BluetoothUUID(0xFFE0), characteristics: characteristics)])
    }

    /// A characteristic whose handler indicates each of the numbers once the one before is confirmed.
    private static func indicating(_ numbers: ClosedRange<UInt8>) -> CharacteristicDefinition {
        CharacteristicDefinition(
            output.key.characteristic, .indicate,
            onSubscribe: { notifier in
                try await notifier.clock.sleep(for: .seconds(1))
                for number in numbers {
                    try await notifier.indicate([number])
                    try await notifier.clock.sleep(for: .seconds(1))
                }
                try await notifier.clock.sleep(for: .seconds(3600))
            })
    }

    @Test(arguments: [SimulatedEvent.indicate, .confirm])
    func `a central that leaves does not take the indication of another with it`(_ event: SimulatedEvent) async throws {
        let pair = try await SimulatedPair(Self.definition(Self.indicating(1...2)))
        let held = await pair.device.hold(event, .next(1))
        let logs = [NotificationLog(), NotificationLog()]
        try await pair.world.run {
            let first = try await pair.remotes[0].notifications(Self.output)
            let second = try await pair.remotes[1].notifications(Self.output)
            async let one: Void = logs[0].record(first.events)
            async let two: Void = logs[1].record(second.events)
            await pair.world.clock.run(for: .milliseconds(1500))
            #expect(await held.count == 1)
            try await pair.remotes[0].disconnect()
            try? await one
            await held.release()
            await pair.world.clock.run(for: .milliseconds(1500))
            #expect(logs[1].values == [[1], [2]])
            #expect(await pair.device.subscribers(of: Self.output).count == 1)
            await pair.second.shutDown()
            try? await two
        }
        await pair.world.central.shutDown()
    }

    @Test(arguments: [SimulatedEvent.notify, .indicate])
    func `a value that is lost is lost to both centrals`(_ event: SimulatedEvent) async throws {
        let property: CharacteristicProperties = event == .notify ? .notify : .indicate
        let pair = try await SimulatedPair(
            Self.definition(CharacteristicDefinition(Self.output.key.characteristic, property)))
        let lost = await pair.device.ignore(event, .next(1))
        let logs = [NotificationLog(), NotificationLog()]
        try await pair.world.run {
            let first = try await pair.remotes[0].notifications(Self.output)
            let second = try await pair.remotes[1].notifications(Self.output)
            async let one: Void = logs[0].record(first.events)
            async let two: Void = logs[1].record(second.events)
            for value in [1, 2] as [UInt8] { await pair.device.notify([value], from: Self.output.key) }
            await pair.world.clock.run(for: .seconds(1))
            #expect(logs.map(\.values) == [[[2]], [[2]]])
            #expect(await lost.count == 1)
            await pair.shutDown()
            try? await one
            try? await two
        }
    }

    @Test func `channels for writes end with their characteristics, and what waits in them reaches no others`()
        async throws
    {
        let written = SharedValue<[[UInt8]]>([])
        func service(_ uuid: UInt32, _ input: BluetoothUUID) -> ServiceDefinition {
            ServiceDefinition(
                BluetoothUUID(uuid),
                characteristics: [
                    CharacteristicDefinition(
                        input, .writeWithoutResponse, onWrite: { value, _ in written.change { $0.append(value) } })
                ])
        }
        let gone = Characteristic<[UInt8]>(BluetoothUUID(0xFFD1))
        let kept = service(0xFFE0, Self.input.key.characteristic)
        let pair = try await SimulatedPair(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -40), services: [kept, service(0xFFD0, gone.key.characteristic)]))
        for remote in pair.remotes { try await remote.connect() }
        await pair.device.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
        try await pair.world.run {
            let endless = try await pair.remotes[0].packetWriter(to: Self.input)
            let ended = try await pair.remotes[1].packetWriter(to: gone)
            try await ended.write([1])
            // The new one has the handle of the one that is gone.
            await pair.device.setServices([kept, service(0xFFC0, BluetoothUUID(0xFFC1))])
            await pair.world.clock.run(for: .seconds(1))
            await expectError(.disconnected) { try await ended.write([2]) }
            try await endless.write([3])
            await pair.world.clock.run(for: .seconds(1))
        }
        await until { written.value.contains([3]) }
        #expect(written.value == [[3]])
        await pair.shutDown()
    }

    @Test func `an indication that has arrived at no central fails with the link`() async throws {
        let outcomes = SharedValue<[BLEError.Code?]>([])
        let pair = try await SimulatedPair(
            Self.definition(
                CharacteristicDefinition(
                    Self.output.key.characteristic, .indicate,
                    onSubscribe: { notifier in
                        try await notifier.clock.sleep(for: .seconds(1))
                        let result = await Result { try await notifier.indicate([1]) }
                        outcomes.change { [code = (result.failure as? BLEError)?.code] in $0.append(code) }
                    })))
        let lost = await pair.device.ignore(.indicate)
        try await pair.world.run {
            let first = try await pair.remotes[0].notifications(Self.output)
            let second = try await pair.remotes[1].notifications(Self.output)
            await pair.world.clock.run(for: .seconds(2))
            #expect(await lost.count == 1)
            try await pair.remotes[0].disconnect()
            await pair.world.clock.run(for: .seconds(1))
            #expect(outcomes.value == [])
            await pair.device.dropLink()
            await pair.world.clock.run(for: .seconds(1))
            #expect(outcomes.value.count == 1)
            _ = (first, second)
        }
        await pair.shutDown()
    }

    @Test func `what a central has sent without response is carried out after it has left`() async throws {
        let written = SharedValue<[[UInt8]]>([])
        let pair = try await SimulatedPair(
            Self.definition(
                CharacteristicDefinition(
                    Self.input.key.characteristic, .writeWithoutResponse,
                    onWrite: { (value, _) throws(ATTError) in
                        for _ in 1...20 { await Task.yield() }
                        if Task.isCancelled { throw .unlikelyError }
                        written.change { $0.append(value) }
                    })))
        for remote in pair.remotes { try await remote.connect() }
        await pair.device.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
        try await pair.world.run {
            try await pair.remotes[1].write([1], to: Self.input, type: .withoutResponse)
            try await pair.remotes[1].disconnect()
            await pair.world.clock.run(for: .seconds(1))
            #expect(written.value == [[1]])
            async let connection: Void = pair.remotes[1].connect()
            await pair.world.clock.run(for: .seconds(1))
            try await connection
            let writer = try await pair.remotes[1].packetWriter(to: Self.input)
            for packet in 2...4 as ClosedRange<UInt8> { try await writer.write([packet]) }
            try await pair.remotes[1].disconnect()
            await pair.world.clock.run(for: .seconds(1))
        }
        await until { written.value.count == 4 }
        #expect(written.value == [[1], [2], [3], [4]])
        #expect(await pair.device.isConnected)
        await pair.shutDown()
    }

    @Test func `the end of the link cancels what was sent without response`() async throws {
        let written = SharedValue<[[UInt8]]>([])
        let pair = try await SimulatedPair(
            Self.definition(
                CharacteristicDefinition(
                    Self.input.key.characteristic, .writeWithoutResponse,
                    onWrite: { (value, _) throws(ATTError) in written.change { $0.append(value) } })))
        for remote in pair.remotes { try await remote.connect() }
        await pair.device.setConnectionInterval(.milliseconds(50), supervisionTimeout: .seconds(1))
        try await pair.world.run {
            try await pair.remotes[1].write([1], to: Self.input, type: .withoutResponse)
            await pair.device.dropLink()
            await pair.world.clock.run(for: .seconds(1))
        }
        #expect(written.value == [])
        await pair.shutDown()
    }

    @Test func `a refused subscription is refused to every central that waits for its start`() async throws {
        let started = SharedValue(0)
        let pair = try await SimulatedPair(
            Self.definition(
                CharacteristicDefinition(
                    Self.output.key.characteristic, .notify,
                    onSubscribe: { _ in
                        started.change { $0 += 1 }
                        throw ATTError.insufficientResources
                    })))
        for remote in pair.remotes { try await remote.connect() }
        let results = await pair.world.run {
            async let one = Result { try await pair.remotes[0].notifications(Self.output) }
            async let two = Result { try await pair.remotes[1].notifications(Self.output) }
            return await [one, two]
        }
        for result in results {
            #expect((result.failure as? BLEError)?.attError == .insufficientResources)
        }
        // The second has waited for the first one's start.
        #expect(started.value == 1)
        #expect(await pair.device.subscribers(of: Self.output) == [])
        await pair.shutDown()
    }

    @Test func `a peripheral that one central blocks loses its link to all of the adapter`() async throws {
        let pair = try await SimulatedPair(.battery())
        try await pair.remotes[0].connect()
        try await pair.remotes[1].setBlocked(true)
        #expect(await pair.device.isConnected == false)
        await until { await pair.remotes[0].connectionState == .disconnected }
        try await pair.remotes[0].setBlocked(false)
        try await pair.remotes[0].connect()
        await pair.shutDown()
    }

    @Test func `of two centrals that pair at the same time, one pairs`() async throws {
        let asked = SharedValue(0)
        let world = try await SimulatedWorld(pairing: .prompting(User()))
        let (one, device) = try await world.add(
            .battery(),
            pairing: .comparison { _ in
                asked.change { $0 += 1 }
                return true
            })
        let second = try await Central(
            backend: .simulated(world.radio),
            configuration: .quiet(clock: world.clock, pairing: .prompting(User())))
        let remotes = [one, try await second.find(device.id)]
        for remote in remotes { try await remote.connect() }
        let results = await world.run {
            async let first = Result { try await remotes[0].pair() }
            async let other = Result { try await remotes[1].pair() }
            return await [first, other]
        }
        #expect(asked.value == 1)
        #expect(results.count { (try? $0.get()) != nil } == 1)
        await world.central.shutDown()
        await second.shutDown()
    }

    @Test func `a central that leaves during a pairing without an answer leaves the link to the other`() async throws {
        let pair = try await SimulatedPair(.battery(), pairing: .unanswered)
        for remote in pair.remotes { try await remote.connect() }
        let pairing = Task { try await pair.remotes[0].pair() }
        await pair.world.clock.sleepers(1, for: .seconds(30))
        try await pair.remotes[0].disconnect()
        #expect(await pairing.result.failure != nil)
        #expect(try await pair.remotes[1].read(.batteryLevel) == 90)
        #expect(await pair.remotes[1].connectionState == .connected)
        await pair.shutDown()
    }
}
