import BLEProfiles

extension TypedValues {
    /// The typed values of the profiles for health.
    static var health: [TypedValue] {
        [
            TypedValue(.dateTime), TypedValue(.userIndex),
            TypedValue(.temperatureMeasurement), TypedValue(.intermediateTemperature), TypedValue(.temperatureType),
            TypedValue(.measurementInterval),
            TypedValue(.bloodPressureMeasurement), TypedValue(.intermediateCuffPressure),
            TypedValue(.bloodPressureFeature), TypedValue(.bloodPressureRecord),
            TypedValue(.enhancedBloodPressureMeasurement),
            TypedValue(.enhancedIntermediateCuffPressure),
            TypedValue(.glucoseMeasurement), TypedValue(.glucoseMeasurementContext), TypedValue(.glucoseFeature),
            TypedValue(.recordAccessControlPoint),
            TypedValue(.plxSpotCheckMeasurement), TypedValue(.plxContinuousMeasurement), TypedValue(.plxFeatures),
            TypedValue(.weightMeasurement), TypedValue(.weightScaleFeature),
            TypedValue(.bodyCompositionMeasurement), TypedValue(.bodyCompositionFeature),
        ]
    }
}
