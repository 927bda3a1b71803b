import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

/// Faults of values and advertisements, and a peripheral that changes.
extension FaultTests {
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
}
