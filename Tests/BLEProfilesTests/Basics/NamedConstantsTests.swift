import BLE
import BLEProfiles
import BLETestSupport
import Foundation
import Testing

/// The text of choices and sets of flags, for all types of Sources/BLEProfiles with constants.
@Suite struct NamedConstantsTests {
    @Test func `every constant of every choice and set is shown by its name`() throws {
        let constants = try Constant.all()
        #expect(constants.count > 390)
        for constant in constants {
            let describe = try #require(Self.described[constant.type], "\(constant.type) is not in the list")
            #expect(describe(constant.rawValue) == constant.name, "of \(constant.type)")
        }
        #expect(Set(constants.map(\.type)) == Set(Self.described.keys))
    }

    @Test func `a number without a name is shown as it is`() {
        #expect("\(BodySensorLocation(rawValue: 7))" == "7")
        #expect("\(AlertLevel(rawValue: 255))" == "255")
        #expect("\(DSTOffset(rawValue: 1)) \(BatteryChemistry(rawValue: 254)) \(UserIndex(rawValue: 0))" == "1 254 0")
    }

    @Test func `a set is shown by the names of its flags`() {
        #expect("\(GlucoseFeature([]))" == "none")
        #expect("\([.multipleBonds, .lowBatteryDetection] as GlucoseFeature)" == "lowBatteryDetection, multipleBonds")
        #expect("\(GlucoseFeature(rawValue: 0xA001))" == "lowBatteryDetection, 0xA000")
        #expect("\(PLXMeasurementStatus(rawValue: 0x001F))" == "0x1F")
        #expect("\(CyclingPowerFeature(rawValue: .max))".hasSuffix("enhancedOffsetCompensation, 0xFFF00000"))
    }

    private static let described: [String: @Sendable (UInt64) -> String] = Dictionary(
        uniqueKeysWithValues: [
            entry(AlertLevel.self),
            entry(BarometricPressureTrend.self),
            entry(BatteryChemistry.self),
            entry(BatteryCriticalStatus.self),
            entry(BatteryInformation.Features.self),
            entry(BatteryLevelStatus.ChargingFaults.self),
            entry(BloodPressureFeature.self),
            entry(BloodPressureStatus.self),
            entry(BodyCompositionFeature.self),
            entry(BodySensorLocation.self),
            entry(CSCFeature.self),
            entry(CurrentTimeValue.AdjustReasons.self),
            entry(CyclingPowerContentMask.self),
            entry(CyclingPowerControlPointResult.self),
            entry(CyclingPowerFeature.self),
            entry(DSTOffset.self),
            entry(EnvironmentalApplication.self),
            entry(EnvironmentalDescriptorChange.Changes.self),
            entry(EnvironmentalMeasurement.SamplingFunction.self),
            entry(EnvironmentalTriggerLogic.self),
            entry(FitnessMachineAdvertisement.Kinds.self),
            entry(FitnessMachineFeature.Measurements.self),
            entry(FitnessMachineFeature.Targets.self),
            entry(FitnessMachineResult.self),
            entry(FitnessMachineStatus.SpinDown.self),
            entry(GlucoseFeature.self),
            entry(GlucoseMeasurementContext.CarbohydrateSource.self),
            entry(GlucoseMeasurementContext.Health.self),
            entry(GlucoseMeasurementContext.Meal.self),
            entry(GlucoseMeasurementContext.MedicationKind.self),
            entry(GlucoseMeasurementContext.Tester.self),
            entry(GlucoseSample.Fluid.self),
            entry(GlucoseSample.Location.self),
            entry(GlucoseStatus.self),
            entry(HeartRateCommand.self),
            entry(HeightResolution.self),
            entry(MassResolution.self),
            entry(PLXDeviceStatus.self),
            entry(PLXFeatures.Supported.self),
            entry(PLXMeasurementStatus.self),
            entry(RSCFeature.self),
            entry(RecordAccessMessage.Opcode.self),
            entry(RecordAccessMessage.Operator.self),
            entry(RecordAccessResult.self),
            entry(SCControlPointResult.self),
            entry(SensorLocation.self),
            entry(TemperatureType.self),
            entry(TimeSource.self),
            entry(TrainingStatus.Activity.self),
            entry(UserIndex.self),
            entry(WeightScaleFeature.self),
        ])

    private static func entry<Value: RawRepresentable & Sendable>(
        _: Value.Type
    ) -> (String, @Sendable (UInt64) -> String) where Value.RawValue: FixedWidthInteger {
        (
            "\(Value.self)",
            { number in Value(rawValue: Value.RawValue(number)).map { "\($0)" } ?? "" }
        )
    }
}

/// A constant as written in the source: `public static let chest = BodySensorLocation(rawValue: 1)`.
private struct Constant {
    let type: String
    let name: String
    let rawValue: UInt64

    static func all() throws -> [Constant] {
        let services = Checkout.url("Sources/BLEProfiles")
        let files = try FileManager.default.subpathsOfDirectory(atPath: services.path).filter { $0.hasSuffix(".swift") }
        return try files.flatMap { file in
            let text = try String(contentsOf: services.appending(path: file), encoding: .utf8)
            return text.split(separator: "\n").compactMap { Constant($0) }
        }
    }

    private init?(_ line: Substring) {
        let pattern = /^ +public static let `?(\w+)`? = (\w+)\(rawValue: (?:0x([0-9A-F]+)|(\d+)(?: << (\d+))?)\)$/
        guard let match = line.wholeMatch(of: pattern), match.2 != "ATTError" else { return nil }
        type = String(match.2)
        name = String(match.1)
        let base = match.3.flatMap { UInt64($0, radix: 16) } ?? match.4.flatMap { UInt64($0) }
        guard let base else { return nil }
        rawValue = base << (match.5.flatMap { UInt64($0) } ?? 0)
    }
}
