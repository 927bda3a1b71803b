import BLE
import BLESimulation
import BLETestSupport
import Logging
import Testing

@Suite(.hangLimit) struct SimulatedHandlerTests {
    private static let uuid = BluetoothUUID(0xFF01)
    private static let characteristic = Characteristic<[UInt8]>(uuid)

    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private func add(_ characteristic: CharacteristicDefinition) async throws -> (Peripheral, SimulatedPeripheral) {
        try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [ServiceDefinition(BluetoothUUID(0xFF00), characteristics: [characteristic])]))
    }

    /// Waits for an hour of virtual time; ends early when it is cancelled.
    private static func linger(_ clock: ManualClock) async { try? await clock.sleep(for: .seconds(3600)) }

    private static let answers: [(ATTError, BLEError.Code)] = [
        (.readNotPermitted, .notPermitted), (.insufficientEncryption, .pairingRequired),
        (.requestNotSupported, .notSupported), (.invalidOffset, .invalidOffset),
        (.invalidAttributeValueLength, .invalidLength), (.unlikelyError, .attributeError),
        (ATTError(rawValue: 0x80), .attributeError),
    ]

    // MARK: Reading

    @Test func `a handler answers in the value's place`() async throws {
        let count = SharedValue<UInt8>(0)
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, .read, value: [9],
                onRead: { _ in
                    count.change {
                        $0 += 1
                        return [$0]
                    }
                }))
        #expect(try await thing.read(Self.characteristic) == [1])
        #expect(try await thing.read(Self.characteristic) == [2])
        #expect(await grip.value(of: Self.uuid) == [9])
    }

    @Test func `a command that is authorized after the end of its link is not carried out`() async throws {
        let asked = SharedValue(0)
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.writeWithoutResponse], value: [9],
                authorize: { [clock = world.clock] (_, _) in
                    asked.change { $0 += 1 }
                    await Self.linger(clock)
                }))
        try await thing.write([1], to: Self.characteristic, type: .withoutResponse)
        await until { asked.value == 1 }
        await grip.dropLink()
        await world.clock.sleepers(0, for: .seconds(3600))
        for _ in 0..<100 { await Task.yield() }
        #expect(await grip.value(of: Self.uuid) == [9])
    }

    /// The services are replaced while a request waits for its authorization.
    @Test(arguments: [nil, WriteType.withResponse, .withoutResponse])
    func `a request that is authorized does not reach another characteristic with the handle`(
        _ write: WriteType?
    ) async throws {
        let asked = SharedValue(0)
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.read, .write, .writeWithoutResponse], value: [9],
                authorize: { [clock = world.clock] (_, _) in
                    asked.change { $0 += 1 }
                    try? await clock.sleep(for: .seconds(1))
                }))
        try await thing.connect()
        await until { world.clock.sleeperCount == 0 }
        let result = SharedValue<BLEError.Code?>(nil)
        let request = Task {
            do throws(BLEError) {
                if let write {
                    try await thing.write([1], to: Self.characteristic, type: write)
                } else {
                    _ = try await thing.read(Self.characteristic)
                }
            } catch {
                result.change { $0 = error.code }
            }
        }
        await until { asked.value == 1 }
        let other = BluetoothUUID(0xFF02)
        await grip.setServices([
            ServiceDefinition(
                BluetoothUUID(0xFF00),
                characteristics: [
                    CharacteristicDefinition(other, [.read, .write, .writeWithoutResponse], value: [7])
                ])
        ])
        await world.clock.run(for: .seconds(2))
        await request.value
        #expect(await grip.value(of: other) == [7])
        #expect((result.value != nil) == (write != .withoutResponse))
    }

    @Test(arguments: answers) func `a handler's ATT error is the reader's`(
        _ answer: ATTError, _ code: BLEError.Code
    ) async throws {
        let (thing, _) = try await add(
            CharacteristicDefinition(Self.uuid, .read, onRead: { (_) throws(ATTError) in throw answer }))
        let error = await expectError(code) { try await thing.read(Self.characteristic) }
        #expect(error?.attError == answer)
        #expect(error?.characteristic == Self.uuid)
    }

    /// A peripheral whose reads take an hour, and a read of it.
    private func reading() async throws -> (Task<[UInt8], any Error>, SimulatedPeripheral) {
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, .read,
                onRead: { [clock = world.clock] _ in
                    await Self.linger(clock)
                    return [1]
                }))
        try await thing.connect()
        // The scan that has found it may not have ended yet.
        await until { world.clock.sleeperCount == 0 }
        let read = Task { try await thing.read(Self.characteristic) }
        await world.clock.sleepers(2)  // the deadline, and the handler
        return (read, grip)
    }

    @Test func `a handler may take its time`() async throws {
        let (thing, _) = try await add(
            CharacteristicDefinition(
                Self.uuid, .read,
                onRead: { [clock = world.clock] _ in
                    try? await clock.sleep(for: .seconds(5))
                    return [1]
                }))
        try await thing.connect()
        // The scan that has found it may not have ended yet.
        await until { world.clock.sleeperCount == 0 }
        let read = Task { try await thing.read(Self.characteristic) }
        await world.clock.sleepers(2)
        world.clock.advance(by: .seconds(5))
        #expect(try await read.value == [1])
    }

    @Test func `the end of the link fails the reader and cancels the handler`() async throws {
        let (read, grip) = try await reading()
        await grip.dropLink()
        await expectError(.disconnected) { try await read.value }
        await until { world.clock.sleeperCount == 0 }
    }

    @Test func `a reader that gives up cancels the handler`() async throws {
        let (read, grip) = try await reading()
        read.cancel()
        await expectError(.cancelled) { try await read.value }
        await until { world.clock.sleeperCount == 0 }
        #expect(await grip.isConnected)
    }

    @Test func `a deadline cancels the handler`() async throws {
        let (read, _) = try await reading()
        world.clock.advance(by: .seconds(30))
        await expectError(.timedOut) { try await read.value }
        await until { world.clock.sleeperCount == 0 }
    }

    // MARK: Writing

    @Test func `without a handler what is written is read and notified`() async throws {
        let (thing, grip) = try await add(CharacteristicDefinition(Self.uuid, [.read, .write, .notify], value: [1]))
        var values = try await thing.notifications(Self.characteristic).makeAsyncIterator()
        try await thing.write([2], to: Self.characteristic)
        #expect(try await thing.read(Self.characteristic) == [2])
        #expect(try await values.next() == [2])
        #expect(await grip.value(of: Self.uuid) == [2])
    }

    @Test func `a handler learns what is written and how`() async throws {
        let written = SharedValue<[WriteType: [UInt8]]>([:])
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.write, .writeWithoutResponse], value: [9],
                onWrite: { value, request in written.change { $0[request.writeType ?? .reliable] = value } }))
        try await thing.write([1], to: Self.characteristic)
        try await thing.write([2], to: Self.characteristic, type: .withoutResponse)
        await until { written.value.count >= 2 }
        #expect(written.value == [.withResponse: [1], .withoutResponse: [2]])
        #expect(await grip.value(of: Self.uuid) == [9])
    }

    @Test(arguments: answers) func `a handler's ATT error is the writer's, if one waits`(
        _ answer: ATTError, _ code: BLEError.Code
    ) async throws {
        let (thing, _) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.write, .writeWithoutResponse], onWrite: { (_, _) throws(ATTError) in throw answer }))
        let error = await expectError(code) { try await thing.write([1], to: Self.characteristic) }
        #expect(error?.attError == answer)
        try await thing.write([1], to: Self.characteristic, type: .withoutResponse)
    }

    @Test func `the end of the link cancels the handler of a write whose caller has left`() async throws {
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, .writeWithoutResponse,
                onWrite: { [clock = world.clock] _, _ in await Self.linger(clock) }))
        try await thing.write([1], to: Self.characteristic, type: .withoutResponse)
        await until { world.clock.sleeperCount == 1 }
        await grip.dropLink()
        #expect(world.clock.sleeperCount == 0)
        world.clock.advance(by: .seconds(3600))
    }

    // MARK: Subscribing

    @Test func `a subscription's handler runs until it is ended`() async throws {
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, .notify,
                onSubscribe: { notifier in
                    await notifier.notify([1])
                    try await notifier.clock.sleep(for: .seconds(1))
                    await notifier.notify([2])
                    try await notifier.clock.sleep(for: .seconds(3600))
                }))
        func subscribe() async throws {
            let stream = try await thing.notifications(Self.characteristic)
            var values = stream.makeAsyncIterator()
            #expect(try await values.next() == [1])
            await world.clock.sleepers(1)
            world.clock.advance(by: .seconds(1))
            #expect(try await values.next() == [2])
            await world.clock.sleepers(1)
        }
        try await subscribe()
        await until { world.clock.sleeperCount == 0 }
        try await subscribe()
        await grip.dropLink()
        await until { world.clock.sleeperCount == 0 }
    }

    @Test func `what a handler sends after its subscription has ended goes nowhere`() async throws {
        let notifiers = SharedValue<[Notifier]>([])
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.read, .notify], value: [0],
                onSubscribe: { notifier in notifiers.change { $0.append(notifier) } }))
        func subscribe() async throws {
            _ = try await thing.notifications(Self.characteristic)
            await until { notifiers.value.count >= 1 }
        }
        try await subscribe()
        await until { await grip.subscriberCount(of: Self.uuid) == 0 }
        var values = try await thing.notifications(Self.characteristic).makeAsyncIterator()
        await until { notifiers.value.count >= 2 }
        let (old, new) = (notifiers.value[0], notifiers.value[1])
        await old.notify([1])
        #expect(try await thing.read(Self.characteristic) == [0])
        await new.notify([2])
        #expect(try await values.next() == [2])
        await grip.dropLink()
        await new.notify([3])
        #expect(try await thing.read(Self.characteristic) == [2])
    }

    @Test func `a handler that ends early ends nothing else`() async throws {
        let (thing, grip) = try await add(CharacteristicDefinition(Self.uuid, .notify, onSubscribe: { _ in }))
        var values = try await thing.notifications(Self.characteristic).makeAsyncIterator()
        await grip.notify([1], from: Self.uuid)
        #expect(try await values.next() == [1])
    }

    @Test func `a handler that throws before it waits rejects the subscription`() async throws {
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.read, .notify], value: [1], onSubscribe: { _ in throw ATTError(rawValue: 0x85) }))
        let refused = await expectError(.attributeError) { _ = try await thing.notifications(Self.characteristic) }
        #expect(refused?.attError == ATTError(rawValue: 0x85))
        #expect(await grip.subscriberCount(of: Self.uuid) == 0)
        #expect(try await thing.read(Self.characteristic) == [1])
    }

    @Test func `a handler's other errors are rejections that say what it has thrown`() async throws {
        let (thing, _) = try await add(
            CharacteristicDefinition(Characteristic<UInt8>(Self.uuid)) { _, _ in
                throw BLEError(.invalidValue, "no such value")
            })
        let refused = await expectError(.attributeError) { _ = try await thing.notifications(Self.characteristic) }
        #expect(refused?.attError == .unlikelyError)
        #expect(refused?.message.contains("no such value") == true)
    }

    @Test func `a handler that throws later ends its subscription, and the link stays`() async throws {
        let (thing, grip) = try await add(
            CharacteristicDefinition(
                Self.uuid, [.read, .notify], value: [0],
                onSubscribe: { notifier in
                    await notifier.notify([1])
                    try await notifier.clock.sleep(for: .seconds(1))
                    throw ATTError.unlikelyError
                }))
        var values = try await thing.notifications(Self.characteristic).makeAsyncIterator()
        #expect(try await values.next() == [1])
        await world.clock.sleepers(1, for: .seconds(1))
        world.clock.advance(by: .seconds(1))
        await until { await grip.subscriberCount(of: Self.uuid) == 0 }
        #expect(try await thing.read(Self.characteristic) == [1])
    }

    @Test func `a handler indicates, if its characteristic does`() async throws {
        let errors = SharedValue<[BLEError.Code]>([])
        for properties: CharacteristicProperties in [.indicate, .notify] {
            let (thing, _) = try await add(
                CharacteristicDefinition(
                    Self.uuid, properties,
                    onSubscribe: { notifier in
                        do throws(BLEError) {
                            try await notifier.indicate([1])
                        } catch {
                            errors.change { $0.append(error.code) }
                        }
                        await notifier.notify([2])
                    }))
            var values = try await thing.notifications(Self.characteristic).makeAsyncIterator()
            #expect(try await values.next() == (properties == .indicate ? [1] : [2]))
        }
        #expect(errors.value == [.notSupported])
    }

    @Test func `a control point's answer may depend on the central`() async throws {
        let (thing, _) = try await add(
            .controlPoint(
                Self.uuid,
                answering: { (value, request) throws(ATTError) in
                    guard value != [0] else { throw .insufficientAuthorization }
                    return Array(request.central.rawValue.utf8.prefix(2))
                }))
        let answer: [UInt8] = try await thing.request([1], on: Self.characteristic)
        #expect(answer == Array("CE".utf8))
        let refused = await expectError(.notPermitted) {
            _ = try await thing.request([0], on: Self.characteristic) as [UInt8]
        }
        #expect(refused?.attError == .insufficientAuthorization)
    }

    // MARK: Requests that no central makes

    @Test func `an offset past the longest value is refused as an offset`() async throws {
        let (thing, grip) = try await add(CharacteristicDefinition(Self.uuid, .write))
        await thing.central.shutDown()
        let backend = SimulatedBackend.simulated(world.radio)
        let handled = CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock)
        try await backend.start(handled)
        try await backend.startDiscovery(DiscoveryFilter())
        await world.clock.sleepers(1)
        try await backend.connect(grip.id)
        let attribute = AttributeID(peripheral: grip.id, handle: 2)
        for (offset, expected) in [(512, ATTError.invalidAttributeValueLength), (513, .invalidOffset)] {
            let error = await #expect(throws: BLEError.self) {
                try await backend.perform(.write([1], type: .withResponse, offset: offset), on: attribute)
            }
            #expect(error?.attError == expected)
        }
    }

    @Test func `the peripheral itself refuses what it does not allow`() async throws {
        let (thing, grip) = try await add(CharacteristicDefinition(Self.uuid, []))
        await thing.central.shutDown()
        let backend = SimulatedBackend.simulated(world.radio)
        let handled = CentralContext(handleEvent: { _ in }, logger: Logger(label: "test"), clock: world.clock)
        try await backend.start(handled)
        try await backend.startDiscovery(DiscoveryFilter())
        await world.clock.sleepers(1)
        try await backend.connect(grip.id)
        let attribute = AttributeID(peripheral: grip.id, handle: 2)
        let nowhere = AttributeID(peripheral: grip.id, handle: 99)
        await expectError(.notPermitted) { try await backend.perform(.read(offset: 0), on: attribute) }
        await expectError(.notPermitted) {
            try await backend.perform(.write([], type: .withResponse, offset: 0), on: attribute)
        }
        await expectError(.notPermitted) {
            try await backend.perform(.write([], type: .withoutResponse, offset: 0), on: attribute)
        }
        await expectError(.notSupported) { try await backend.startNotifications(of: attribute) { _ in } }
        #expect(
            await expectError(.attributeError) { try await backend.perform(.read(offset: 0), on: nowhere) }?.attError
                == .invalidHandle)
        await expectError(.attributeError) {
            try await backend.perform(.write([], type: .withResponse, offset: 0), on: nowhere)
        }
        await expectError(.attributeError) { try await backend.perform(.readDescriptor, on: nowhere) }
        await expectError(.attributeError) { try await backend.perform(.writeDescriptor([]), on: nowhere) }
        await expectError(.attributeError) { try await backend.startNotifications(of: nowhere) { _ in } }
        await grip.dropLink()
        await expectError(.disconnected) { try await backend.perform(.read(offset: 0), on: attribute) }
        await expectError(.disconnected) { try await backend.discoverServices(grip.id) }
    }
}
