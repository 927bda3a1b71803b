import BLE
import BLESimulation
import BLETestSupport
import Logging
import Testing

/// Values on their way, and values that are kept, while services and subscriptions change.
@Suite(.hangLimit) struct ServiceChangeTests {
    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
    private static let other = Characteristic<UInt8>(BluetoothUUID(0xFF11), service: BluetoothUUID(0xFF10))

    private let world: SimulatedWorld
    private let peripheral: Peripheral
    private let device: SimulatedPeripheral

    private static func tank(value: UInt8 = 7) -> ServiceDefinition {
        ServiceDefinition(
            BluetoothUUID(0xFF00),
            characteristics: [
                CharacteristicDefinition(
                    level.uuid, [.read, .notify, .indicate], value: [value],
                    descriptors: [DescriptorDefinition(BluetoothUUID(0x2901), value: [1], isWritable: true)])
            ])
    }

    private static let more = ServiceDefinition(
        BluetoothUUID(0xFF10), characteristics: [CharacteristicDefinition(other.uuid, .read, value: [1])])

    init() async throws {
        world = try await SimulatedWorld()
        (peripheral, device) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Tank", rssi: -50), services: [Self.tank()]))
    }

    @Test(arguments: [true, false])
    func `a value on its way reaches a central that subscribes again`(_ isHeld: Bool) async throws {
        let backend = SimulatedBackend.simulated(world.radio, adapter: "hci0")
        try await backend.start(
            CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock))
        try await backend.startDiscovery(DiscoveryFilter())
        await world.clock.run(for: .seconds(1))
        try await backend.connect(device.id)
        let found = try await backend.discoverServices(device.id).services.flatMap(\.characteristics)
        let place = AttributeID(peripheral: device.id, handle: try #require(found.first?.handle))
        let values = SharedValue<[[UInt8]]>([])
        try await backend.startNotifications(of: place) { value in values.change { $0.append([0] + value) } }
        let fault =
            await isHeld
            ? device.hold(.notify, .next(1)) : device.delay(.notify, .next(1), by: .seconds(1))
        await device.notify([9], from: Self.level.key)
        try await backend.stopNotifications(of: place)
        try await backend.startNotifications(of: place) { value in values.change { $0.append([1] + value) } }
        if isHeld { await fault.release() }
        await world.clock.run(for: .seconds(2))
        #expect(values.value == [[1, 9]])
        await backend.shutDown()
    }

    @Test func `a change is told once, also if the link ends before the services are discovered again`() async throws {
        var events = await peripheral.connectionEvents().makeAsyncIterator()
        try await peripheral.connect()
        await device.setServices([Self.tank(), Self.more])
        while let event = try await events.next() { if case .servicesChanged = event { break } }
        try await peripheral.disconnect()
        try await peripheral.connect()
        #expect(try await peripheral.read(Self.other) == 1)
        await world.central.shutDown()
        var changes = 0
        do { while let event = try await events.next() { if case .servicesChanged = event { changes += 1 } } } catch {}
        #expect(changes == 0)
    }

    @Test func `values stay in services that are as before`() async throws {
        try await peripheral.connect()
        await device.notify([9], from: Self.level.key)
        let description = BluetoothUUID(0x2901)
        try await peripheral.writeDescriptor([5], to: description, of: Self.level.key)
        await device.setServices([Self.tank(), Self.more])
        #expect(try await peripheral.read(Self.other) == 1)
        #expect(try await peripheral.read(Self.level) == 9)
        #expect(try await peripheral.readDescriptor(description, of: Self.level.key) == [5])
        // A definition with another value has its own.
        await device.setServices([Self.tank(value: 8), Self.more])
        #expect(try await peripheral.read(Self.level) == 8)
        await device.setServices([Self.more])
        await device.setServices([Self.tank(value: 8), Self.more])
        await device.notify([3], from: Self.level.key)
        await device.setServices([Self.more])
        await device.setServices([Self.tank(value: 8)])
        #expect(try await peripheral.read(Self.level) == 8)
    }

    @Test func `an indication of a characteristic that is gone is not confirmed`() async throws {
        let outcome = SharedValue<Result<Void, any Error>?>(nil)
        let (peripheral, device) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(localName: "Other", rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                Self.level.uuid, .indicate,
                                onSubscribe: { notifier in
                                    // Goes on when its subscription has ended.
                                    let result = await Task { try await notifier.indicate([1]) }.result
                                    outcome.change { $0 = result }
                                })
                        ])
                ]))
        let held = await device.hold(.indicate)
        try await peripheral.connect()
        let values = try await peripheral.notifications(Self.level)
        await held.disturbed()
        await device.setServices([Self.more])
        await held.release()
        try await outcome.until { $0 != nil }
        #expect((outcome.value?.failure as? BLEError)?.code == .disconnected)
        _ = values
    }
}
