import BLE
import BLETestSupport
import Testing

/// Two services of one type, each with a characteristic of one type.
@Suite(.hangLimit) struct PeripheralServiceTests {
    private static let (type, value) = (BluetoothUUID(0xFF10), BluetoothUUID(0xFF11))
    private static let key = CharacteristicKey(characteristic: value)
    private let bench: Bench
    private let second: PeripheralService

    init() async throws {
        bench = try await Bench()
        let services = [20, 30].map { (handle: UInt16) in
            GATTService(
                uuid: Self.type, handle: handle,
                characteristics: [
                    GATTCharacteristic(
                        uuid: Self.value, handle: handle + 1,
                        properties: [.read, .write, .writeWithoutResponse, .notify],
                        descriptors: [
                            GATTDescriptor(uuid: BluetoothUUID(0x2901), handle: handle + 3),
                            GATTDescriptor(uuid: BluetoothUUID(0x2904), handle: handle + 4),
                        ])
                ])
        }
        await bench.backend.set(GATTDatabase(services: services))
        second = PeripheralService(Self.type, on: bench.strap, handle: 30)
    }

    @Test func `every operation reaches the second of two services of one type`() async throws {
        let typed = Characteristic<[UInt8]>(Self.value)
        await bench.backend.set([1, 2], of: 31)
        await bench.backend.set(Array("Fan".utf8), of: 33)
        await bench.backend.set([4, 0, 0xAD, 0x27, 1, 0, 0], of: 34)
        #expect(try await second.read(Self.key.bytes) == [1, 2])
        #expect(try await second.read(typed) == [1, 2])
        _ = try await second.readBytes(of: Self.key, offset: 1)
        try await second.write([3], to: Self.key.bytes)
        try await second.write([4], to: typed, type: .withoutResponse)
        #expect(try await second.userDescription(of: Self.key) == "Fan")
        #expect(try await second.presentationFormat(of: Self.key)?.unit == BluetoothUUID(0x27AD))
        #expect(try await second.readDescriptor(BluetoothUUID(0x2901), of: Self.key) == Array("Fan".utf8))
        try await second.writeDescriptor([5], to: BluetoothUUID(0x2901), of: Self.key)
        _ = try await second.packetWriter(to: typed)
        _ = try await second.notifications(typed, delivery: .socket)
        _ = try await second.notifications(Self.key.bytes)
        let handles = await bench.backend.calls.compactMap { call -> UInt16? in
            switch call {
            case .read(let handle), .write(_, let handle), .readDescriptor(let handle), .writeDescriptor(_, let handle),
                .startNotifications(let handle), .acquireNotifications(let handle), .acquireWriting(let handle):
                handle
            default: nil
            }
        }
        #expect(handles.count >= 11)
        #expect(handles.allSatisfy { (31...34).contains($0) })
    }

    @Test func `a characteristic of another service is refused, with the service that it names`() async throws {
        let (service, other) = (second, Bench.level)
        let bytes = Characteristic<[UInt8]>(Self.value, service: Bench.battery)
        let calls: [() async throws -> Void] = [
            { _ = try await service.read(other) }, { _ = try await service.readIfPresent(other) },
            { try await service.write(1, to: other) }, { _ = try await service.notifications(other) },
            { _ = try await service.packetWriter(to: other) }, { _ = try await service.request(1, on: other) },
            { _ = try await service.read(other.key.bytes) }, { _ = try await service.readBytes(of: other.key) },
            { try await service.writeBytes([1], to: other.key) }, { _ = try await service.read(bytes) },
            { _ = try await service.userDescription(of: other.key) }, { _ = try await service.characteristic(other) },
            { _ = try await service.readDescriptor(BluetoothUUID(0x2901), of: other.key) },
        ]
        for call in calls {
            let error = await expectError(.invalidArgument) { try await call() }
            #expect(error?.service == Bench.battery)
            #expect(error?.message.contains(Self.type.description) == true)
        }
        #expect(await bench.backend.calls == [.start])
        var key = Self.key
        key.service = Self.type
        key.serviceHandle = 20
        await expectError(.invalidArgument) { try await service.readBytes(of: key) }
    }

    @Test(arguments: [true, false]) func `a request goes to the second service`(_ isTyped: Bool) async throws {
        let answer = Task {
            isTyped
                ? try await second.request([7], on: Characteristic<[UInt8]>(Self.value))
                : try await second.request([7], on: Self.key.bytes)
        }
        await bench.backend.asked(.write)
        await bench.backend.notify([8], from: 31)
        #expect(try await answer.value == [8])
        #expect(await bench.backend.calls(.write) == [.write([7], 31)])
    }
}

@Suite(.hangLimit) struct ReadIfPresentTests {
    @Test func `what is missing or cannot be read is nil, and a refusal is an error`() async throws {
        let bench = try await Bench()
        await bench.backend.set([42], of: 2)
        #expect(try await bench.strap.readIfPresent(Bench.level) == 42)
        #expect(try await bench.strap.readIfPresent(Bench.command) == nil)
        #expect(try await bench.strap.readIfPresent(Characteristic<UInt8>(BluetoothUUID(0x2A00))) == nil)
        await bench.backend.script(.read, .fail(Bench.error(.notPermitted)))
        await expectError(.notPermitted) { try await bench.strap.readIfPresent(Bench.level) }
        try await bench.strap.disconnect()
        await bench.backend.script(.connect, .fail(Bench.error(.connectionFailed)))
        await expectError(.connectionFailed) { try await bench.strap.readIfPresent(Bench.level) }
    }
}
