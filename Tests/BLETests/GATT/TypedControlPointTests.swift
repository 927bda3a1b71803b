import BLE
import BLESimulation
import BLETestSupport
import Testing

/// Requests to control points with typed parameters and answers.
@Suite(.hangLimit) struct TypedControlPointTests {
    private static let service = BluetoothUUID(0xFF00)
    private static let plain = Characteristic<[UInt8]>(BluetoothUUID(0xFF02), service: service)

    private enum BrewResult: UInt8, ControlPointResult {
        case success = 1
        case notSupported = 2
        case failed = 4
        var meaning: String? { "\(self)" }
    }

    private struct Receipt: ValueCodable, Equatable {
        var number: UInt16
        var seconds: UInt8

        init(number: UInt16, seconds: UInt8) { (self.number, self.seconds) = (number, seconds) }
        init(from reader: inout ValueReader) throws(BLEError) {
            (number, seconds) = (try reader.uint16(), try reader.uint8())
        }
        func encode(into writer: inout ValueWriter) throws(BLEError) {
            guard number < 1000 else { throw BLEError(.invalidValue, "too many orders") }
            writer.uint16(number)
            writer.uint8(seconds)
        }
    }

    private func withMachine(
        _ check: (ControlPoint<BrewResult>, PeripheralService) async throws -> Void
    ) async throws {
        let world = try await SimulatedWorld()
        let point = CharacteristicDefinition.controlPoint(
            BluetoothUUID(0xFF01), responseOpcode: 0x80, failure: BrewResult.failed
        ) { request in
            switch request.opcode {
            case 1: try .success(Receipt(number: request.parameter(), seconds: 30))
            case 2: .success([7])
            case 3: .success()
            default: .result(.notSupported)
            }
        }
        let orders = CharacteristicDefinition.controlPoint(Self.plain.uuid) { (value) throws(ATTError) in
            value.count == 2 ? value + [30] : [9]
        }
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(),
                services: [ServiceDefinition(Self.service, characteristics: [point, orders])]))
        let service = PeripheralService(Self.service, on: peripheral)
        try await check(ControlPoint(point.uuid, of: service, responseOpcode: 0x80), service)
        await world.central.shutDown()
    }

    @Test func `requests and answers of a control point are typed on both sides`() async throws {
        try await withMachine { point, _ in
            let receipt = try await point.perform(1, UInt16(12), answer: Receipt.self)
            #expect(receipt == Receipt(number: 12, seconds: 30))
            let (number, bytes) = (
                try await point.perform(2, answer: UInt8.self), try await point.perform(2, UInt8(0))
            )
            #expect(number == 7)
            #expect(bytes == [7])
            let nothing = try await point.perform(3, true)
            #expect(nothing.isEmpty)
        }
    }

    @Test func `what cannot be encoded or decoded is told, with the place and the request`() async throws {
        try await withMachine { point, _ in
            await expectError(.invalidValue) { try await point.perform(1, Receipt(number: 1000, seconds: 0)) }
            let error = await expectError(.invalidValue) { try await point.perform(2, answer: Receipt.self) }
            #expect(error?.characteristic == BluetoothUUID(0xFF01))
            #expect(error?.message.contains("the answer to request 0x02") == true, "\(error?.message ?? "")")
            // The machine cannot encode its answer, and does not take a parameter of another length.
            for work: () async throws -> Receipt in [
                { try await point.perform(1, UInt16(1000), answer: Receipt.self) },
                { try await point.perform(1, UInt8(1), answer: Receipt.self) },
            ] {
                let failure = await expectError(.procedureFailed, from: work)
                #expect(failure?.result(BrewResult.self) == .failed)
            }
            let refusal = await expectError(.procedureFailed) { try await point.perform(9, answer: UInt8.self) }
            #expect(refusal?.result(BrewResult.self) == .notSupported)
        }
    }

    @Test func `a request and its answer can have different types`() async throws {
        try await withMachine { _, service in
            let receipt = try await service.request(UInt16(5), on: Self.plain, answer: Receipt.self) { $0.number == 5 }
            #expect(receipt == Receipt(number: 5, seconds: 30))
            await expectError(.invalidValue) {
                try await service.peripheral.request(UInt8(5), on: Self.plain, answer: Receipt.self)
            }
        }
    }
}
