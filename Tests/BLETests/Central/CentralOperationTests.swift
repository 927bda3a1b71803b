import BLE
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CentralOperationTests {
    private let bench: Bench
    private var strap: Peripheral { bench.strap }

    init() async throws { bench = try await Bench() }

    /// A task that reads the level. When this returns, the backend has the call.
    private func reading(_ behavior: ScriptedBackend.Behavior, timeout: Duration? = nil) async -> Task<
        UInt8, any Error
    > {
        await bench.backend.script(.read, behavior)
        let task = Task { [strap] in try await strap.read(Bench.level, timeout: timeout) }
        await bench.backend.asked(.read)
        await bench.clock.sleepers(1)
        return task
    }

    /// Tasks that write one byte each, 0 first, in their order.
    private func writing(
        _ count: Int, to characteristic: Characteristic<[UInt8]> = Bench.command, timeout: Duration? = nil
    ) async throws -> [Task<Void, any Error>] {
        try await strap.connect()
        var tasks: [Task<Void, any Error>] = []
        for number in 0..<count {
            let sleeping = bench.clock.sleeperCount
            tasks.append(
                Task { [strap] in try await strap.write([UInt8(number)], to: characteristic, timeout: timeout) })
            await bench.clock.sleepers(sleeping + 1)
        }
        await bench.backend.asked(.write)
        return tasks
    }

    @Test func `reading connects, discovers and reads`() async throws {
        await bench.backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        #expect(
            await bench.backend.calls == [.start, .connect(strap.id), .discoverServices(strap.id), .read(2)])
    }

    @Test func `a deadline ends the wait for a backend that never answers`() async throws {
        let read = await reading(.ignore)
        bench.clock.advance(by: .seconds(30))
        let error = await expectError(.timedOut) { try await read.value }
        #expect(error?.isRetryable == true)
        #expect(error?.peripheral == strap.id)
        #expect(error?.service == Bench.battery)
        #expect(error?.characteristic == Bench.level.key.characteristic)
        await bench.backend.release(.read)
        await bench.backend.set([80], of: 2)
        #expect(try await strap.read(Bench.level) == 80)
    }

    @Test func `a deadline can be shorter than the configuration's`() async throws {
        let read = await reading(.ignore, timeout: .seconds(2))
        bench.clock.advance(by: .seconds(2))
        await expectError(.timedOut) { try await read.value }
        await bench.backend.release(.read)
    }

    @Test func `cancelling ends the wait for a backend that never answers`() async throws {
        let read = await reading(.ignore)
        read.cancel()
        await expectError(.cancelled) { try await read.value }
        await bench.backend.release(.read)
    }

    @Test func `the end of the link fails what waits at once, on that peripheral only`() async throws {
        let read = await reading(.ignore)
        let other = Task { [bench] in
            await bench.backend.script(.write, .hold)
            try await bench.lamp.write([1], to: Bench.command)
        }
        await bench.backend.asked(.write)
        await bench.dropLink()
        let error = await expectError(.disconnected) { try await read.value }
        #expect(error?.peripheral == strap.id)
        await bench.backend.release(.write)
        try await other.value
        await bench.backend.release(.read)
    }

    @Test func `a disconnect fails what waits at once`() async throws {
        let read = await reading(.ignore)
        try await strap.disconnect()
        await expectError(.disconnected) { try await read.value }
        await bench.backend.release(.read)
    }

    @Test func `an error of the backend says where it happened`() async throws {
        await bench.backend.script(.read, .fail(BLEError(ATTError.insufficientEncryption)))
        let error = await expectError(.pairingRequired) { try await strap.read(Bench.level) }
        #expect(error?.attError == .insufficientEncryption)
        #expect(error?.peripheral == strap.id)
        #expect(error?.service == Bench.battery)
        #expect(error?.characteristic == Bench.level.key.characteristic)
    }

    @Test func `a value that its type cannot be made of says where it came from`() async throws {
        await bench.backend.set([], of: 2)
        let error = await expectError(.invalidValue) { try await strap.read(Bench.level) }
        #expect(error?.peripheral == strap.id)
        #expect(error?.characteristic == Bench.level.key.characteristic)
    }

    // MARK: Turns

    @Test func `writes on one characteristic go one after the other, in order`() async throws {
        await bench.backend.script(.write, .hold, .hold, .hold)
        let writes = try await writing(3)
        for (number, write) in writes.enumerated() {
            await bench.backend.asked(.write, number + 1)
            #expect(await bench.backend.count(.write) == number + 1)
            await bench.backend.release(.write)
            try await write.value
        }
        #expect(await bench.backend.calls(.write) == [.write([0], 11), .write([1], 11), .write([2], 11)])
    }

    @Test func `a queued write that is cancelled leaves the queue`() async throws {
        await bench.backend.script(.write, .hold)
        let writes = try await writing(3)
        writes[1].cancel()
        await expectError(.cancelled) { try await writes[1].value }
        await bench.backend.release(.write)
        try await writes[0].value
        try await writes[2].value
        #expect(await bench.backend.calls(.write) == [.write([0], 11), .write([2], 11)])
    }

    @Test func `the deadline of a queued write runs while it waits`() async throws {
        await bench.backend.script(.write, .hold)
        let first = try await writing(1)[0]
        let second = Task { [strap] in try await strap.write([9], to: Bench.command, timeout: .seconds(1)) }
        await bench.clock.sleepers(2)
        bench.clock.advance(by: .seconds(1))
        await expectError(.timedOut) { try await second.value }
        await bench.backend.release(.write)
        try await first.value
        #expect(await bench.backend.calls(.write) == [.write([0], 11)])
    }

    @Test func `a write that fails lets the next one go`() async throws {
        await bench.backend.script(.write, .hold)
        let writes = try await writing(2)
        await bench.backend.release(.write, Bench.error(.failed))
        await expectError(.failed) { try await writes[0].value }
        try await writes[1].value
    }

    @Test func `the end of the link empties the queue`() async throws {
        await bench.backend.script(.write, .hold)
        let writes = try await writing(6)
        await bench.dropLink()
        for write in writes { await expectError(.disconnected) { try await write.value } }
        try await strap.write([7], to: Bench.command)
        #expect(await bench.backend.calls(.write) == [.write([0], 11), .write([7], 11)])
    }

    @Test func `a read waits for a write on the same characteristic, not on another`() async throws {
        await bench.backend.script(.write, .hold)
        let write = try await writing(1, to: Bench.setting)[0]
        let read = Task { [strap] in try await strap.read(Bench.setting) }
        await bench.clock.sleepers(2)
        await bench.backend.set([90], of: 2)
        #expect(try await strap.read(Bench.level) == 90)
        #expect(await bench.backend.calls(.read) == [.read(2)])
        await bench.backend.release(.write)
        try await write.value
        _ = try await read.value
        #expect(await bench.backend.calls(.read) == [.read(2), .read(14)])
    }

    // MARK: Refusals

    @Test func `what a characteristic does not allow is refused before anything is sent`() async throws {
        await expectError(.notSupported) { try await strap.read(Bench.command) }
        await expectError(.notSupported) { try await strap.write(1, to: Bench.level) }
        await expectError(.notSupported) { try await strap.write([1], to: Bench.setting, type: .withoutResponse) }
        let error = await expectError(.notSupported) { try await strap.notifications(Bench.command) }
        #expect(error?.isRetryable == false)
        #expect(error?.characteristic == Bench.command.key.characteristic)
        #expect(await bench.backend.count(.read) == 0)
        #expect(await bench.backend.count(.write) == 0)
        #expect(await bench.backend.count(.startNotifications) == 0)
    }

    @Test func `a value that no attribute can hold is refused without a link`() async throws {
        let error = await expectError(.invalidLength) {
            try await strap.write(Array(repeating: 0, count: 513), to: Bench.command)
        }
        #expect(error?.characteristic == Bench.command.key.characteristic)
        #expect(await bench.backend.calls == [.start])
        try await strap.write(Array(repeating: 0, count: 512), to: Bench.command)
    }

    @Test(arguments: [(508, false), (509, true)])
    func `a long value that is refused for its length has a remedy`(count: Int, hasRemedy: Bool) async throws {
        await bench.backend.script(.write, .fail(BLEError(ATTError.invalidAttributeValueLength)))
        let error = await expectError(.invalidLength) {
            try await strap.write(Array(repeating: 0, count: count), to: Bench.command)
        }
        #expect(error?.attError == .invalidAttributeValueLength)
        #expect((error?.remedy?.contains("508 bytes") == true) == hasRemedy)
    }

    @Test func `a service that is not there is named`() async throws {
        let missing = BluetoothUUID(0x180D)
        let error = await expectError(.serviceNotFound) {
            try await strap.read(Characteristic<[UInt8]>(BluetoothUUID(0x2A38), service: missing))
        }
        #expect(error?.missingUUIDs == [missing])
        #expect(error?.peripheral == strap.id)
    }

    @Test func `descriptors are read and written by type`() async throws {
        await bench.backend.set([0x41], of: 5)
        #expect(try await strap.readDescriptor(BluetoothUUID(0x2901), of: Bench.level.key) == [0x41])
        try await strap.writeDescriptor([0x42], to: BluetoothUUID(0x2901), of: Bench.level.key)
        #expect(
            await bench.backend.calls(.readDescriptor, .writeDescriptor) == [
                .readDescriptor(5), .writeDescriptor([0x42], 5),
            ])
        let missing = BluetoothUUID(0x2904)
        let error = await expectError(.characteristicNotFound) {
            try await strap.readDescriptor(missing, of: Bench.level.key)
        }
        #expect(error?.missingUUIDs == [missing])
        #expect(error?.characteristic == Bench.level.key.characteristic)
    }

    @Test func `the client characteristic configuration is not written, and the link is not made for it`() async throws
    {
        let error = await expectError(.notSupported) {
            try await strap.writeDescriptor([1], to: BluetoothUUID(0x2902), of: Bench.level.key)
        }
        #expect(error?.attError == nil)
        #expect(error?.remedy?.contains("notifications") == true)
        #expect(await bench.backend.calls == [.start])
    }

    @Test func `of several descriptors of a type one is named by its handle`() async throws {
        let type = BluetoothUUID(0x290D)
        let thing = GATTCharacteristic(
            uuid: Bench.level.key.characteristic, handle: 2, properties: .read,
            descriptors: [GATTDescriptor(uuid: type, handle: 4), GATTDescriptor(uuid: type, handle: 5)])
        await bench.backend.set(
            GATTDatabase(services: [GATTService(uuid: BluetoothUUID(0x181A), handle: 1, characteristics: [thing])]))
        await bench.backend.set([0x41], of: 4)
        await bench.backend.set([0x42], of: 5)
        #expect(try await strap.readDescriptor(type, of: thing.key) == [0x41])
        #expect(try await strap.readDescriptor(type, handle: 5, of: thing.key) == [0x42])
        try await strap.writeDescriptor([1], to: type, handle: 5, of: thing.key)
        #expect(await bench.backend.calls(.writeDescriptor) == [.writeDescriptor([1], 5)])
        await expectError(.characteristicNotFound) { try await strap.readDescriptor(type, handle: 6, of: thing.key) }
    }

    @Test func `services that have changed are discovered again, without a new link`() async throws {
        try await strap.connect()
        await bench.backend.set(GATTDatabase(services: []))
        await bench.backend.emit(.servicesChanged(strap.id))
        await expectError(.serviceNotFound) { try await strap.read(Bench.level) }
        #expect(await bench.backend.count(.connect) == 1)
        #expect(await bench.backend.count(.discoverServices) == 2)
    }

    @Test func `services that never settle do not keep a central that is shut down`() async throws {
        try await strap.connect()
        await bench.backend.script(.discoverServices, .hold)
        await bench.backend.emit(.servicesChanged(strap.id))
        let reading = Task { [strap] in try await strap.read(Bench.level) }
        await bench.backend.asked(.discoverServices, 2)
        await bench.central.shutDown()
        await expectError(.shutDown) { try await reading.value }
        await until { await bench.backend.heldCount == 0 }
    }
}
