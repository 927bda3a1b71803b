import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct RecordAccessControlPointTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    private func device(
        onRequest: @escaping RecordDevice.RequestHandler
    ) async throws -> (RecordDevice, RecordAccessControlPoint) {
        let (device, peripheral) = try await RecordDevice.make(
            world, .glucose, sending: [BluetoothUUID(0x2A18)], onRequest: onRequest)
        return (device, Glucose(peripheral).recordAccess)
    }

    private static let time = DateTime(year: 2026, month: 11, day: 21, hour: 15)
    private static let timeBytes: [UInt8] = [0xEA, 0x07, 11, 21, 15, 0, 0]

    @Test(
        arguments: [
            ([1, 1], .reportRecords, .all), ([2, 5], .deleteRecords, .first), ([4, 6], .reportRecordCount, .last),
            ([1, 3, 1, 0x34, 0x12], .reportRecords, .sequenceNumbers(0x1234...)),
            ([1, 3, 1, 0x34, 0x12], .reportRecords, .sequenceNumbers(after: 0x1233)),
            ([1, 3, 1, 0, 0], .reportRecords, .sequenceNumbers(after: 65535)),
            ([1, 2, 1, 0x34, 0x12], .reportRecords, .sequenceNumbers(...0x1234)),
            ([1, 4, 1, 1, 0, 0x34, 0x12], .reportRecords, .sequenceNumbers(1...0x1234)),
            ([7, 3, 2] + timeBytes, .combinedReport, try! .userFacingTimes(from: time)),
            ([1, 2, 2] + timeBytes, .reportRecords, try! .userFacingTimes(to: time)),
            ([1, 4, 2] + timeBytes + timeBytes, .reportRecords, try! .userFacingTimes(from: time, to: time)),
            ([1, 1], .reportRecords, try! .userFacingTimes()),
            ([1, 3, 9, 1], .reportRecords, RecordSelection(.greaterThanOrEqual, operand: [9, 1])),
        ] as [([UInt8], RecordAccessMessage.Opcode, RecordSelection)])
    func `a request is an opcode, an operator and an operand`(
        _ bytes: [UInt8], _ opcode: RecordAccessMessage.Opcode, _ selection: RecordSelection
    ) async throws {
        let message = RecordAccessMessage(opcode, of: selection)
        #expect(try message.encoded() == bytes)
        #expect(try RecordAccessMessage(bytes: bytes) == message)
        await expectError(.invalidValue) { try RecordAccessMessage(bytes: [bytes[0]]) }
        await expectError(.invalidValue) { try RecordAccessMessage(bytes: []) }
    }

    @Test func `answers are spelled as the supplement says`() throws {
        #expect(try RecordAccessMessage.response(to: .reportRecords, .noRecordsFound).encoded() == [6, 0, 1, 6])
        #expect(try RecordAccessMessage.recordCount(0x1234).encoded() == [5, 0, 0x34, 0x12])
        #expect(try RecordAccessMessage.recordCount(3, .combinedReportResponse).encoded() == [8, 0, 3, 0])
    }

    @Test func `there are no records for an impossible time`() async {
        await expectError(.invalidValue) {
            try RecordSelection.userFacingTimes(from: DateTime(year: 2026, month: 2, day: 29))
        }
    }

    @Test(
        arguments: [([5, 0, 7], 7), ([5, 0, 7, 1], 263), ([5, 0, 1, 2, 3, 4], 0x0403_0201), ([6, 0, 4, 6], 0)]
            as [([UInt8], Int)])
    func `records are counted`(_ answer: [UInt8], _ count: Int) async throws {
        let (_, control) = try await device { device, _ in
            await device.grip.notify(answer, from: BluetoothUUID(0x2A52))
        }
        #expect(try await control.recordCount() == count)
    }

    @Test(arguments: [[5, 0], [5, 0, 1, 2, 3, 4, 5], [6, 0, 4], [6, 0, 4, 1], [6], []] as [[UInt8]])
    func `an answer without a number is not an answer`(_ answer: [UInt8]) async throws {
        let (_, control) = try await device { device, _ in
            await device.grip.notify(answer, from: BluetoothUUID(0x2A52))
        }
        let error = await expectError(.invalidValue) { try await control.recordCount() }
        #expect(error?.characteristic == BluetoothUUID(0x2A52))
    }

    @Test func `answers to others are passed over`() async throws {
        let (_, control) = try await device { device, request in
            try await device.answer(.response(to: .deleteRecords, .success))
            try await device.answer(.recordCount(1, .combinedReportResponse))
            try await device.answer(RecordAccessMessage(.reportRecords))
            try await device.answer(.recordCount(2))
        }
        #expect(try await control.recordCount() == 2)
    }

    @Test func `a combined report has the number of records`() async throws {
        let (_, control) = try await device { device, request in
            try await device.answer(.recordCount(3, .combinedReportResponse))
        }
        #expect(try await control.combinedReport(timeout: .seconds(30)) == 3)
    }

    @Test func `a device that knows no combined report says so`() async throws {
        let (_, control) = try await device { try await $0.answer($1, .opcodeNotSupported) }
        let error = await expectError(.procedureFailed) { try await control.combinedReport(timeout: .seconds(30)) }
        #expect(error?.result(RecordAccessResult.self) == .opcodeNotSupported)
    }

    @Test(arguments: [RecordAccessResult.noRecordsFound, .invalidOperand])
    func `what cannot be deleted is an error`(_ result: RecordAccessResult) async throws {
        let (_, control) = try await device { try await $0.answer($1, result) }
        let error = await expectError(.procedureFailed) { try await control.delete(.last) }
        #expect(error?.result(RecordAccessResult.self) == result)
        #expect(result.meaning.map { error?.message.contains($0) == true } == true)
    }

    @Test func `an abort ends the report that is under way`() async throws {
        let (device, control) = try await device { device, request in
            if request.opcode == .abort { try await device.answer(request, .success) }
        }
        let report = Task { try await control.records(of: .glucoseMeasurement) }
        await until { device.requests.value.count >= 1 }
        try await control.abort()
        let error = await expectError(.procedureFailed) { try await report.value }
        #expect(error?.result(RecordAccessResult.self) == .procedureNotCompleted)
        await device.untilUnsubscribed([BluetoothUUID(0x2A18)])
        #expect(device.requests.value.map(\.opcode) == [.reportRecords, .abort])
    }

    @Test func `nothing to abort is an error`() async throws {
        let (_, control) = try await device { try await $0.answer($1, .abortUnsuccessful) }
        let error = await expectError(.procedureFailed) { try await control.abort() }
        #expect(error?.result(RecordAccessResult.self) == .abortUnsuccessful)
    }

    @Test func `an abort that is not answered times out`() async throws {
        let (device, control) = try await device { _, _ in }
        let abort = Task { try await control.abort(timeout: .seconds(3)) }
        await until { device.requests.value.count >= 1 }
        await expectError(.timedOut) { try await world.asTimePasses { try await abort.value } }
    }

    @Test func `a second transfer is refused and does not disturb the first`() async throws {
        let (device, control) = try await device { _, _ in }
        let first = Task { try await control.records(of: .glucoseMeasurement) }
        await until { device.requests.value.count >= 1 }
        await expectError(.requestInProgress) { try await control.records(of: .glucoseMeasurement) }
        try await device.answer(.response(to: .reportRecords, .success))
        #expect(try await first.value == [])
        #expect(device.requests.value.count == 1)
    }

    @Test func `a device that serves another central refuses at once`() async throws {
        let (device, control) = try await device { _, _ in throw ATTError.procedureInProgress }
        let error = await expectError(.attributeError) { try await control.records(of: .glucoseMeasurement) }
        #expect(error?.attError == .procedureInProgress)
        await device.untilUnsubscribed([BluetoothUUID(0x2A18)])
        #expect(device.requests.value.count == 1)
    }

    @Test func `a service that stores nothing says so`() async throws {
        let (peripheral, _) = try await world.add(
            PeripheralDefinition(
                advertisement: Advertisement(rssi: -50),
                services: [
                    ServiceDefinition(
                        .glucose, characteristics: [CharacteristicDefinition(BluetoothUUID(0x2A18), .notify)])
                ]))
        await expectError(.characteristicNotFound) { try await Glucose(peripheral).records() }
        await expectError(.characteristicNotFound) { try await Glucose(peripheral).recordCount() }
        await expectError(.characteristicNotFound) { try await Glucose(peripheral).recordAccess.abort() }
    }
}
