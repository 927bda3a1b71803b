import BLE
import BLEObservation
import BLESimulation
import BLETestSupport
import Observation
import Testing

@MainActor @Suite(.hangLimit) struct ObservablePeripheralTests {
    private let world: SimulatedWorld

    private static let speed = Characteristic<UInt8>(BluetoothUUID(0xFFE1))
    private static let name = Characteristic<String>(BluetoothUUID(0xFFE2))
    private static let declared: [DeclaredValue] = [.readAndNotify(speed), .read(name)]
    private static let fan = PeripheralDefinition(
        advertisement: Advertisement(localName: "Fan", rssi: -40),
        services: [
            ServiceDefinition(
                BluetoothUUID(0xFFE0),
                characteristics: [
                    CharacteristicDefinition(speed.key.characteristic, [.read, .notify], value: [1]),
                    CharacteristicDefinition(name.key.characteristic, .read, value: Array("Fan".utf8)),
                ])
        ])

    /// An interval that no other sleep has.
    private static let interval = Duration.milliseconds(375)

    init() async throws { world = try await SimulatedWorld() }

    /// A task that keeps a peripheral up to date.
    private func running(_ fan: ObservablePeripheral) -> Task<Void, any Error> { Task { try await fan.run() } }

    @Test func `state and values follow the link, and a notified value is observed`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        #expect(fan.connectionState == nil)
        #expect(try fan.value(of: Self.speed) == nil)
        let task = running(fan)
        try await observed { (try? fan.value(of: Self.speed)) == 1 && (try? fan.value(of: Self.name)) == "Fan" }
        try await observed { fan.connectionState == .connected }
        await grip.notify([2], from: Self.speed.key.characteristic)
        try await observed { (try? fan.value(of: Self.speed)) == 2 }
        await grip.dropLink()
        try await observed { fan.connectionState != .connected }
        #expect(try fan.value(of: Self.speed) == nil && fan.value(of: Self.name) == nil)
        try await observed { fan.connectionState == .disconnected }
        task.cancel()
        await expectError(.cancelled) { try await task.value }
        await world.central.shutDown()
    }

    @Test func `a maintained link is found again, with its values`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        try await peripheral.setConnectionPolicy(.maintained())
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        let task = running(fan)
        try await observed { (try? fan.value(of: Self.speed)) == 1 }
        // A link that returned at once would hide its end.
        await grip.setAdvertising(false)
        await grip.dropLink()
        try await observed { (try? fan.value(of: Self.speed)) == nil }
        await grip.setAdvertising(true)
        try await world.asTimePasses { try await observed { (try? fan.value(of: Self.speed)) == 1 } }
        try await observed { fan.connectionState == .connected }
        task.cancel()
        _ = await task.result
        // The values are no longer updated.
        #expect(fan.connectionState == nil)
        #expect(try fan.value(of: Self.speed) == nil)
        await world.central.shutDown()
    }

    @Test func `a change of one value does not affect observers of another`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        let task = running(fan)
        try await observed { (try? fan.value(of: Self.name)) == "Fan" }
        let isTold = SharedValue(false)
        withObservationTracking {
            _ = try? fan.value(of: Self.name)
        } onChange: {
            isTold.change { $0 = true }
        }
        await grip.notify([3], from: Self.speed.key.characteristic)
        try await observed { (try? fan.value(of: Self.speed)) == 3 }
        #expect(!isTold.value)
        task.cancel()
        _ = await task.result
        await world.central.shutDown()
    }

    @Test func `of the values that arrive within the interval, the last is shown`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, values: [.notify(Self.speed)], interval: Self.interval)
        let task = running(fan)
        await until { await grip.subscriberCount(of: Self.speed.key.characteristic) == 1 }
        await world.clock.sleepers(1, for: Self.interval)
        for number in UInt8(1)...200 { await grip.notify([number], from: Self.speed.key.characteristic) }
        #expect(try fan.value(of: Self.speed) == nil)
        // Each change of the clock shows a value at most.
        while try fan.value(of: Self.speed) != 200 {
            world.clock.advance(by: Self.interval)
            await world.clock.sleepers(1, for: Self.interval)
        }
        task.cancel()
        _ = await task.result
        await world.central.shutDown()
    }

    @Test func `a second run waits for the end of the first, and changes nothing before`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        let first = running(fan)
        try await observed { (try? fan.value(of: Self.name)) == "Fan" }
        await grip.dropLink()
        try await observed { fan.connectionError?.code == .disconnected }
        let second = running(fan)
        let given = running(fan)
        await world.clock.run(for: .seconds(1))
        #expect(fan.connectionError?.code == .disconnected)
        given.cancel()
        await expectError(.cancelled) { try await given.value }
        first.cancel()
        await expectError(.cancelled) { try await first.value }
        try await world.asTimePasses { try await observed { (try? fan.value(of: Self.name)) == "Fan" } }
        #expect(fan.connectionState == .connected && fan.connectionError == nil)
        second.cancel()
        _ = await second.result
        #expect(fan.connectionState == nil)
        await world.central.shutDown()
    }

    @Test func `a value that cannot be decoded is an error of the peripheral`() async throws {
        let (peripheral, _) = try await world.add(Self.fan)
        let wrong = Characteristic<UInt32>(BluetoothUUID(0xFFE1))
        let fan = ObservablePeripheral(peripheral, values: [.read(wrong)], interval: .zero)
        let task = running(fan)
        let bytes = Characteristic<[UInt8]>(BluetoothUUID(0xFFE1))
        try await observed { (try? fan.value(of: bytes)) == [1] }
        let error = await expectError(.invalidValue) { try fan.value(of: wrong) }
        #expect(error?.peripheral == peripheral.id)
        task.cancel()
        _ = await task.result
        await world.central.shutDown()
    }

    @Test func `without declared values it does not connect, and shows the state`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, interval: .zero)
        let task = running(fan)
        try await observed { fan.connectionState == .disconnected }
        #expect(await !grip.isConnected)
        try await peripheral.connect()
        try await observed { fan.connectionState == .connected }
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
    }

    @Test func `a peripheral that outlives its central has no state and no values`() async throws {
        let (peripheral, _) = try await world.add(Self.fan)
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        let task = running(fan)
        try await observed { (try? fan.value(of: Self.speed)) == 1 }
        await world.central.shutDown()
        await expectError(.shutDown) { try await task.value }
        #expect(fan.connectionState == nil)
        #expect(try fan.value(of: Self.speed) == nil)
        await expectError(.shutDown) { try await fan.run() }
    }

    @Test func `a peripheral that cannot be connected to is an error`() async throws {
        let (peripheral, grip) = try await world.add(Self.fan)
        await grip.remove()
        let fan = ObservablePeripheral(peripheral, values: Self.declared, interval: .zero)
        let error = await #expect(throws: BLEError.self) {
            try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) { try await fan.run() }
        }
        #expect(error?.peripheral == peripheral.id)
        #expect(fan.connectionState == nil)
        await world.central.shutDown()
    }

    @Test func `the end of a link and a failed attempt are errors until there is a link, each of its peripheral`()
        async throws
    {
        let (peripheral, grip) = try await world.add(Self.fan)
        let (other, otherGrip) = try await world.add(Self.fan)
        let views = [peripheral, other].map { ObservablePeripheral($0, interval: .zero) }
        let tasks = views.map(running)
        try await observed { views.allSatisfy { $0.connectionState == .disconnected } }
        #expect(views.allSatisfy { $0.connectionError == nil })
        try await peripheral.connect()
        try await other.connect()
        await grip.dropLink()
        try await observed { views[0].connectionError?.code == .disconnected }
        #expect(views[1].connectionError == nil)
        await grip.setAcceptsLinks(false)
        await grip.fail(.connect)
        await #expect(throws: BLEError.self) {
            try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) { try await peripheral.connect() }
        }
        try await observed { views[0].connectionError.map { $0.code != .disconnected } ?? false }
        await otherGrip.dropLink()
        try await observed { views[1].connectionError?.peripheral == other.id }
        try await world.asTimePasses { try await other.connect() }
        try await observed { views[1].connectionError == nil && views[1].connectionState == .connected }
        for task in tasks {
            task.cancel()
            _ = await task.result
        }
        #expect(views[0].connectionError == nil)
        await world.central.shutDown()
    }
}
