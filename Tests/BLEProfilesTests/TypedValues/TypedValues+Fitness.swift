import BLE
import BLEProfiles

extension TypedValues {
    static let fitness: [TypedValue] = [
        TypedValue(.cscMeasurement), TypedValue(.cscFeature), TypedValue(.sensorLocation),
        TypedValue(.rscMeasurement), TypedValue(.rscFeature),
        TypedValue(.cyclingPowerMeasurement), TypedValue(.cyclingPowerFeature), TypedValue(.cyclingPowerVector),
        TypedValue(.fitnessMachineFeature), TypedValue(.treadmillData), TypedValue(.crossTrainerData),
        TypedValue(.stepClimberData), TypedValue(.stairClimberData), TypedValue(.rowerData),
        TypedValue(.indoorBikeData), TypedValue(.trainingStatus), TypedValue(.supportedSpeedRange),
        TypedValue(.supportedInclinationRange), TypedValue(.supportedResistanceLevelRange),
        TypedValue(.supportedHeartRateRange), TypedValue(.supportedPowerRange), TypedValue(.fitnessMachineStatus),
        TypedValue(.fitnessMachineControlPoint), TypedValue(.scControlPoint), TypedValue(.cyclingPowerControlPoint),
    ]
}
