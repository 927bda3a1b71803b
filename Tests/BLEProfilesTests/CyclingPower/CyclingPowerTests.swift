import BLE
import BLEProfiles
import BLESimulation
import BLETestSupport
import Testing

@Suite(.hangLimit) struct CyclingPowerTests {
    private let world: SimulatedWorld

    init() async throws { world = try await SimulatedWorld() }

    /// A power meter whose control point returns these answers, and 2 for every other request.
    private func meter(_ answers: [[UInt8]: [UInt8]] = [:]) async throws -> (CyclingPower, SimulatedPeripheral) {
        let definition = PeripheralDefinition(
            .cyclingPower,
            [
                CharacteristicDefinition(BluetoothUUID(0x2A63), .notify),
                CharacteristicDefinition(BluetoothUUID(0x2A64), .notify),
                try CharacteristicDefinition(.cyclingPowerFeature, .read, value: .crankLengthAdjustment),
                try CharacteristicDefinition(.sensorLocation, .read, value: .spider),
                .controlPoint(Characteristic.cyclingPowerControlPoint.uuid) { request in
                    [0x20, request[0]] + (answers[request] ?? [2])
                },
            ])
        let (peripheral, grip) = try await world.add(definition)
        return (CyclingPower(peripheral), grip)
    }

    @Test func `what the power meter says is read`() async throws {
        let (meter, grip) = try await meter()
        #expect(try await meter.feature() == .crankLengthAdjustment)
        #expect(try await meter.sensorLocation() == .spider)
        var measurements = try await meter.measurements().makeAsyncIterator()
        await grip.notify([0, 0, 0xFA, 0], from: BluetoothUUID(0x2A63))
        #expect(try await measurements.next()?.powerWatts == 250)
        var vectors = try await meter.vectors().makeAsyncIterator()
        await grip.notify([0x04, 9, 0], from: BluetoothUUID(0x2A64))
        #expect(try await vectors.next()?.magnitudes == .forcesNewtons([9]))
    }

    @Test func `settings are sent as the specification spells them`() async throws {
        let (meter, _) = try await meter([
            [0x01, 4, 3, 2, 1]: [1], [0x02, 15]: [1], [0x04, 0x59, 0x01]: [1], [0x06, 0x78, 0x05]: [1],
            [0x08, 0x2C, 0x01]: [1], [0x0A, 0x64, 0x00]: [1], [0x0D, 0x09, 0x01]: [1],
        ])
        let control = meter.controlPoint
        try await control.setWheelRevolutions(0x0102_0304)
        try await control.updateSensorLocation(.spider)
        try await control.setCrankLength(millimeters: 172.5)
        try await control.setChainLength(millimeters: 1400)
        try await control.setChainWeight(grams: 300)
        try await control.setSpanLength(millimeters: 100)
        try await control.maskMeasurementContent([.pedalPowerBalance, .crankRevolutions, .accumulatedEnergy])
    }

