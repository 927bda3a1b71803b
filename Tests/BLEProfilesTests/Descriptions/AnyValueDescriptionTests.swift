import BLE
import BLEProfiles
import BLETestSupport
import Testing

@Suite struct AnyValueDescriptionTests {
    /// Types whose description consists of those of their parts.
    private static let measurements: [any (CustomStringConvertible & Sendable).Type] = [
        BatteryEnergyStatus.self, BatteryHealthStatus.self, BatteryLevelStatus.self, BatteryTimeStatus.self,
        BloodPressureMeasurement.self, BodyCompositionMeasurement.self, CSCMeasurement.self, CrossTrainerData.self,
        CurrentTimeValue.self, CyclingPowerMeasurement.self, DayDateTime.self, EnhancedBloodPressureMeasurement.self,
        EnhancedIntermediateCuffPressure.self, ExactTime256.self, GlucoseMeasurement.self,
        GlucoseMeasurementContext.self, HeartRateMeasurement.self, IndoorBikeData.self, IntermediateCuffPressure.self,
        MagneticFluxDensity2D.self, MagneticFluxDensity3D.self, PLXContinuousMeasurement.self,
        PLXSpotCheckMeasurement.self, PnPID.self, RSCMeasurement.self, RowerData.self, StairClimberData.self,
        StepClimberData.self, SystemID.self, TemperatureMeasurement.self, TreadmillData.self, WeightMeasurement.self,
    ]

    @Test func `any measurement is one line of words and numbers`() {
        let expected = Dictionary(uniqueKeysWithValues: Self.measurements.map { (ObjectIdentifier($0), "\($0)") })
        var generator = SeededGenerator(seed: 1)
        var seen: Set<ObjectIdentifier> = []
        for value in TypedValues.all {
            for round in 0..<2000 {
                // Small numbers are the valid flags and choices, large ones special values.
                let limit: UInt8 = Bool.random(using: &generator) ? 255 : 31
                let bytes = (0..<round % 40).map { _ in UInt8.random(in: 0...limit, using: &generator) }
                guard let decoded = try? value.decode(bytes) else { continue }
                guard let type = expected[ObjectIdentifier(type(of: decoded))] else { break }
                seen.insert(ObjectIdentifier(Swift.type(of: decoded)))
                let text = "\(decoded)"
                let isLine = !text.isEmpty && text.allSatisfy { $0 != "\n" && $0 != "\r\n" }
                #expect(isLine && text.first != " " && text.last != ",", "\(type): \(text)")
                for code in ["Optional(", "nil", "nan", "inf,", ".0 ", ".0,", ", ,", type] {
                    #expect(!text.contains(code), "\(type) of \(bytes): \(text)")
                }
            }
        }
        #expect(seen == Set(expected.keys))
    }
}
