import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct DeviceInformationTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private func information(_ service: ServiceDefinition) async throws -> DeviceInformation {
        let (device, _) = try await world.add(
            PeripheralDefinition(advertisement: Advertisement(rssi: -50), services: [service, .battery(level: 1)]))
        return try await DeviceInformation(of: device)
    }

    @Test func `everything that a device says of itself is read`() async throws {
        let information = try await information(
            .deviceInformation(
                manufacturer: "Acme", model: "M1", serialNumber: "0001", hardwareRevision: "2", firmwareRevision: "3",
                softwareRevision: "4", systemID: [1, 0, 0, 0, 0, 2, 0, 0], pnpID: [1, 0x59, 0, 2, 0, 0x13, 0x02],
                regulatoryCertifications: [0, 2, 0, 0]))
        #expect(information.manufacturerName == "Acme")
        #expect(information.modelNumber == "M1")
        #expect(information.serialNumber == "0001")
        #expect(information.hardwareRevision == "2")
        #expect(information.firmwareRevision == "3")
        #expect(information.softwareRevision == "4")
        #expect(information.systemID == SystemID(manufacturer: 1, organization: 2))
        #expect(information.pnpID == PnPID(source: 1, vendor: 0x59, product: 2, version: 0x213))
        #expect(information.regulatoryCertifications == [0, 2, 0, 0])
    }

    @Test(arguments: UInt8(0)..<64) func `what a device does not have stays nil`(_ subset: UInt8) async throws {
        func item(_ bit: UInt8) -> String? { subset & 1 << bit != 0 ? "item \(bit)" : nil }
        let bytes: [UInt8]? = subset & 1 != 0 ? [1, 0, 0, 0, 0, 2, 0, 0] : nil
        let information = try await information(
            .deviceInformation(
                manufacturer: item(0), model: item(1), serialNumber: item(2), hardwareRevision: item(3),
                firmwareRevision: item(4), softwareRevision: item(5), systemID: bytes,
                pnpID: bytes.map { Array($0.dropLast()) },
                regulatoryCertifications: bytes))
        var expected = DeviceInformation()
        expected.manufacturerName = item(0)
        expected.modelNumber = item(1)
        expected.serialNumber = item(2)
        expected.hardwareRevision = item(3)
        expected.firmwareRevision = item(4)
        expected.softwareRevision = item(5)
        expected.systemID = bytes == nil ? nil : SystemID(manufacturer: 1, organization: 2)
        expected.pnpID = bytes == nil ? nil : PnPID(source: 1, vendor: 0, product: 0, version: 2)
        expected.regulatoryCertifications = bytes
        #expect(information == expected)
    }

    @Test func `text ends at a NUL`() async throws {
        #expect(try await information(.deviceInformation(model: "M1\0\0rest")).modelNumber == "M1")
    }

    @Test func `an item that cannot be read is treated as missing`() async throws {
        let service = ServiceDefinition(
            .deviceInformation,
            characteristics: [
                CharacteristicDefinition(BluetoothUUID(0x2A29), .write, value: [0x41]),
                CharacteristicDefinition(BluetoothUUID(0x2A24), .read, value: [0x42]),
            ])
        let information = try await information(service)
        #expect(information.manufacturerName == nil)
        #expect(information.modelNumber == "B")
    }

    @Test func `a device without the service says so`() async throws {
        let (device, grip) = try await world.add(.battery())
        let error = await expectError(.serviceNotFound) { try await DeviceInformation(of: device) }
        #expect(error?.missingUUIDs == [.deviceInformation])
        #expect(error?.peripheral == grip.id)
    }

    @Test func `an item that is malformed is an error`() async throws {
        let error = await expectError(.invalidValue) { try await information(.deviceInformation(pnpID: [1, 2])) }
        #expect(error?.characteristic == BluetoothUUID(0x2A50))
    }

    @Test func `a malformed item can be reported, and the others are read`() async throws {
        let (device, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [.deviceInformation(model: "M1", systemID: [1, 2, 3, 4, 5, 6], pnpID: [1, 2])]))
        var unreadable: [BLEError] = []
        let information = try await DeviceInformation(of: device) { unreadable.append($0) }
        #expect(information.modelNumber == "M1")
        #expect(information.systemID == nil && information.pnpID == nil)
        #expect(unreadable.map(\.characteristic) == [BluetoothUUID(0x2A23), BluetoothUUID(0x2A50)])
    }

    @Test func `an item that the device refuses is an error`() async throws {
        let service = ServiceDefinition(
            .deviceInformation,
            characteristics: [
                CharacteristicDefinition(
                    BluetoothUUID(0x2A25), .read,
                    onRead: { (_) throws(ATTError) in throw .insufficientEncryption })
            ])
        let error = await expectError(.pairingRequired) { try await information(service) }
        #expect(error?.characteristic == BluetoothUUID(0x2A25))
    }
}
