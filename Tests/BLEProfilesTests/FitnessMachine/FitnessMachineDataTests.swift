import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// The data in the bytes of real and invented machines.
@Suite struct FitnessMachineDataTests {
    private func spelled<Record: FitnessMachineRecord>(
        _ bytes: [UInt8], _ fill: (inout Record) -> Void, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var record = Record()
        fill(&record)
        #expect(try Record(bytes: bytes) == record, sourceLocation: sourceLocation)
        #expect(try record.encoded() == bytes, sourceLocation: sourceLocation)
    }

    @Test func `an indoor bike with a cadence, a power and a heart rate`() throws {
        try spelled([0x44, 0x02, 0x9C, 0x09, 0x5C, 0x00, 0x4F, 0x00, 0x50]) { (bike: inout IndoorBikeData) in
            bike.speedKilometersPerHour = 24.6
            bike.cadencePerMinute = 46
            bike.powerWatts = 79
            bike.heartRateBeatsPerMinute = 80
        }
    }

    @Test func `an indoor bike of the first edition, whose resistance level has two bytes`() throws {
        try spelled([0x64, 0x02, 0, 0, 0, 0, 0x14, 0, 0, 0, 0]) { (bike: inout IndoorBikeData) in
            bike.edition = .first
            bike.speedKilometersPerHour = 0
            bike.cadencePerMinute = 0
            bike.resistanceLevel = 20
            bike.powerWatts = 0
            bike.heartRateBeatsPerMinute = 0
        }
        try spelled([0x64, 0x02, 0, 0, 0, 0, 0x14, 0, 0, 0]) { (bike: inout IndoorBikeData) in
            bike.speedKilometersPerHour = 0
            bike.cadencePerMinute = 0
            bike.resistanceLevel = 20
            bike.powerWatts = 0
            bike.heartRateBeatsPerMinute = 0
        }
    }

    @Test func `an indoor bike with all fields`() throws {
        try spelled(
            [
                0xFE, 0x1F, 0x10, 0x0E, 0xAC, 0x0D, 0xB5, 0x00, 0xA0, 0x00, 0x40, 0xE2, 0x01, 9, 0xFF, 0xFF, 0xC8, 0x00,
                0x2C, 0x01, 0xFF, 0xFF, 12, 150, 85, 0x58, 0x02, 0x84, 0x03,
            ]
        ) { (bike: inout IndoorBikeData) in
            bike.speedKilometersPerHour = 36
            bike.averageSpeedKilometersPerHour = 35
            bike.cadencePerMinute = 90.5
            bike.averageCadencePerMinute = 80
            bike.totalDistanceMeters = 123_456
            bike.resistanceLevel = 9
            bike.powerWatts = -1
            bike.averagePowerWatts = 200
            bike.totalEnergyKilocalories = 300
            bike.energyPerMinuteKilocalories = 12
            bike.heartRateBeatsPerMinute = 150
            bike.metabolicEquivalent = 8.5
            bike.elapsedTimeSeconds = 600
            bike.remainingTimeSeconds = 900
        }
    }

    @Test func `a treadmill at a walk`() throws {
        try spelled([0x8C, 0x05, 0x64, 0, 0x14, 0, 0, 0, 0, 0, 0, 5, 0, 0xE7, 0, 3, 0, 0x5B, 0]) {
            (treadmill: inout TreadmillData) in
            treadmill.speedKilometersPerHour = 1
            treadmill.totalDistanceMeters = 20
            treadmill.inclinationPercent = 0
            treadmill.rampAngleDegrees = 0
            treadmill.totalEnergyKilocalories = 5
            treadmill.energyPerHourKilocalories = 231
            treadmill.energyPerMinuteKilocalories = 3
            treadmill.heartRateBeatsPerMinute = 0
            treadmill.elapsedTimeSeconds = 91
        }
    }

    @Test func `a treadmill's paces have two bytes, and one in the first edition`() throws {
        let (head, tail): ([UInt8], [UInt8]) = ([0x68, 0x10, 0xB0, 0x04, 0xF6, 0xFF, 0xFF, 0x7F], [0xFE, 0xFF, 3, 0])
        func fill(_ treadmill: inout TreadmillData) {
            treadmill.speedKilometersPerHour = 12
            treadmill.inclinationPercent = -1
            treadmill.forceOnBeltNewtons = -2
            treadmill.powerOutputWatts = 3
            treadmill.paceSecondsPer500Meters = 150
            treadmill.averagePaceSecondsPer500Meters = 300
        }
        try spelled(head + [150, 0, 0x2C, 1] + tail) { (treadmill: inout TreadmillData) in fill(&treadmill) }
        // 2 and 1 tenths of a kilometre per minute
        try spelled(head + [2, 1] + tail) { (treadmill: inout TreadmillData) in
            fill(&treadmill)
            treadmill.edition = .first
        }
    }

    @Test func `a treadmill with all fields but the remaining time, as one of the first edition sends them`() throws {
        let bytes: [UInt8] =
            [0xFE, 0x17, 0xE8, 0x03, 0xE8, 0x03, 1, 0, 0, 15, 0, 0, 0, 2, 0, 0, 0, 0, 0, 9, 0, 8, 0, 7, 100, 6, 5, 0]
            + [1, 0, 2, 0]
        #expect(bytes.count == 32)
        let treadmill = try TreadmillData(bytes: bytes)
        #expect(treadmill.edition == .first)
        #expect(treadmill.inclinationPercent == 1.5)
        #expect(treadmill.positiveElevationGainMeters == 0.2)
        #expect(treadmill.paceSecondsPer500Meters == nil)
        #expect(treadmill.totalEnergyKilocalories == 9)
        #expect(treadmill.heartRateBeatsPerMinute == 100)
        #expect(treadmill.metabolicEquivalent == 0.6)
        #expect(treadmill.elapsedTimeSeconds == 5)
        #expect(treadmill.forceOnBeltNewtons == 1)
        #expect(treadmill.powerOutputWatts == 2)
    }

