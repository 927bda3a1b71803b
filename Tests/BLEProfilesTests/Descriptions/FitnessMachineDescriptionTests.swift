import BLEProfiles
import Testing

/// The lines in which records of fitness machines are shown.
@Suite struct FitnessMachineDescriptionTests {
    @Test func `a record of a fitness machine without fields is not known`() {
        let records: [any FitnessMachineRecord] = [
            TreadmillData(), CrossTrainerData(), StepClimberData(), StairClimberData(), RowerData(), IndoorBikeData(),
        ]
        for record in records {
            #expect("\(record)" == "not known")
            var part = record
            part.hasMoreData = true
            #expect("\(part)" == "not known, incomplete")
        }
    }

    @Test func `a record of a bike has its principal fields`() {
        var value = IndoorBikeData()
        value.speedKilometersPerHour = 25.5
        value.averageSpeedKilometersPerHour = 24
        #expect("\(value)" == "25.5 km/h")
        value.cadencePerMinute = 90
        value.powerWatts = 180
        value.resistanceLevel = 5
        value.totalDistanceMeters = 1200
        value.totalEnergyKilocalories = 35
        value.heartRateBeatsPerMinute = 120
        value.elapsedTimeSeconds = 303
        value.remainingTimeSeconds = 600
        let text = "25.5 km/h, 90 rpm, 180 W, level 5, 1200 m, 35 kcal, 120 bpm, 5 min 3 s, 10 min left"
        #expect("\(value)" == text)
        value.speedKilometersPerHour = nil
        value.cadencePerMinute = .nan
        value.hasMoreData = true
        #expect("\(value)".hasPrefix("not known, 180 W, "))
        #expect("\(value)".hasSuffix(", 10 min left, incomplete"))
    }

    @Test func `a record of a treadmill has its principal fields`() {
        var value = TreadmillData()
        value.elapsedTimeSeconds = 0
        #expect("\(value)" == "0 s")
        value.speedKilometersPerHour = 10
        value.inclinationPercent = -1.5
        value.powerOutputWatts = 180
        value.totalDistanceMeters = 42195
        value.totalEnergyKilocalories = 2800
        value.heartRateBeatsPerMinute = 150
        value.elapsedTimeSeconds = 15_010
        let text = "10 km/h, inclination -1.5 %, 180 W, 42195 m, 2800 kcal, 150 bpm, 4 h 10 min 10 s"
        #expect("\(value)" == text)
    }

    @Test func `a record of a cross trainer has its principal fields`() {
        var value = CrossTrainerData()
        value.speedKilometersPerHour = 8.25
        value.stepsPerMinute = 120
        value.powerWatts = 150
        value.resistanceLevel = 4.5
        value.totalDistanceMeters = 900
        value.remainingTimeSeconds = 86_400
        value.isBackward = true
        #expect("\(value)" == "8.25 km/h, 120 steps/min, 150 W, level 4.5, 900 m, 1 d left, backward")
    }

    @Test func `a record of a climber has its principal fields`() {
        var step = StepClimberData()
        step.floors = 1
        step.stepCount = 21
        step.stepsPerMinute = 60
        step.heartRateBeatsPerMinute = 99
        #expect("\(step)" == "1 floor, 21 steps, 60 steps/min, 99 bpm")
        var stair = StairClimberData()
        stair.floors = 12
        stair.strideCount = 1
        stair.stepsPerMinute = 60
        stair.elapsedTimeSeconds = 59
        #expect("\(stair)" == "12 floors, 1 stride, 60 steps/min, 59 s")
    }

    @Test func `a record of a rowing machine has its principal fields`() {
        var value = RowerData()
        value.strokesPerMinute = 24.5
        value.strokeCount = 120
        value.paceSecondsPer500Meters = 125
        value.powerWatts = 150
        value.resistanceLevel = 5
        value.totalDistanceMeters = 1200
        #expect("\(value)" == "24.5 strokes/min, 120 strokes, 2 min 5 s per 500 m, 150 W, level 5, 1200 m")
    }
}
