import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// The smaller values of a fitness machine, and requirements for all values of the fitness services.
@Suite struct FitnessMachineValueTests {
    @Test(arguments: TypedValues.fitness.indices) func `no bytes make a fitness value trap`(_ index: Int) throws {
        try checkAnyBytes(TypedValues.fitness[index], seed: UInt64(index))
    }

    @Test func `a feature is two sets of flags`() async throws {
        try await checkSpelling(
            [0x86, 0x40, 0x01, 0x80, 0x0C, 0xE0, 0x01, 0x00],
            FitnessMachineFeature(
                measurements: [
                    .cadence, .totalDistance, .resistanceLevel, .power, .userDataRetention, .init(rawValue: 1 << 31),
                ], targets: [.resistanceLevel, .power, .indoorBikeSimulation, .wheelCircumference, .spinDown, .cadence])
        )
    }

    @Test func `a training status may have a text`() async throws {
        try await checkSpelling([0x00, 0x0D], TrainingStatus(.manualMode))
        try await checkSpelling(
            [0x01, 0x04, 0x47, 0x6F], TrainingStatus(.highIntensityInterval, text: "Go"), shorter: [2, 3])
        try await checkSpelling(
            [0x03, 0xF0, 0x47], TrainingStatus(.init(rawValue: 0xF0), text: "G", hasMoreText: true), shorter: [2])
        #expect(try TrainingStatus(bytes: [0x00, 0x01, 0x47]) == TrainingStatus(.idle))
    }

    @Test func `ranges are three numbers`() async throws {
        try await checkSpelling(
            [0x64, 0x00, 0xD0, 0x07, 0x0A, 0x00],
            SupportedSpeedRange(
                minimumKilometersPerHour: 1, maximumKilometersPerHour: 20, incrementKilometersPerHour: 0.1))
        try await checkSpelling(
            [0xE2, 0xFF, 0x96, 0x00, 0x05, 0x00],
            SupportedInclinationRange(minimumPercent: -3, maximumPercent: 15, incrementPercent: 0.5))
        try await checkSpelling(
            [0xFF, 0xFF, 0xD0, 0x07, 0xFF, 0xFF],
            SupportedPowerRange(minimumWatts: -1, maximumWatts: 2000, incrementWatts: 65535))
        try await checkSpelling(
            [60, 220, 1],
            SupportedHeartRateRange(
                minimumBeatsPerMinute: 60, maximumBeatsPerMinute: 220, incrementBeatsPerMinute: 1))
    }

    @Test func `resistance levels are spelled by edition`() async throws {
        try await checkSpelling([1, 24, 1], SupportedResistanceLevelRange(minimum: 1, maximum: 24, increment: 1))
        try await checkSpelling(
            [0x0A, 0x00, 0xF0, 0x00, 0x05, 0x00],
            SupportedResistanceLevelRange(minimum: 1, maximum: 24, increment: 0.5, edition: .first), shorter: [3])
    }

    static let statuses: [([UInt8], FitnessMachineStatus)] = [
        ([0x01], .reset), ([0x02, 1], .stopped), ([0x02, 2], .paused), ([0x03], .stoppedBySafetyKey),
        ([0x04], .startedOrResumed), ([0x05, 0xE8, 0x03], .targetSpeed(kilometersPerHour: 10)),
        ([0x06, 0xF1, 0xFF], .targetInclination(percent: -1.5)), ([0x08, 0xFF, 0xFF], .targetPower(watts: -1)),
        ([0x09, 130], .targetHeartRate(beatsPerMinute: 130)),
        ([0x0A, 0x2C, 0x01], .targetedExpendedEnergy(kilocalories: 300)), ([0x0B, 1, 2], .targetedStepCount(513)),
        ([0x0C, 1, 2], .targetedStrideCount(513)), ([0x0D, 1, 2, 3], .targetedDistance(meters: 197_121)),
        ([0x0E, 0x10, 0x0E], .targetedTrainingTime(seconds: 3600)),
        ([0x0F, 1, 0, 2, 0], .targetedTimes(.two(fatBurnSeconds: 1, fitnessSeconds: 2))),
        (
            [0x10, 1, 0, 2, 0, 3, 0],
            .targetedTimes(.three(lightSeconds: 1, moderateSeconds: 2, hardSeconds: 3))
        ),
        (
            [0x11, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0],
            .targetedTimes(
                .five(veryLightSeconds: 1, lightSeconds: 2, moderateSeconds: 3, hardSeconds: 4, maximumSeconds: 5))
        ),
        (
            [0x12, 0x18, 0xFC, 0x2C, 0x01, 0x28, 0x33],
            .indoorBikeSimulation(
                IndoorBikeSimulation(
                    windMetersPerSecond: -1, gradePercent: 3, rollingResistance: 0.004,
                    windResistanceKilogramsPerMeter: 0.51))
        ),
        ([0x13, 0x3A, 0x52], .wheelCircumference(millimeters: 2105)), ([0x14, 4], .spinDown(.stopPedaling)),
        ([0x14, 9], .spinDown(.init(rawValue: 9))), ([0x15, 0xB5, 0], .targetedCadence(perMinute: 90.5)),
        ([0xFF], .controlPermissionLost), ([0x02, 3], .other(opcode: 2, parameter: [3])),
    ]

    @Test(arguments: statuses) func `a status is an opcode and its parameter`(
        _ bytes: [UInt8], _ status: FitnessMachineStatus
    ) async throws {
        try await checkSpelling(bytes, status)
    }

    @Test func `the target resistance level has a byte, or two`() async throws {
        let narrow = FitnessMachineStatus.targetResistanceLevel(4.5, isWide: false)
        #expect(try FitnessMachineStatus(bytes: [0x07, 45]) == narrow)
        #expect(try narrow.encoded() == [0x07, 45])
        try await checkSpelling(
            [0x07, 0x2C, 0x01], FitnessMachineStatus.targetResistanceLevel(30, isWide: true), shorter: [2])
    }

    @Test func `an unknown status is kept, but does not stand for a known one`() async throws {
        let status = FitnessMachineStatus.other(opcode: 0x16, parameter: [1, 2])
        #expect(try FitnessMachineStatus(bytes: [0x16, 1, 2]) == status)
        #expect(try status.encoded() == [0x16, 1, 2])
        for opcode in [0x01, 0x02, 0x15, 0xFF] as [UInt8] {
            await expectError(.invalidValue) {
                try FitnessMachineStatus.other(opcode: opcode, parameter: [1]).encoded()
            }
        }
    }

    @Test func `the speeds of a spin down are two numbers`() async throws {
        try await checkSpelling(
            [0x20, 0x03, 0x08, 0x07], SpinDownTarget(lowKilometersPerHour: 8, highKilometersPerHour: 18))
    }
}
