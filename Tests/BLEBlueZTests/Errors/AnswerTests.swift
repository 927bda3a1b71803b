import BLE
import BLEBackendTesting
import BLESimulation
import BLETestSupport
import BLEFakeBlueZ
import BlueZTestSupport
import DBus
import Testing

/// The source of an error: the peripheral's answer, which bluetoothd repeats, or bluetoothd itself.
@Suite(.hangLimit, .startsProcesses) struct AnswerTests {
    enum Request: String, CaseIterable {
        case read, write, readDescriptor, writeDescriptor, subscribe

        var method: String {
            switch self {
            case .read, .readDescriptor: "ReadValue"
            case .write, .writeDescriptor: "WriteValue"
            case .subscribe: "StartNotify"
            }
        }

        func run(_ strap: Peripheral) async throws {
            let description = BluetoothUUID(0x2901)
            switch self {
            case .read: _ = try await strap.read(EchoStrap.output)
            case .write: try await strap.write([1], to: EchoStrap.input)
            case .readDescriptor: _ = try await strap.readDescriptor(description, of: EchoStrap.output.key)
            case .writeDescriptor: try await strap.writeDescriptor([1], to: description, of: EchoStrap.output.key)
            case .subscribe: _ = try await strap.notifications(EchoStrap.output)
            }
        }
    }

    @Test(arguments: Request.allCases)
    func `what bluetoothd repeats is the peripheral's answer, as on the other grounds`(_ request: Request) async throws
    {
        let peer = try await FakePeer()
        let central = try await peer.makeCentral(.quiet())
        let strap = try await central.find()
        try await strap.connect()
        let answers: [(DBusError, ATTError)] = [
            (.bluez("NotPermitted", "Read not permitted"), .readNotPermitted),
            (.bluez("NotPermitted", "Write not permitted"), .writeNotPermitted),
            (.bluez("NotSupported", "Operation is not supported"), .requestNotSupported),
            (.bluez("NotAuthorized", "Operation Not Authorized"), .insufficientAuthorization),
            (.bluez("Failed", "Operation failed with ATT error: 0x80"), ATTError(rawValue: 0x80)),
        ]
        for (answer, expected) in answers {
            await peer.daemon.fail(request.method, answer)
            let error = await #expect(throws: BLEError.self) { try await request.run(strap) }
            let simulated = BLEError(expected)
            #expect(error?.attError == expected, "\(answer)")
            #expect(error?.code == simulated.code, "\(answer)")
            #expect(error?.message == simulated.message, "\(answer)")
            #expect(error?.isRetryable == simulated.isRetryable, "\(answer)")
            #expect(error?.stackErrorName == answer.name, "\(answer)")
        }
        await central.shutDown()
    }

    @Test func `a write that bluetoothd may refuse for a plug-in is not said to be refused by the peripheral`()
        async throws
    {
        let report = Characteristic(BluetoothUUID(0x2A4D), service: BluetoothUUID(0x1812))
        let world = try await BlueZWorld()
        let definition = PeripheralDefinition(
            advertisement: Advertisement(localName: "Keys"),
            services: [
                ServiceDefinition(
                    BluetoothUUID(0x1812),
                    characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A4D), [.read, .write])])
            ])
        let keyboard = await world.radio.add(definition)
        let central = try await world.makeCentral()
        let found = try await central.find(keyboard.id)
        try await found.connect()
        let refusal = DBusError.bluez("NotAuthorized", "Operation Not Authorized")
        await world.daemon.fail("WriteValue", refusal)
        let writing = await expectError(.notPermitted) { try await found.write([1], to: report) }
        #expect(writing?.attError == nil)
        #expect(writing?.remedy?.contains("ExportClaimedServices") == true)
        // An error with a number is always the peripheral's.
        await world.daemon.fail("WriteValue", .bluez("Failed", "Operation failed with ATT error: 0x80"))
        let answered = await expectError(.attributeError) { try await found.write([1], to: report) }
        #expect(answered?.attError == ATTError(rawValue: 0x80))
        // bluetoothd allows all reads.
        await world.daemon.fail("ReadValue", refusal)
        let reading = await expectError(.notPermitted) { _ = try await found.read(report) }
        #expect(reading?.attError == .insufficientAuthorization)
        await central.shutDown()
    }
}
