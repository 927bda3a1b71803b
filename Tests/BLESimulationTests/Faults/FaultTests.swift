import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Logging
import Testing

/// What a test can disturb on a peripheral, besides what `RadioContract` checks.
@Suite(.hangLimit) struct FaultTests {
    private let world: SimulatedWorld
    private let peripheral: Peripheral
    private let device: SimulatedPeripheral

    private static let level = Characteristic<UInt8>(BluetoothUUID(0xFF01), service: BluetoothUUID(0xFF00))
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
                            CharacteristicDefinition(Self.level.uuid, [.read, .notify], value: [7]),
                            CharacteristicDefinition(Self.alarm.uuid, [.read, .indicate], value: [0]),
                        ])
                ]))
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

    @Test(arguments: 0..<8)
    func `an adapter that goes off ends a held scan and a held attempt to connect`(_ turns: Int) async throws {
        let (world, id) = (world, device.id)
        let codes = SharedValue<[BLEError.Code?]>([])
        let backend = SimulatedBackend.simulated(world.radio)
        try await backend.start(
            CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock))
        await world.run {
            for event in [SimulatedEvent.scan, .connect] {
                let fault = await world.radio.hold(event)
                async let ended: Void = {
                    let result = await Result {
                        if event == .scan {
                            try await backend.startDiscovery(DiscoveryFilter())
                        } else {
                            try await backend.connect(id)
                        }
                    }
                    codes.change { $0.append((result.failure as? BLEError)?.code) }
                }()
                for _ in 0..<turns { await Task.yield() }
                await world.radio.setPowered(false)
                await world.clock.run(for: .seconds(1))
                #expect(codes.value.last == .poweredOff)
                codes.change { $0 = [] }
                await fault.release()
                await ended
                await world.radio.setPowered(true)
            }
        }
    }

    @Test(arguments: 0..<12)
    func `a read does not go on over a new link of its peripheral`(_ turns: Int) async throws {
        let backend = SimulatedBackend.simulated(world.radio)
        let ending = SharedValue<(@Sendable () -> Void)?>(nil)
        let device = await world.radio.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                Self.level.uuid, .read,
                                authorize: { _, _ in
                                    ending.value?()
                                    for _ in 0..<turns { await Task.yield() }
                                },
                                onRead: { _ in
                                    for _ in 0..<20 { await Task.yield() }
                                    return [1]
                                })
                        ])
                ]))
        try await backend.start(
            CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock))
        try await backend.startDiscovery(DiscoveryFilter())
        await world.clock.sleepers()
        try await backend.connect(device.id)
        ending.change {
            $0 = {
                Task.immediate { await device.dropLink() }
                Task.immediate { try? await backend.connect(device.id) }
            }
        }
        let handle = try #require(try await backend.discoverServices(device.id).services.first?.characteristics.first)
            .handle
        await expectError(.disconnected) {
            _ = try await backend.perform(
                .read(offset: 0), on: AttributeID(peripheral: device.id, handle: handle))
        }
        await backend.shutDown()
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

    @Test func `a link is lost after a request that fails, and its answer with it`() async throws {
        let refusing = Characteristic<UInt8>(BluetoothUUID(0xFF03), service: BluetoothUUID(0xFF00))
        let (peripheral, device) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        BluetoothUUID(0xFF00),
                        characteristics: [
                            CharacteristicDefinition(
                                refusing.uuid, .read, onRead: { (_) throws(ATTError) in throw .insufficientResources })
                        ])
                ]))
        try await peripheral.connect()
        await device.dropLink(after: .read, .next(1))
        await expectError(.disconnected) { try await peripheral.read(refusing) }
        #expect(await !device.isConnected)
        // A failure of another fault is an answer, too.
        try await peripheral.connect()
        await device.dropLink(after: .read, .next(1))
        await device.fail(.read, .next(1), with: .valueNotAllowed)
        await expectError(.disconnected) { try await peripheral.read(refusing) }
        #expect(await !device.isConnected)
        try await peripheral.connect()
        let error = await expectError(.attributeError) { try await peripheral.read(refusing) }
        #expect(error?.attError == .insufficientResources)
        #expect(await device.isConnected)
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

    @Test func `a held value does not reach the characteristic that has its handle afterward`() async throws {
        try await peripheral.connect()
        let former = try await peripheral.notifications(Self.level)
        let held = await device.hold(.notify, .next(1))
        await device.notify([1], from: Self.level.key)
        #expect(await held.count == 1)
        await device.setServices([
            ServiceDefinition(
                BluetoothUUID(0xFF00), characteristics: [CharacteristicDefinition(Self.alarm.uuid, [.notify])])
        ])
        await expectError(.characteristicNotFound) { for try await _ in former {} }
        var values = try await peripheral.notifications(Self.alarm).makeAsyncIterator()
        await held.release()
        await device.notify([2], from: Self.alarm.key)
        #expect(try await values.next() == 2)
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
