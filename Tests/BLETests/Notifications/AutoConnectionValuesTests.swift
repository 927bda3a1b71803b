import BLE
import BLESimulation
import BLETestSupport
import Testing

/// The values of several peripherals in one stream.
@Suite(.hangLimit) struct AutoConnectionValuesTests {
    private static let service = BluetoothUUID(0xFF00)
    private static let level = Characteristic<UInt16>(BluetoothUUID(0xFF01), service: service)
    private let world: SimulatedWorld
    private let received = SharedValue<[String]>([])

    init() async throws { world = try await SimulatedWorld() }

    private func add(
        _ name: String, rssi: Int = -50, _ characteristic: BluetoothUUID = level.uuid
    ) async -> SimulatedPeripheral {
        await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: name, rssi: rssi, serviceUUIDs: [Self.service]),
                services: [
                    ServiceDefinition(
                        Self.service, characteristics: [CharacteristicDefinition(characteristic, .notify)])
                ]))
    }

    /// Collects the values, in a task that ends with the loop.
    private func follow(
        limit: Int = 3, overflow: OverflowPolicy = .dropOldest(capacity: 256), slowly: Bool = false
    ) -> (connections: AutoConnections, reading: Task<Void, any Error>) {
        let connections = world.central.autoConnections(matching: .service(Self.service), limit: limit)
        let (received, world) = (received, world)
        let reading = Task {
            for try await (peripheral, value) in connections.values(of: Self.level, overflow: overflow) {
                received.change { $0.append("\(peripheral.id) \(value)") }
                if slowly { try? await world.clock.sleep(for: .seconds(1)) }
            }
        }
        return (connections, reading)
    }

    /// Lets time pass until the peripherals have a subscriber.
    private func subscribed(_ devices: SimulatedPeripheral...) async {
        for device in devices {
            while await device.subscribers(of: Self.level).isEmpty, !Task.isCancelled {
                await world.clock.run(for: .seconds(1))
            }
        }
    }

    private func end(_ reading: Task<Void, any Error>) async {
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
    }

    @Test func `values of all peripherals arrive in one stream, and end with its task`() async throws {
        let devices = [await add("A"), await add("B", rssi: -60), await add("C", rssi: -70)]
        let (_, reading) = follow()
        await subscribed(devices[0], devices[1], devices[2])
        var expected: [String] = []
        for round: UInt16 in 1...3 {
            for device in devices {
                try await device.notify(round, from: Self.level)
                expected.append("\(device.id) \(round)")
            }
        }
        let all = Set(expected)
        try await received.until { Set($0) == all && $0.count == 9 }
        await end(reading)
        await until {
            for device in devices where await !device.subscribers(of: Self.level).isEmpty { return false }
            return true
        }
        for device in devices { #expect(await device.isConnected) }
        await world.central.shutDown()
    }

    @Test func `a lost link and a value that cannot be decoded end nothing at the others`() async throws {
        let (first, second) = (await add("A"), await add("B", rssi: -60))
        var errors = await world.central.unhandledErrors().makeAsyncIterator()
        let (_, reading) = follow()
        await subscribed(first, second)
        await first.notify([1], from: Self.level.uuid)
        var error = try await errors.next()
        #expect(error?.code == .invalidValue)
        #expect(error?.peripheral == first.id)
        try await first.notify(2, from: Self.level)
        await first.dropLink()
        error = try await errors.next()
        #expect(error?.code == .disconnected)
        try await second.notify(3, from: Self.level)
        await subscribed(first)
        try await first.notify(4, from: Self.level)
        let expected = ["\(first.id) 2", "\(second.id) 3", "\(first.id) 4"]
        try await received.until { $0.count == 3 }
        #expect(Set(received.value) == Set(expected))
        await end(reading)
        await world.central.shutDown()
    }

    @Test func `one without the characteristic is reported, and gives its place to the next one`() async throws {
        let (other, own) = (await add("A", rssi: -40, BluetoothUUID(0xFF02)), await add("B", rssi: -60))
        var errors = await world.central.unhandledErrors().makeAsyncIterator()
        let (_, reading) = follow(limit: 1)
        await subscribed(own)
        let error = try await errors.next()
        #expect(error?.code == .characteristicNotFound)
        #expect(error?.peripheral == other.id)
        #expect(await !other.isConnected)
        try await own.notify(1, from: Self.level)
        try await received.until { $0 == ["\(own.id) 1"] }
        await end(reading)
        await world.central.shutDown()
    }

    @Test func `a maintained link is read once, and goes on after a loss and after new services`() async throws {
        let device = await add("A")
        let (_, reading) = follow()
        await subscribed(device)
        try await world.central.peripheral(device.id).setConnectionPolicy(.maintained())
        for value: UInt16 in 1...2 {
            await device.dropLink()
            await subscribed(device)
            await world.clock.run(for: .seconds(5))
            try await device.notify(value, from: Self.level)
            try await received.until { $0.count == Int(value) }
        }
        await device.setServices([
            ServiceDefinition(BluetoothUUID(0xFF10), characteristics: []),
            ServiceDefinition(Self.service, characteristics: [CharacteristicDefinition(Self.level.uuid, .notify)]),
        ])
        await subscribed(device)
        await world.clock.run(for: .seconds(5))
        try await device.notify(3, from: Self.level)
        try await received.until { $0.last == "\(device.id) 3" }
        #expect(received.value == (1...3).map { "\(device.id) \($0)" })
        await end(reading)
        await world.central.shutDown()
    }

    @Test func `a slow reader misses values, of all peripherals together`() async throws {
        let devices = [await add("A"), await add("B", rssi: -60)]
        let (_, reading) = follow(overflow: .dropOldest(capacity: 4), slowly: true)
        await subscribed(devices[0], devices[1])
        try await devices[0].notify(0, from: Self.level)
        try await received.until { $0.count == 1 }
        for round: UInt16 in 1...20 {
            for device in devices { try await device.notify(round, from: Self.level) }
        }
        while received.value.last?.hasSuffix(" 20") != true, !Task.isCancelled {
            await world.clock.run(for: .seconds(1))
        }
        #expect(received.value.count < 14)
        await end(reading)
        await world.central.shutDown()
    }

    @Test func `the end of the scan ends the stream`() async throws {
        let device = await add("A")
        let (_, reading) = follow()
        await subscribed(device)
        await world.central.shutDown()
        await expectError(.shutDown) { try await reading.value }
    }
}
