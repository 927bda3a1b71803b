import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// What a test can disturb on a peripheral.
@Suite(.hangLimit) struct FaultTests {
    private let world: SimulatedWorld
    private let peripheral: Peripheral
    private let device: SimulatedPeripheral
    private let written = SharedValue<[[UInt8]]>([])

    /// A characteristic to read, write, subscribe to and be indicated.
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    /// A characteristic that indicates.
    private static let alarm = Characteristic<UInt8>(BluetoothUUID(0xFF02), service: BluetoothUUID(0xFF00))

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

    // MARK: Values

    @Test func `values are lost, doubled and delayed without a change of their order`() async throws {
        try await peripheral.connect()
        var values = try await peripheral.notifications(Self.level).makeAsyncIterator()
        await device.ignore(.notify(from: Self.level), .nth(2))
        await device.duplicate(.notify, .nth(3))
        for value in 1...3 as ClosedRange<UInt8> { try await device.notify(value, from: Self.level) }
        for expected in [1, 3, 3] as [UInt8] { #expect(try await values.next() == expected) }

        await device.delay(.notify, .next(1), by: .milliseconds(1250))
        for value in 4...6 as ClosedRange<UInt8> { try await device.notify(value, from: Self.level) }
        await world.clock.sleepers(for: .milliseconds(1250))
        world.clock.advance(by: .milliseconds(1250))
        for expected in [4, 5, 6] as [UInt8] { #expect(try await values.next() == expected) }
    }

    @Test func `held values are delivered when they are released, and lost with the link`() async throws {
        try await peripheral.setConnectionPolicy(.maintained())
        var events = try await peripheral.notifications(Self.level).events.makeAsyncIterator()
        let held = await device.hold(.notify)
        try await device.notify(1, from: Self.level)
        try await device.notify(2, from: Self.level)
        await held.disturbed()
        await held.release()
        for expected in [1, 2] as [UInt8] {
            guard case .value(expected)? = try await events.next() else {
                Issue.record("\(expected) did not arrive")
                return
            }
        }

        await device.dropLink(before: .notify, .next(1))
        try await device.notify(3, from: Self.level)
        guard case .gap? = try await events.next() else {
            Issue.record("there was no gap")
            return
        }
    }

    @Test func `an indication waits for its confirmation, and fails with it`() async throws {
        let outcomes = SharedValue<[Bool]>([])
        let alarm = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Alarm", rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                Self.alarm.uuid, [.indicate],
                                onSubscribe: { notifier in
                                    for value in 1...3 as ClosedRange<UInt8> {
                                        do {
                                            try await notifier.indicate([value])
                                            outcomes.change { $0.append(true) }
                                        } catch {
                                            outcomes.change { $0.append(false) }
                                        }
                                    }
                                })
                        ])
                ]))
        let confirmation = await alarm.hold(.confirm, .nth(1))
        await alarm.fail(.confirm, .nth(2))
        await alarm.fail(.indicate, .nth(3))
        let peripheral = try await world.central.find(alarm.id)
        var values = try await peripheral.notifications(Self.alarm).makeAsyncIterator()
        #expect(try await values.next() == 1)
        await confirmation.disturbed()
        #expect(outcomes.value == [])
        await confirmation.release()
        #expect(try await values.next() == 2)
        try await outcomes.until { $0.count == 3 }
        // The third was not sent.
        #expect(outcomes.value == [true, false, false])
    }

    // MARK: Advertisements and scans

    @Test func `a scan fails, and advertisements are lost`() async throws {
        let world = try await SimulatedWorld()
        await world.radio.fail(.scan, .next(1))
        await expectError(.scanFailed) { try await world.central.find() }
        let fan = await world.radio.add(.heartRateStrap(beatsPerMinute: 72))
        let lost = await fan.ignore(.advertisement, .next(2))
        async let found = world.central.find(fan.id)
        for count in 1...2 {
            await lost.disturbed(count)
            await world.clock.sleepers()
            world.clock.advance(by: .seconds(2))
        }
        _ = try await found
        #expect(await lost.count == 2)
    }

    @Test func `the strength changes as a script says`() async throws {
        try await peripheral.connect()
        await device.play([(0, -50), (6, -75)])
        #expect(try await peripheral.signalStrength() == -50)
        await world.clock.sleepers(for: .seconds(6))
        world.clock.advance(by: .seconds(6))
        await until { (try? await peripheral.signalStrength()) == -75 }
    }

    @Test func `a peripheral that accepts no links advertises, and keeps the link that it has`() async throws {
        try await peripheral.connect()
        await device.setAcceptsLinks(false)
        #expect(try await peripheral.read(Self.level) == 7)
        await device.dropLink()
        #expect(try await world.central.find(device.id).id == device.id)
        let connection = Task { [peripheral] in try await peripheral.connect(timeout: .milliseconds(1250)) }
        await world.clock.sleepers(for: .milliseconds(1250))
        world.clock.advance(by: .milliseconds(1250))
        await expectError(.timedOut) { try await connection.value }
        await device.setAcceptsLinks(true)
        try await peripheral.connect()
    }

    // MARK: Services

    @Test func `services are replaced while connected`() async throws {
        try await peripheral.connect()
        var events = await peripheral.connectionEvents().makeAsyncIterator()
        await device.setServices([
            ServiceDefinition(
                BluetoothUUID(0xFF10),
                characteristics: [CharacteristicDefinition(BluetoothUUID(0xFF11), [.read], value: [1])])
        ])
        guard case .servicesChanged? = try await events.next() else {
            Issue.record("no change was reported")
            return
        }
        #expect(try await peripheral.services().map(\.uuid) == [BluetoothUUID(0xFF10)])
        await expectError(.serviceNotFound) { try await peripheral.read(Self.level) }
    }

    @Test func `one of two equal characteristics notifies`() async throws {
        let pair = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Pair", rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(Self.level.uuid, [.notify]),
                            CharacteristicDefinition(Self.level.uuid, [.notify]),
                        ])
                ]))
        let peripheral = try await world.central.find(pair.id)
        try await peripheral.connect()
        let handles = try await peripheral.services().flatMap(\.characteristics).map(\.handle)
        var second = Self.level
        second.key.handle = handles[1]
        var values = try await peripheral.notifications(second).makeAsyncIterator()
        #expect(await pair.subscribers(of: second).count == 1)
        #expect(await pair.subscribers(of: Self.level) == [])
        await pair.notify([1], from: CharacteristicKey(characteristic: Self.level.uuid, handle: handles[0]))
        await pair.notify([2], from: second.key)
        #expect(try await values.next() == 2)
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
