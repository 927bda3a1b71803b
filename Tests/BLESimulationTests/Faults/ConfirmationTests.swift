import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Confirmations of values for which no program waits: those that a host stores or sends, and those of a test.
@Suite(.hangLimit) struct ConfirmationTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    private static let definition = PeripheralDefinition(
        advertisement: Advertisement(localName: "Tank"),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFF00), characteristics: [CharacteristicDefinition(level.uuid, .indicate, value: [0])])
        ])

    /// Collects what a central on an adapter of its own receives.
    private func follow(_ central: Central) async throws -> (values: SharedValue<[UInt8]>, reader: Task<Void, Never>) {
        let stream = try await central.find().notifications(Self.level)
        let values = SharedValue<[UInt8]>([])
        let reader = Task {
            do { for try await value in stream { values.change { $0.append(value) } } } catch {}
        }
        return (values, reader)
    }

    private func withFollowers(
        _ definition: PeripheralDefinition = Self.definition,
        _ check: (SimulatedWorld, ServedPeripheral, SimulatedPeripheral, [SharedValue<[UInt8]>]) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        await world.radio.addAdapter("hci1")
        let host = try await world.makeHost()
        let centrals = [world.central, try await world.makeCentral(adapter: "hci1")]
        try await host.withServed(definition) { served in
            var values: [SharedValue<[UInt8]>] = []
            var readers: [Task<Void, Never>] = []
            for central in centrals {
                let follower = try await follow(central)
                values.append(follower.values)
                readers.append(follower.reader)
            }
            try await check(world, served, try #require(await world.radio.hostedPeripherals.first), values)
            for central in centrals { await central.shutDown() }
            for reader in readers { await reader.value }
        }
        await host.shutDown()
    }

    @Test func `a stored value of a host waits for the confirmation of the one before, at one central`() async throws {
        try await withFollowers { world, served, device, values in
            let held = await device.hold(.confirm(of: Self.level), .next(1))
            for level: UInt8 in 1...3 { try await served.setValue(level, of: Self.level) }
            #expect(await held.count == 1)
            try await values[1].until { $0 == [1, 2, 3] }
            #expect(values[0].value == [1])
            await held.release()
            try await values[0].until { $0 == [1, 2, 3] }
        }
    }

    @Test func `a value to one central waits, and one to all does not`() async throws {
        try await withFollowers { world, served, device, values in
            let held = await device.hold(.confirm, .next(1))
            let central = try #require(try await served.subscribers(of: Self.level).first ?? nil)
            try await served.notify(1, from: Self.level, to: central)
            let later = Task { try await served.notify(2, from: Self.level, to: central) }
            // To the others, nothing waits.
            try await served.notify(3, from: Self.level)
            try await values[1].until { $0 == [3] }
            #expect(values[0].value == [1])
            await held.release()
            try await later.value
            try await values[0].until { Set($0) == [1, 2, 3] }
        }
    }

    @Test func `a link ends 30 s after an indication that is not confirmed`() async throws {
        try await withFollowers { world, served, device, values in
            let lost = await device.ignore(.confirm, .next(1))
            try await served.setValue(1, of: Self.level)
            #expect(await lost.count == 1)
            await world.clock.run(for: .seconds(29))
            #expect(await device.subscribers(of: Self.level).count == 2)
            await world.clock.run(for: .seconds(2))
            #expect(await device.subscribers(of: Self.level).count == 1)
            try await served.setValue(2, of: Self.level)
            try await values[1].until { $0 == [1, 2] }
            #expect(values[0].value == [1])
        }
    }

    @Test func `a confirmation that fails is lost, and a link can be lost with one`() async throws {
        try await withFollowers { world, served, device, values in
            await device.dropLink(after: .confirm, .nth(1))
            await device.fail(.confirm, .nth(2), with: .unlikelyError)
            try await served.setValue(1, of: Self.level)
            #expect(await device.subscribers(of: Self.level).count == 1)
            await world.clock.run(for: .seconds(31))
            #expect(await device.subscribers(of: Self.level).isEmpty)
            #expect(values.map(\.value) == [[1], [1]])
        }
    }

    @Test func `a value that is set anywhere skips what a central that does not confirm has no time for`() async throws
    {
        let level = try ServedValue(Self.level, 0)
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Tank"),
            services: [
                ServiceDefinition(BluetoothUUID(0xFF00), characteristics: [level.definition([.read, .indicate])])
            ])
        try await withFollowers(definition) { world, _, device, values in
            let held = await device.hold(.confirm.from(world.central), .next(1))
            try level.set(1)
            await held.disturbed()
            for value: UInt8 in 2...200 {
                try level.set(value)
                try await values[1].until { $0.last == value }
            }
            #expect(values[0].value == [1])
            await held.release()
            try await values[0].until { $0.last == 200 }
            #expect(values[0].value.count < 100)
        }
    }

    @Test func `a value of a simulated peripheral waits for the confirmation of the one before`() async throws {
        let world = try await SimulatedWorld()
        let (peripheral, device) = try await world.add(Self.definition)
        var values = try await peripheral.notifications(Self.level).makeAsyncIterator()
        let slow = await device.delay(.confirm, .next(1), by: .seconds(5))
        for level: UInt8 in 1...2 { try await device.notify(level, from: Self.level) }
        #expect(try await values.next() == 1)
        #expect(await slow.count == 1)
        let second = SharedValue(false)
        let reading = Task {
            defer { second.change { $0 = true } }
            return try await values.next()
        }
        await world.clock.run(for: .seconds(4))
        #expect(!second.value)
        await world.clock.run(for: .seconds(2))
        #expect(try await reading.value == 2)
        await world.central.shutDown()
    }
}
