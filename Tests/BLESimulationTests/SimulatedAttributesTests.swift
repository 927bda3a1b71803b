import BLE
import BLETestSupport
import Testing

@testable import BLESimulation

@Suite(.hangLimit) struct SimulatedAttributesTests {
    private static let status = BluetoothUUID(0xFF10)
    private static let first = BluetoothUUID(0xFF01)
    private static let second = BluetoothUUID(0xFF02)
    private static let name = BluetoothUUID(0x2901)

    /// The same characteristic on two services.
    private static let services = [
        ServiceDefinition(
            first,
            characteristics: [
                CharacteristicDefinition(
                    status, [.read, .notify, .write], value: [1],
                    descriptors: [DescriptorDefinition(name, value: Array("One".utf8))]),
                CharacteristicDefinition(BluetoothUUID(0xFF11), .read),
            ]),
        ServiceDefinition(
            second, isPrimary: false,
            characteristics: [CharacteristicDefinition(status, [.read, .indicate], value: [2])]),
    ]

    private let definition = PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: services)

    @Test func `services without a handle follow those with one`() {
        var services = Self.services
        services[1].handle = 1
        let attributes = SimulatedAttributes(services)
        #expect(attributes.database.map(\.uuid) == [Self.second, Self.first])
        #expect(attributes.database.map(\.handle) == [1, 5])
        #expect(attributes.characteristics.count == 3)
    }

    @Test func `handles are given out as peripherals do`() {
        let database = SimulatedAttributes(Self.services).database
        #expect(database.map(\.uuid) == [Self.first, Self.second])
        #expect(database.map(\.isPrimary) == [true, false])
        #expect(database.map(\.handle) == [1, 8])
        #expect(database[0]?.characteristics.map(\.handle) == [2, 6])
        #expect(database[0]?.characteristics[0].descriptors.map(\.handle) == [4, 5])
        #expect(database[0]?.characteristics[0].descriptors.map(\.uuid) == [BluetoothUUID(0x2902), Self.name])
        #expect(database[0]?.characteristics[1].descriptors == [])
        #expect(database[1]?.characteristics.map(\.handle) == [9])
        #expect(database[1]?.characteristics[0].descriptors.map(\.handle) == [11])
    }

    @Test func `values are kept by handle`() {
        var attributes = SimulatedAttributes(Self.services)
        #expect(attributes.handles(of: Self.status) == [2, 9])
        #expect(attributes.handles(of: Self.first) == [])
        attributes.characteristics[9]?.value = [7]
        attributes.characteristics[1]?.value = [8]
        attributes.setDescriptor([9], of: 4)
        #expect(attributes.characteristics.mapValues(\.value) == [2: [1], 6: [], 9: [7]])
        #expect(attributes.descriptors.mapValues(\.value) == [4: [9], 5: Array("One".utf8), 11: [0, 0]])
    }

    @Test func `a characteristic that two services have is reached by service or handle`() async throws {
        let (thing, grip) = try await SimulatedWorld().add(definition)
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status)) == [1])
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status, service: Self.first)) == [1])
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status, service: Self.second)) == [2])
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status, handle: 9)) == [2])
        try await thing.write([5], to: Characteristic<[UInt8]>(Self.status, handle: 2))
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status, handle: 9)) == [2])
        #expect(await grip.value(of: Self.status) == [5])
        await expectError(.characteristicNotFound) {
            try await thing.read(Characteristic<[UInt8]>(Self.status, handle: 6))
        }
    }

    @Test func `a notification goes to every characteristic of the type, and to those subscribed`() async throws {
        let (thing, grip) = try await SimulatedWorld().add(definition)
        var first = try await thing.notifications(Characteristic<[UInt8]>(Self.status, handle: 2)).makeAsyncIterator()
        await grip.notify([3], from: Self.status)
        var second = try await thing.notifications(Characteristic<[UInt8]>(Self.status, handle: 9)).makeAsyncIterator()
        #expect(await grip.subscriberCount(of: Self.status) == 2)
        await grip.notify([4], from: Self.status)
        #expect(try await [first.next(), first.next()] == [[3], [4]])
        #expect(try await second.next() == [4])
        #expect(try await thing.read(Characteristic<[UInt8]>(Self.status, handle: 9)) == [4])
    }

    @Test func `descriptors are read and written`() async throws {
        let (thing, _) = try await SimulatedWorld().add(definition)
        let key = CharacteristicKey(service: Self.first, characteristic: Self.status)
        #expect(try await thing.readDescriptor(Self.name, of: key) == Array("One".utf8))
        try await thing.writeDescriptor([0x32], to: Self.name, of: key)
        #expect(try await thing.readDescriptor(Self.name, of: key) == [0x32])
        #expect(try await thing.readDescriptor(BluetoothUUID(0x2902), of: key) == [0, 0])
        await expectError(.characteristicNotFound) {
            try await thing.readDescriptor(
                Self.name, of: CharacteristicKey(service: Self.second, characteristic: Self.status))
        }
    }

    @Test func `the ready-made strap has its services and advertises them`() async throws {
        let (strap, _) = try await SimulatedWorld().add(.heartRateStrap(name: "Belt", batteryLevel: 33))
        #expect(try await strap.services().map(\.uuid.description) == ["180d", "180f", "180a"])
        let known = await strap.central.knownPeripherals()
        #expect(known.first?.advertisement.localName == "Belt")
        #expect(known.first?.advertisement.serviceData == [BluetoothUUID(0x180F): [33]])
    }
}
