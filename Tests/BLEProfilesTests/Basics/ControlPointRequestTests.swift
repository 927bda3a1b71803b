import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// Requests to control points, as a machine or a sensor reads them.
@Suite struct ControlPointRequestTests {
    private static let simulation = IndoorBikeSimulation(windMetersPerSecond: 1, gradePercent: -0.03)

    @Test(
        arguments: [
            ([0], .requestControl), ([1], .reset), ([2, 0xE8, 3], .setTargetSpeed(kilometersPerHour: 10)),
            ([3, 0xF1, 0xFF], .setTargetInclination(percent: -1.5)),
            ([4, 45], .setTargetResistanceLevel(4.5, isWide: false)),
            ([5, 0x2C, 1], .setTargetPower(watts: 300)), ([6, 130], .setTargetHeartRate(beatsPerMinute: 130)),
            ([7], .startOrResume), ([8, 1], .stop), ([8, 2], .pause), ([8, 3], .other(opcode: 8, parameter: [3])),
            ([9, 0x2C, 1], .setTargetedExpendedEnergy(kilocalories: 300)),
            ([0x0A, 0xE8, 3], .setTargetedStepCount(1000)), ([0x0B, 0xF4, 1], .setTargetedStrideCount(500)),
            ([0x0C, 0xA0, 0x86, 1], .setTargetedDistance(meters: 100_000)),
            ([0x0D, 0x10, 0x0E], .setTargetedTrainingTime(seconds: 3600)),
            ([0x0E, 1, 0, 2, 0], .setTargetedTimes(.two(fatBurnSeconds: 1, fitnessSeconds: 2))),
            (
                [0x0F, 1, 0, 2, 0, 3, 0],
                .setTargetedTimes(.three(lightSeconds: 1, moderateSeconds: 2, hardSeconds: 3))
            ),
            (
                [0x10, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0],
                .setTargetedTimes(
                    .five(veryLightSeconds: 1, lightSeconds: 2, moderateSeconds: 3, hardSeconds: 4, maximumSeconds: 5))
            ),
            ([0x11, 0xE8, 3, 0xFD, 0xFF, 0x28, 0x33], .setIndoorBikeSimulation(simulation)),
            ([0x12, 0x3A, 0x52], .setWheelCircumference(millimeters: 2105)), ([0x13, 1], .startSpinDown),
            ([0x13, 2], .ignoreSpinDown), ([0x13, 0], .other(opcode: 0x13, parameter: [0])),
            ([0x14, 0xB5, 0], .setTargetedCadence(perMinute: 90.5)),
        ] as [([UInt8], FitnessMachineRequest)])
    func `a fitness machine reads its requests`(_ bytes: [UInt8], _ request: FitnessMachineRequest) async throws {
        // A level of two bytes, which some machines need, is recognized by its length.
        guard bytes[0] != 4 else {
            #expect(try FitnessMachineRequest(bytes: bytes) == request)
            #expect(try FitnessMachineRequest(bytes: [4, 0x2C, 1]) == .setTargetResistanceLevel(30, isWide: true))
            return
        }
        try await checkSpelling(bytes, request)
        #expect(request.response(.invalidParameter, parameter: [7]) == [0x80, bytes[0], 3, 7])
    }

    @Test(
        arguments: [
            ([1, 4, 3, 2, 1], .setCumulativeValue(0x0102_0304)), ([2], .startSensorCalibration),
            ([3, 15], .updateSensorLocation(.spider)), ([4], .supportedSensorLocations),
        ] as [([UInt8], SCControlPointRequest)])
    func `a sensor of speed and cadence reads its requests`(
        _ bytes: [UInt8], _ request: SCControlPointRequest
    ) async throws {
        try await checkSpelling(bytes, request)
        #expect(request.response(.success, parameter: [7]) == [0x10, bytes[0], 1, 7])
    }

    @Test(
        arguments: [
            ([0x01, 4, 3, 2, 1], .setWheelRevolutions(0x0102_0304)), ([0x02, 15], .updateSensorLocation(.spider)),
            ([0x03], .supportedSensorLocations), ([0x04, 0x59, 0x01], .setCrankLength(millimeters: 172.5)),
            ([0x05], .crankLength), ([0x06, 0x78, 0x05], .setChainLength(millimeters: 1400)), ([0x07], .chainLength),
            ([0x08, 0x2C, 0x01], .setChainWeight(grams: 300)), ([0x09], .chainWeight),
            ([0x0A, 0x64, 0x00], .setSpanLength(millimeters: 100)), ([0x0B], .spanLength),
            ([0x0C], .startOffsetCompensation),
            (
                [0x0D, 0x09, 0x01],
                .maskMeasurementContent([.pedalPowerBalance, .crankRevolutions, .accumulatedEnergy])
            ),
            ([0x0E], .samplingRate), ([0x0F], .factoryCalibrationDate), ([0x10], .startEnhancedOffsetCompensation),
        ] as [([UInt8], CyclingPowerRequest)])
    func `a power meter reads its requests`(_ bytes: [UInt8], _ request: CyclingPowerRequest) async throws {
        try await checkSpelling(bytes, request)
        #expect(request.response(.operationFailed) == [0x20, bytes[0], 4])
    }

    @Test func `what is of a later edition is kept, and nothing else is written as if it were`() async throws {
        #expect(try FitnessMachineRequest(bytes: [0x20, 1, 2]) == .other(opcode: 0x20, parameter: [1, 2]))
        #expect(try SCControlPointRequest.other(opcode: 5, parameter: [1]).encoded() == [5, 1])
        #expect(try CyclingPowerRequest(bytes: [0x11]) == .other(opcode: 0x11, parameter: []))
        await expectError(.invalidValue) { try FitnessMachineRequest.other(opcode: 0x08, parameter: [1]).encoded() }
        await expectError(.invalidValue) { try FitnessMachineRequest.other(opcode: 0x05, parameter: []).encoded() }
        await expectError(.invalidValue) { try SCControlPointRequest.other(opcode: 4, parameter: []).encoded() }
        await expectError(.invalidValue) { try CyclingPowerRequest.other(opcode: 0x10, parameter: []).encoded() }
    }
}
