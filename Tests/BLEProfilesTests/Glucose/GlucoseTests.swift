import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct GlucoseTests {
    private let world: SimulatedWorld
    private static let characteristics = [BluetoothUUID(0x2A18), BluetoothUUID(0x2A34)]

    init() async throws { world = try await SimulatedWorld() }

    private func meter(
        sending characteristics: [BluetoothUUID] = characteristics,
        onRequest: @escaping RecordDevice.RequestHandler
    ) async throws -> (RecordDevice, Glucose) {
        let (device, peripheral) = try await RecordDevice.make(
            world, .glucose, sending: characteristics,
            others: [try CharacteristicDefinition(.glucoseFeature, .read, value: .timeFault)], onRequest: onRequest)
        return (device, Glucose(peripheral))
    }

    private static func measurement(_ number: UInt16, hasContext: Bool = false) -> GlucoseMeasurement {
        GlucoseMeasurement(
            sequenceNumber: number, baseTime: DateTime(year: 2026, month: 11, day: 21),
            sample: GlucoseSample(concentration: 0.0012, unit: .kilogramsPerLiter), hasContext: hasContext)
    }

    @Test func `records come with their contexts by number, and no subscription stays`() async throws {
        let contexts = [7, 9].map { GlucoseMeasurementContext(sequenceNumber: $0, meal: .fasting) }
        let (device, glucose) = try await meter { device, request in
            for number in UInt16(6)...9 {
                try await device.send(Self.measurement(number, hasContext: number % 2 == 1), from: .glucoseMeasurement)
                for context in contexts where context.sequenceNumber == number {
                    try await device.send(context, from: .glucoseMeasurementContext)
                }
            }
            try await device.answer(request, .success)
        }
        let records = try await glucose.records(.sequenceNumbers(6...))
        #expect(records.map(\.measurement.sequenceNumber) == [6, 7, 8, 9])
        #expect(records.map(\.context) == [nil, contexts[0], nil, contexts[1]])
        #expect(
            device.requests.value == [RecordAccessMessage(.reportRecords, .greaterThanOrEqual, operand: [1, 6, 0])])
        await device.untilUnsubscribed(Self.characteristics)
        #expect(try await glucose.feature() == .timeFault)
    }

    @Test func `all that was sent before the answer is there, however much`() async throws {
        let (_, glucose) = try await meter { device, request in
            for number in UInt16(0)..<2000 {
                try await device.send(Self.measurement(number), from: .glucoseMeasurement)
            }
            try await device.answer(request, .success)
        }
        #expect(try await glucose.records().map(\.measurement.sequenceNumber) == Array(0..<2000))
    }

    @Test func `no records is an empty list`() async throws {
        let (device, glucose) = try await meter { device, request in
            try await device.answer(request, .noRecordsFound)
        }
        #expect(try await glucose.records() == [])
        #expect(device.requests.value == [RecordAccessMessage(.reportRecords, .all)])
        await device.untilUnsubscribed(Self.characteristics)
    }

    @Test func `a meter that knows no contexts is read, too`() async throws {
        let (_, glucose) = try await meter(sending: [BluetoothUUID(0x2A18)]) { device, request in
            try await device.send(Self.measurement(1, hasContext: true), from: .glucoseMeasurement)
            try await device.answer(request, .success)
        }
        #expect(try await glucose.records(.last) == [GlucoseRecord(Self.measurement(1, hasContext: true))])
        await expectError(.characteristicNotFound) { try await glucose.measurementContexts() }
    }

    @Test(arguments: [
        RecordAccessResult.opcodeNotSupported, .operatorNotSupported, .operandNotSupported, .procedureNotCompleted,
        .serverBusy, RecordAccessResult(rawValue: 99),
    ])
    func `a meter that fails returns the reason, and gets no request to abort`(_ result: RecordAccessResult)
        async throws
    {
        let (device, glucose) = try await meter { device, request in try await device.answer(request, result) }
        let error = await expectError(.procedureFailed) { try await glucose.records(.first) }
        #expect(error?.result(RecordAccessResult.self) == result)
        await device.untilUnsubscribed(Self.characteristics)
        #expect(device.requests.value.map(\.opcode) == [.reportRecords])
    }

    @Test func `a cancelled transfer is aborted and leaves no subscription`() async throws {
        let (device, glucose) = try await meter { device, request in
            if request.opcode == .abort { return try await device.answer(request, .success) }
            try await device.send(Self.measurement(1), from: .glucoseMeasurement)
        }
        let reading = Task { try await glucose.records() }
        await until { device.requests.value.count >= 1 }
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
        await until { device.requests.value.count >= 2 }
        #expect(device.requests.value[1] == RecordAccessMessage(.abort))
        await device.untilUnsubscribed(Self.characteristics)
    }

    @Test func `a deadline aborts, too`() async throws {
        let (device, glucose) = try await meter { device, request in
            if request.opcode == .abort { try await device.answer(request, .success) }
        }
        let reading = Task { [world] in
            try await world.central.withDeadline(.seconds(5)) { try await glucose.records() }
        }
        await until { device.requests.value.count >= 1 }
        world.clock.advance(by: .seconds(5))
        await expectError(.timedOut) { try await reading.value }
        await until { device.requests.value.count >= 2 }
        #expect(device.requests.value[1] == RecordAccessMessage(.abort))
        await device.untilUnsubscribed(Self.characteristics)
    }

    @Test func `a slow meter is not given up`() async throws {
        let (device, glucose) = try await meter { _, _ in }
        let malformed = SharedValue(0)
        let reading = Task { try await glucose.records { _ in malformed.change { $0 += 1 } } }
        await until { device.requests.value.count >= 1 }
        // Two minutes in small steps: the transfer may be many records behind.
        for number in UInt16(1)...600 {
            world.clock.advance(by: .milliseconds(200))
            try await device.send(Self.measurement(number), from: .glucoseMeasurement)
            // What cannot be decoded shows that the record before it has been collected.
            await device.grip.notify([], from: BluetoothUUID(0x2A18))
            try await malformed.until { $0 == Int(number) }
        }
        try await device.answer(.response(to: .reportRecords, .success))
        #expect(try await reading.value.count == 600)
    }

    @Test func `a silent meter is given up`() async throws {
        let (device, glucose) = try await meter { device, request in
            if request.opcode == .abort { try await device.answer(request, .success) }
        }
        let reading = Task { try await glucose.records() }
        await until { device.requests.value.count >= 1 }
        await expectError(.timedOut) {
            try await world.asTimePasses(inSleepsOfAtMost: .seconds(60)) { try await reading.value }
        }
        await until { device.requests.value.count >= 2 }
        #expect(device.requests.value[1] == RecordAccessMessage(.abort))
        await device.untilUnsubscribed(Self.characteristics)
    }

    @Test func `after a transfer that was aborted comes another`() async throws {
        let (device, glucose) = try await meter { device, request in
            if device.requests.value.count > 1 { try await device.answer(request, .success) }
        }
        let reading = Task { try await glucose.records() }
        await until { device.requests.value.count >= 1 }
        reading.cancel()
        await expectError(.cancelled) { try await reading.value }
        await until { device.requests.value.count >= 2 }
        await device.untilUnsubscribed(Self.characteristics)
        #expect(try await glucose.records() == [])
    }

    @Test func `more records than there are numbers overflow, and are aborted`() async throws {
        let record = try Self.measurement(1).encoded()
        let (device, glucose) = try await meter { device, request in
            guard request.opcode == .reportRecords else { return try await device.answer(request, .success) }
            for _ in 0..<65537 { await device.grip.notify(record, from: BluetoothUUID(0x2A18)) }
        }
        await expectError(.overflow) { try await glucose.records() }
        await until { device.requests.value.count >= 2 }
        #expect(device.requests.value[1] == RecordAccessMessage(.abort))
    }

    @Test func `an invalid record is an error, and aborts`() async throws {
        let (device, glucose) = try await meter { device, request in
            guard request.opcode == .reportRecords else { return try await device.answer(request, .success) }
            await device.grip.notify([0, 1], from: BluetoothUUID(0x2A18))
        }
        let error = await expectError(.invalidValue) { try await glucose.records() }
        #expect(error?.characteristic == BluetoothUUID(0x2A18))
        await until { device.requests.value.count >= 2 }
        #expect(device.requests.value[1] == RecordAccessMessage(.abort))
        await device.untilUnsubscribed(Self.characteristics)
    }

    @Test func `an invalid record can be reported, and the others come`() async throws {
        let (device, glucose) = try await meter { device, request in
            try await device.send(Self.measurement(1), from: .glucoseMeasurement)
            await device.grip.notify([0, 1], from: BluetoothUUID(0x2A18))
            try await device.send(Self.measurement(3), from: .glucoseMeasurement)
            try await device.answer(request, .success)
        }
        let malformed = SharedValue<[BLEError]>([])
        let records = try await glucose.records { error in malformed.change { $0.append(error) } }
        #expect(records.map(\.measurement.sequenceNumber) == [1, 3])
        #expect(malformed.value.map(\.code) == [.invalidValue])
        #expect(device.requests.value.count == 1)
    }

    @Test func `the end of the link ends a transfer`() async throws {
        let (device, glucose) = try await meter { device, _ in
            try await device.send(Self.measurement(1), from: .glucoseMeasurement)
        }
        let reading = Task { try await glucose.records() }
        await until { device.requests.value.count >= 1 }
        await device.grip.dropLink()
        await expectError(.disconnected) { try await reading.value }
        #expect(device.requests.value.count == 1)
        #expect(await device.grip.isConnected == false)
    }

    @Test func `counting and deleting ask the control point`() async throws {
        let (device, glucose) = try await meter { device, request in
            if request.opcode == .reportRecordCount { return try await device.answer(.recordCount(258)) }
            try await device.answer(request, .success)
        }
        #expect(try await glucose.recordCount(.sequenceNumbers(...9)) == 258)
        try await glucose.deleteRecords(.all)
        #expect(
            device.requests.value == [
                RecordAccessMessage(.reportRecordCount, .lessThanOrEqual, operand: [1, 9, 0]),
                RecordAccessMessage(.deleteRecords, .all),
            ])
    }
}
