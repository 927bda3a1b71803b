import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// What a test can disturb on a peripheral.
@Suite(.hangLimit) struct FaultTests {
    let world: SimulatedWorld
    let peripheral: Peripheral
    let device: SimulatedPeripheral
    private let written = SharedValue<[[UInt8]]>([])

    /// A characteristic to read, write, subscribe to and be indicated.
    static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    /// A characteristic that indicates.
    static let alarm = Characteristic<UInt8>(BluetoothUUID(0xFF02), service: BluetoothUUID(0xFF00))

    init() async throws {
        world = try await SimulatedWorld()
        (peripheral, device) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Tank", rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                Self.level.uuid, [.read, .write, .notify], value: [7],
                                onWrite: { [written] value, _ in written.change { $0.append(value) } }),
                            CharacteristicDefinition(Self.alarm.uuid, [.read, .indicate], value: [0]),
                        ])
                ]))
    }

    /// Passes when `body` waits for exactly that time.
    private func takes(_ duration: Duration, _ body: @escaping @Sendable () async throws -> Void) async throws {
        async let work: Void = body()
        await world.clock.sleepers(for: duration)
        world.clock.advance(by: duration)
        try await work
    }

    // MARK: Requests

    @Test func `a request is delayed by exactly the given time`() async throws {
        try await peripheral.connect()
        await device.delay(.read(of: Self.level), by: .milliseconds(1250))
        try await takes(.milliseconds(1250)) { [peripheral] in
            let level = try await peripheral.read(Self.level)
            #expect(level == 7)
        }
        // Another characteristic is not affected.
        #expect(try await peripheral.read(Self.alarm) == 0)
    }

    @Test func `a slow connect, a slow discovery and a slow pairing`() async throws {
        await device.delay(.connect, by: .milliseconds(1250))
        await device.delay(.discover, by: .milliseconds(1750))
        async let connection: Void = peripheral.connect()
        await world.clock.sleepers(for: .milliseconds(1250))
        world.clock.advance(by: .milliseconds(1250))
        await world.clock.sleepers(for: .milliseconds(1750))
        #expect(await peripheral.connectionState == .connecting)
        world.clock.advance(by: .milliseconds(1750))
        try await connection
        await device.delay(.pair, by: .milliseconds(1250))
        try await takes(.milliseconds(1250)) { [peripheral] in try await peripheral.pair() }
    }

    @Test func `a fault that is released, and a link that ends, as the fault begins hold up nothing`() async throws {
        let (radio, device) = (world.radio, device)
        let fault = SharedValue<SimulatedFault?>(nil)
        for ends in [false, true] {
            try await peripheral.connect()
            let held = await device.hold(
                .read,
                .while {
                    // Has its turn among the steps of the radio, before the read that is being decided about goes on.
                    Task(executorPreference: radio.taskExecutor) {
                        if ends { await device.dropLink() } else { await fault.value?.release() }
                    }
                    return true
                })
            fault.change { $0 = held }
            let result = await Result { [peripheral] in try await peripheral.read(Self.level) }
            if ends {
                #expect((result.failure as? BLEError)?.code == .disconnected)
            } else {
                #expect(try result.get() == 7)
            }
        }
    }

    @Test func `a fault of one characteristic does not count requests of others`() async throws {
        try await peripheral.connect()
        let fault = await device.fail(.read(of: Self.level), .next(1), with: .insufficientResources)
        _ = try await peripheral.read(Self.alarm)
        _ = try await peripheral.readDescriptor(BluetoothUUID(0x2902), of: Self.level.key)
        #expect(await fault.count == 0)
        let error = await expectError(.attributeError) { try await peripheral.read(Self.level) }
        #expect(error?.attError == .insufficientResources)
        #expect(await fault.count == 1)
        #expect(try await peripheral.read(Self.level) == 7)
    }

    @Test func `a link is lost after a write without response has been carried out`() async throws {
        let command = Characteristic<UInt8>(BluetoothUUID(0xFF03), service: BluetoothUUID(0xFF00))
        let written = SharedValue<[[UInt8]]>([])
        let (peripheral, device) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                command.uuid, [.writeWithoutResponse],
                                onWrite: { value, _ in written.change { $0.append(value) } })
                        ])
                ]))
        try await peripheral.connect()
        await device.dropLink(after: .write, .next(1))
        // The call may see the end of the link.
        _ = await Result { try await peripheral.write(1, to: command, type: .withoutResponse) }
        await until { await !device.isConnected }
        #expect(written.value == [[1]])
        try await peripheral.connect()
        await device.dropLink(before: .write, .next(1))
        _ = await Result { try await peripheral.write(2, to: command, type: .withoutResponse) }
        await until { await !device.isConnected }
        #expect(written.value == [[1]])
    }

    @Test func `requests fail with the given error, as often as given`() async throws {
        try await peripheral.connect()
        let fault = await device.fail(.read(of: Self.level), .next(2), with: .insufficientResources)
        for _ in 1...2 {
            let error = await expectError(.attributeError) { try await peripheral.read(Self.level) }
            #expect(error?.attError == .insufficientResources)
        }
        #expect(try await peripheral.read(Self.level) == 7)
        #expect(await fault.count == 2)
    }

    @Test(arguments: [SimulatedEvent.connect, .discover])
    func `a failed connect and a failed discovery fail the connection`(_ event: SimulatedEvent) async throws {
        await device.fail(event, .next(1))
        let error = await #expect(throws: BLEError.self) { try await peripheral.connect() }
        #expect(error != nil)
        #expect(await device.isConnected == false)
        try await peripheral.connect()
        #expect(try await peripheral.read(Self.level) == 7)
    }

    @Test func `a refused subscription throws, and the next one is accepted`() async throws {
        try await peripheral.connect()
        await device.fail(.subscribe(to: Self.level), .next(1), with: .insufficientResources)
        let error = await expectError(.attributeError) {
            var values = try await peripheral.notifications(Self.level).makeAsyncIterator()
            return try await values.next()
        }
        #expect(error?.attError == .insufficientResources)
        #expect(await device.subscribers(of: Self.level) == [])
        let values = try await peripheral.notifications(Self.level)
        #expect(await device.subscribers(of: Self.level).count == 1)
        _ = values
    }

    @Test func `writing, pairing, the signal strength and disconnecting fail`() async throws {
        try await peripheral.connect()
        await device.setSignalStrength(-60)
        await device.fail(.write, .next(1), with: .writeNotPermitted)
        #expect(
            await expectError(.notPermitted) { try await peripheral.write(9, to: Self.level) }?.attError
                == .writeNotPermitted)
        #expect(written.value == [])
        await device.fail(.signalStrength, .next(1))
        await expectError(.failed) { try await peripheral.signalStrength() }
        #expect(try await peripheral.signalStrength() == -60)
        await device.fail(.pair, .next(1))
        await expectError(.pairingFailed) { try await peripheral.pair() }
        #expect(await device.isPaired == false)
        await device.fail(.disconnect, .next(1))
        await expectError(.disconnectionFailed) { try await peripheral.disconnect() }
        #expect(await device.isConnected)
    }

    @Test func `only the n-th request is disturbed`() async throws {
        try await peripheral.connect()
        await device.fail(.read, .nth(2))
        #expect(try await peripheral.read(Self.level) == 7)
        await expectError(.attributeError) { try await peripheral.read(Self.level) }
        #expect(try await peripheral.read(Self.level) == 7)
    }

    @Test func `a request is disturbed while a condition holds`() async throws {
        let isWet = SharedValue(true)
        try await peripheral.connect()
        await device.fail(.read, .while { isWet.value })
        await expectError(.attributeError) { try await peripheral.read(Self.level) }
        isWet.change { $0 = false }
        #expect(try await peripheral.read(Self.level) == 7)
        isWet.change { $0 = true }
        await expectError(.attributeError) { try await peripheral.read(Self.level) }
    }

    @Test func `the same seed disturbs the same requests`() async throws {
        try await peripheral.connect()
        func failures(_ seed: UInt64) async -> [Bool] {
            await device.removeFaults()
            await device.fail(.read, .probability(0.5, seed: seed))
            var failures: [Bool] = []
            for _ in 1...64 { failures.append((try? await peripheral.read(Self.level)) == nil) }
            return failures
        }
        let first = await failures(3)
        #expect(await failures(3) == first)
        #expect(await failures(4) != first)
        #expect(first.contains(true) && first.contains(false))
    }

    @Test func `a held request goes on when the fault is released`() async throws {
        let discovery = await device.hold(.discover)
        async let connection: Void = peripheral.connect()
        await discovery.disturbed()
        #expect(await peripheral.connectionState == .connecting)
        await discovery.release()
        try await connection
        // It is over.
        await peripheral.central.shutDown()
    }

    @Test func `a wait for a disturbance ends when the fault is over, is removed, or nobody waits any longer`() async {
        let over = await device.fail(.read, .next(0))
        await over.disturbed()
        let removed = await device.fail(.read)
        let waiting = Task { await removed.disturbed() }
        await removed.release()
        await waiting.value
        let fault = await device.fail(.read)
        let cancelled = Task { await fault.disturbed() }
        cancelled.cancel()
        await cancelled.value
        #expect(await fault.count == 0)
    }

    @Test func `a held request ends with its link, with its adapter and with its caller`() async throws {
        try await peripheral.connect()
        let read = await device.hold(.read)
        let first = Task { [peripheral] in try await peripheral.read(Self.level) }
        await read.disturbed(1)
        await device.dropLink()
        await expectError(.disconnected) { try await first.value }

        try await peripheral.connect()
        let second = Task { [peripheral] in try await peripheral.read(Self.level) }
        await read.disturbed(2)
        await world.radio.setPowered(false)
        await expectError(.disconnected) { try await second.value }

        await world.radio.setPowered(true)
        try await peripheral.connect()
        let third = Task { [peripheral] in try await peripheral.read(Self.level) }
        await read.disturbed(3)
        third.cancel()
        await expectError(.cancelled) { try await third.value }
    }

    @Test func `a held attempt to connect ends with a disconnect and with the adapter`() async throws {
        let connect = await device.hold(.connect)
        let attempt = Task { [peripheral] in try await peripheral.connect() }
        await connect.disturbed(1)
        try await peripheral.disconnect()
        await expectError(.connectionCancelled) { try await attempt.value }

        let next = Task { [peripheral] in try await peripheral.connect() }
        await connect.disturbed(2)
        await world.radio.setPowered(false)
        await expectError(.poweredOff) { try await next.value }
    }

    @Test func `an ignored request has no effect, and ends at the deadline`() async throws {
        try await peripheral.connect()
        await device.ignore(.write, .next(1))
        let write = Task { [peripheral] in
            try await peripheral.write(9, to: Self.level, timeout: .milliseconds(1250))
        }
        await world.clock.sleepers(for: .milliseconds(1250))
        world.clock.advance(by: .milliseconds(1250))
        await expectError(.timedOut) { try await write.value }
        #expect(written.value == [])
    }

    @Test func `a link is lost before a request, or after it`() async throws {
        try await peripheral.connect()
        await device.dropLink(before: .write, .next(1))
        await expectError(.disconnected) { try await peripheral.write(1, to: Self.level) }
        #expect(written.value == [])
        #expect(await device.isConnected == false)

        try await peripheral.connect()
        await device.dropLink(after: .write, .next(1))
        await expectError(.disconnected) { try await peripheral.write(2, to: Self.level) }
        // It has arrived; the answer is lost.
        #expect(written.value == [[2]])
    }

    @Test func `a link is lost as soon as it is made`() async throws {
        await device.dropLink(after: .connect, .next(1))
        await expectError(.disconnected) { try await peripheral.connect() }
        try await peripheral.connect()
    }

    // MARK: Several

    @Test func `faults add up, and those of the radio concern every peripheral`() async throws {
        try await peripheral.connect()
        await device.delay(.read, .next(1), by: .milliseconds(1250))
        await world.radio.fail(.read, .next(1))
        try await takes(.milliseconds(1250)) { [peripheral] in
            await expectError(.attributeError) { try await peripheral.read(Self.level) }
        }
        #expect(try await peripheral.read(Self.level) == 7)
        await world.radio.fail(.read)
        await device.fail(.write)
        await world.radio.removeFaults()
        #expect(try await peripheral.read(Self.level) == 7)
        try await peripheral.write(1, to: Self.level)
    }
}