    @Test func `a cross trainer goes backward`() throws {
        try spelled(
            [
                0xFE, 0xFF, 0x00, 0xC8, 0x00, 0x2C, 0x01, 5, 0, 0, 60, 0, 0xFF, 0xFF, 0x0F, 0, 7, 0, 8, 0, 0xF6, 0xFF,
                10, 0, 4, 100, 0, 0x9C, 0xFF, 1, 0, 2, 0, 3, 90, 65, 6, 0, 7, 0,
            ]
        ) { (trainer: inout CrossTrainerData) in
            trainer.isBackward = true
            trainer.speedKilometersPerHour = 2
            trainer.averageSpeedKilometersPerHour = 3
            trainer.totalDistanceMeters = 5
            trainer.stepsPerMinute = 60
            trainer.strideCount = 1.5
            trainer.positiveElevationGainMeters = 7
            trainer.negativeElevationGainMeters = 8
            trainer.inclinationPercent = -1
            trainer.rampAngleDegrees = 1
            trainer.resistanceLevel = 4
            trainer.powerWatts = 100
            trainer.averagePowerWatts = -100
            trainer.totalEnergyKilocalories = 1
            trainer.energyPerHourKilocalories = 2
            trainer.energyPerMinuteKilocalories = 3
            trainer.heartRateBeatsPerMinute = 90
            trainer.metabolicEquivalent = 6.5
            trainer.elapsedTimeSeconds = 6
            trainer.remainingTimeSeconds = 7
        }
        // tenths in the first edition
        try spelled([0x81, 0, 0, 45, 0]) { (trainer: inout CrossTrainerData) in
            trainer.hasMoreData = true
            trainer.edition = .first
            trainer.resistanceLevel = 4.5
        }
    }

    @Test func `a step climber with all fields`() throws {
        try spelled(
            [0xFE, 0x01, 3, 0, 60, 0, 50, 0, 48, 0, 10, 0, 1, 0, 2, 0, 3, 90, 65, 6, 0, 7, 0]
        ) { (climber: inout StepClimberData) in
            climber.floors = 3
            climber.stepCount = 60
            climber.stepsPerMinute = 50
            climber.averageStepsPerMinute = 48
            climber.positiveElevationGainMeters = 10
            climber.totalEnergyKilocalories = 1
            climber.energyPerHourKilocalories = 2
            climber.energyPerMinuteKilocalories = 3
            climber.heartRateBeatsPerMinute = 90
            climber.metabolicEquivalent = 6.5
            climber.elapsedTimeSeconds = 6
            climber.remainingTimeSeconds = 7
        }
    }

    @Test func `a stair climber with all fields`() throws {
        try spelled(
            [0xFE, 0x03, 3, 0, 50, 0, 48, 0, 10, 0, 99, 0, 1, 0, 2, 0, 3, 90, 65, 6, 0, 7, 0]
        ) { (climber: inout StairClimberData) in
            climber.floors = 3
            climber.stepsPerMinute = 50
            climber.averageStepsPerMinute = 48
            climber.positiveElevationGainMeters = 10
            climber.strideCount = 99
            climber.totalEnergyKilocalories = 1
            climber.energyPerHourKilocalories = 2
            climber.energyPerMinuteKilocalories = 3
            climber.heartRateBeatsPerMinute = 90
            climber.metabolicEquivalent = 6.5
            climber.elapsedTimeSeconds = 6
            climber.remainingTimeSeconds = 7
        }
    }

    @Test func `a rowing machine with all fields, in both editions`() throws {
        let head: [UInt8] = [
            0xFE, 0x1F, 57, 0x2C, 0x01, 50, 0xE8, 0x03, 0, 120, 0, 125, 0, 0xC8, 0, 0xBE, 0,
        ]
        let tail: [UInt8] = [1, 0, 2, 0, 3, 90, 65, 6, 0, 7, 0]
        func fill(_ rower: inout RowerData) {
            rower.strokesPerMinute = 28.5
            rower.strokeCount = 300
            rower.averageStrokesPerMinute = 25
            rower.totalDistanceMeters = 1000
            rower.paceSecondsPer500Meters = 120
            rower.averagePaceSecondsPer500Meters = 125
            rower.powerWatts = 200
            rower.averagePowerWatts = 190
            rower.resistanceLevel = 5
            rower.totalEnergyKilocalories = 1
            rower.energyPerHourKilocalories = 2
            rower.energyPerMinuteKilocalories = 3
            rower.heartRateBeatsPerMinute = 90
            rower.metabolicEquivalent = 6.5
            rower.elapsedTimeSeconds = 6
            rower.remainingTimeSeconds = 7
        }
        try spelled(head + [5] + tail) { (rower: inout RowerData) in fill(&rower) }
        try spelled(head + [5, 0] + tail) { (rower: inout RowerData) in
            fill(&rower)
            rower.edition = .first
        }
    }
}