    @Test func `answers are read as the specification spells them`() async throws {
        let (meter, _) = try await meter([
            [0x03]: [1, 5, 6], [0x05]: [1, 0x59, 0x01], [0x07]: [1, 0x78, 0x05], [0x09]: [1, 0x2C, 0x01],
            [0x0B]: [1, 0x64, 0x00], [0x0C]: [1, 0xE0, 0xFF], [0x0E]: [1, 50],
            [0x0F]: [1, 0xEA, 0x07, 2, 28, 23, 59, 1], [0x10]: [1, 0x40, 0x00, 0xBA, 0x01, 2, 7, 8],
        ])
        let control = meter.controlPoint
        #expect(try await control.supportedSensorLocations() == [.leftCrank, .rightCrank])
        #expect(try await control.crankLengthMillimeters() == 172.5)
        #expect(try await control.chainLengthMillimeters() == 1400)
        #expect(try await control.chainWeightGrams() == 300)
        #expect(try await control.spanLengthMillimeters() == 100)
        let offset = try await control.startOffsetCompensation()
        #expect(offset.forceNewtons == -32)
        #expect(offset.torqueNewtonMeters == -1)
        #expect(try await control.samplingRateHertz() == 50)
        #expect(
            try await control.factoryCalibrationDate()
                == DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59, second: 1))
        #expect(
            try await control.startEnhancedOffsetCompensation()
                == EnhancedOffsetCompensation(
                    offset: CyclingPowerOffset(rawValue: 64),
                    manufacturerData: CyclingPowerManufacturerData(company: 442, data: [7, 8])))
    }

    @Test(
        arguments: [
            (1, nil), (2, .opCodeNotSupported), (3, .invalidParameter), (4, .operationFailed),
            (77, CyclingPowerControlPointResult(rawValue: 77)),
        ] as [(UInt8, CyclingPowerControlPointResult?)])
    func `a procedure succeeds or says why not`(_ byte: UInt8, _ result: CyclingPowerControlPointResult?) async throws {
        let (meter, _) = try await meter([[0x0E]: [byte, 50]])
        guard let result else {
            #expect(try await meter.controlPoint.samplingRateHertz() == 50)
            return
        }
        let error = await expectError(.procedureFailed) { try await meter.controlPoint.samplingRateHertz() }
        #expect(error?.result(CyclingPowerControlPointResult.self) == result)
        #expect(error?.offsetCompensationFailure == nil)
    }

    @Test(
        arguments: [
            ([4, 0x01], .incorrectCalibrationPosition),
            (
                [4, 0xFF, 0xBA, 0x01, 1, 9],
                .manufacturerSpecific(CyclingPowerManufacturerData(company: 442, data: [9]))
            ),
            ([4, 0xFF, 0xBA], nil), ([4, 0x02], nil), ([4], nil), ([3, 0x01], nil),
        ] as [([UInt8], OffsetCompensationFailure?)])
    func `an enhanced compensation that fails returns the reason`(
        _ answer: [UInt8], _ failure: OffsetCompensationFailure?
    ) async throws {
        let (meter, _) = try await meter([[0x10]: answer])
        let error = await expectError(.procedureFailed) {
            try await meter.controlPoint.startEnhancedOffsetCompensation()
        }
        #expect(error?.offsetCompensationFailure == failure)
    }

    @Test func `an answer without its parameter is not valid, and says where it came from`() async throws {
        let (meter, grip) = try await meter([[0x05]: [1, 7]])
        let error = await expectError(.invalidValue) { try await meter.controlPoint.crankLengthMillimeters() }
        #expect(error?.peripheral == grip.id)
        #expect(error?.characteristic == Characteristic.cyclingPowerControlPoint.uuid)
    }

    @Test func `what no field holds is not sent`() async throws {
        let control = try await meter().0.controlPoint
        for length in [-0.5, 32768, Double.nan] {
            await expectError(.invalidArgument) { try await control.setCrankLength(millimeters: length) }
        }
        await expectError(.invalidArgument) { try await control.setChainLength(millimeters: 65536) }
        await expectError(.invalidArgument) { try await control.setChainWeight(grams: -1) }
        await expectError(.invalidArgument) { try await control.setSpanLength(millimeters: .max) }
    }

    @Test func `the answer of an enhanced compensation may lack the maker's data`() async throws {
        let offset = CyclingPowerOffset(rawValue: 64)
        try await checkSpelling([0x40, 0x00], EnhancedOffsetCompensation(offset: offset))
        try await checkSpelling(
            [0x40, 0x00, 0xBA, 0x01, 0],
            EnhancedOffsetCompensation(
                offset: offset, manufacturerData: CyclingPowerManufacturerData(company: 442, data: [])), shorter: [2])
    }

    @Test func `a power meter without a control point says so`() async throws {
        let (thing, _) = try await world.add(PeripheralDefinition(.cyclingPower, []))
        await expectError(.characteristicNotFound) { try await CyclingPower(thing).controlPoint.samplingRateHertz() }
    }
}
