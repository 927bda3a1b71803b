import BLE
import BLEProfiles
import BLETestSupport
import Testing

/// Common requirements for all values of the profiles for health.
@Suite struct HealthValueTests {
    @Test(arguments: TypedValues.health)
    func `no bytes trap, and what they spell is written and read again`(_ value: TypedValue) throws {
        try checkAnyBytes(value)
    }

    @Test func `random values are read as they were written`() throws {
        var generator = SeededGenerator(seed: 11)
        for _ in 0..<500 {
            try checkRoundTrip(generator.dateTime())
            try checkRoundTrip(generator.temperatureMeasurement())
            try checkRoundTrip(generator.bloodPressureMeasurement())
            try checkRoundTrip(generator.intermediateCuffPressure())
            try checkRoundTrip(generator.enhancedBloodPressureMeasurement())
            try checkRoundTrip(generator.glucoseMeasurement())
            try checkRoundTrip(generator.glucoseMeasurementContext())
            try checkRoundTrip(generator.spotCheck())
            try checkRoundTrip(generator.continuousMeasurement())
            try checkRoundTrip(generator.weightMeasurement())
            try checkRoundTrip(generator.bodyCompositionMeasurement())
        }
    }
}

extension SeededGenerator {
    mutating func maybe<Value>(_ value: (inout SeededGenerator) -> Value) -> Value? {
        Bool.random(using: &self) ? value(&self) : nil
    }

    mutating func float16() -> MedFloat16 { MedFloat16(rawValue: .random(in: 0 ... .max, using: &self)) }

    mutating func flags<Flags: OptionSet>(_: Flags.Type = Flags.self) -> Flags where Flags.RawValue == UInt16 {
        Flags(rawValue: .random(in: 0 ... .max, using: &self))
    }

    mutating func user() -> UserIndex { UserIndex(rawValue: .random(in: 0 ... .max, using: &self)) }

    mutating func dateTime() -> DateTime {
        DateTime(
            year: maybe { .random(in: 1582...9999, using: &$0) }, month: maybe { .random(in: 1...12, using: &$0) },
            day: maybe { .random(in: 1...28, using: &$0) }, hour: .random(in: 0...23, using: &self),
            minute: .random(in: 0...59, using: &self), second: .random(in: 0...59, using: &self))
    }

    mutating func temperatureMeasurement() -> TemperatureMeasurement {
        TemperatureMeasurement(
            temperature: MedFloat32(rawValue: .random(in: 0 ... .max, using: &self)),
            unit: Bool.random(using: &self) ? .celsius : .fahrenheit, timeStamp: maybe { $0.dateTime() },
            type: maybe { TemperatureType(rawValue: .random(in: 0 ... .max, using: &$0)) })
    }

    mutating func pressures() -> BloodPressures {
        BloodPressures(
            systolic: float16(), diastolic: float16(), meanArterial: float16(),
            unit: Bool.random(using: &self) ? .kilopascals : .millimetersOfMercury)
    }

    mutating func bloodPressureMeasurement() -> BloodPressureMeasurement {
        BloodPressureMeasurement(
            pressures(), timeStamp: maybe { $0.dateTime() }, pulseRateBeatsPerMinute: maybe { $0.float16() },
            user: maybe { $0.user() }, status: maybe { $0.flags() })
    }

    mutating func intermediateCuffPressure() -> IntermediateCuffPressure {
        IntermediateCuffPressure(
            float16(), timeStamp: maybe { $0.dateTime() }, pulseRateBeatsPerMinute: maybe { $0.float16() },
            user: maybe { $0.user() },
            status: maybe { $0.flags() })
    }

    mutating func enhancedBloodPressureMeasurement() -> EnhancedBloodPressureMeasurement {
        func time(_ generator: inout SeededGenerator) -> DateTime? {
            DateTime(secondsSince1970: .random(in: 946_684_800...2_085_978_495, using: &generator))
        }
        return EnhancedBloodPressureMeasurement(
            pressures(),
            details: EnhancedBloodPressureDetails(
                timeStamp: time(&self), userFacingTime: maybe { time(&$0) } ?? nil,
                epoch: Bool.random(using: &self) ? .year1900 : .year2000,
                pulseRateBeatsPerMinute: maybe { $0.float16() },
                user: maybe { $0.user() }, status: maybe { $0.flags() }))
    }

    mutating func glucoseMeasurement() -> GlucoseMeasurement {
        GlucoseMeasurement(
            sequenceNumber: .random(in: 0 ... .max, using: &self), baseTime: dateTime(),
            timeOffsetMinutes: maybe { .random(in: -32768...32767, using: &$0) },
            sample: maybe {
                GlucoseSample(
                    concentration: $0.float16(),
                    unit: Bool.random(using: &$0) ? .kilogramsPerLiter : .molesPerLiter,
                    fluid: .init(rawValue: .random(in: 0...15, using: &$0)),
                    location: .init(rawValue: .random(in: 0...15, using: &$0)))
            }, status: maybe { $0.flags() }, hasContext: Bool.random(using: &self))
    }

    mutating func glucoseMeasurementContext() -> GlucoseMeasurementContext {
        GlucoseMeasurementContext(
            sequenceNumber: .random(in: 0 ... .max, using: &self),
            carbohydrates: maybe {
                .init(.init(rawValue: .random(in: 0 ... .max, using: &$0)), kilograms: $0.float16())
            }, meal: maybe { .init(rawValue: .random(in: 0 ... .max, using: &$0)) },
            examination: maybe {
                .init(
                    tester: .init(rawValue: .random(in: 0...15, using: &$0)),
                    health: .init(rawValue: .random(in: 0...15, using: &$0)))
            },
            exercise: maybe {
                .init(
                    durationSeconds: $0.maybe { .random(in: 0...65534, using: &$0) },
                    intensityPercent: .random(in: 0...255, using: &$0))
            },
            medication: maybe {
                .init(
                    .init(rawValue: .random(in: 0 ... .max, using: &$0)), amount: $0.float16(),
                    unit: Bool.random(using: &$0) ? .liters : .kilograms)
            }, hbA1cPercent: maybe { $0.float16() })
    }

    mutating func saturation() -> OxygenSaturation {
        OxygenSaturation(percent: float16(), pulseRateBeatsPerMinute: float16())
    }

    mutating func deviceStatus() -> PLXDeviceStatus {
        PLXDeviceStatus(rawValue: .random(in: 0...0xFF_FFFF, using: &self))
    }

    mutating func spotCheck() -> PLXSpotCheckMeasurement {
        PLXSpotCheckMeasurement(
            saturation(), timeStamp: maybe { $0.dateTime() }, isClockSet: Bool.random(using: &self),
            measurementStatus: maybe { $0.flags() }, deviceStatus: maybe { $0.deviceStatus() },
            pulseAmplitudeIndexPercent: maybe { $0.float16() })
    }

    mutating func continuousMeasurement() -> PLXContinuousMeasurement {
        PLXContinuousMeasurement(
            saturation(), fast: maybe { $0.saturation() }, slow: maybe { $0.saturation() },
            measurementStatus: maybe { $0.flags() }, deviceStatus: maybe { $0.deviceStatus() },
            pulseAmplitudeIndexPercent: maybe { $0.float16() })
    }

    mutating func steps(_ perUnit: Double, _ range: ClosedRange<Int> = 0...65535) -> Double {
        Double(Int.random(in: range, using: &self)) / perUnit
    }

    mutating func weightMeasurement() -> WeightMeasurement {
        let isMetric = Bool.random(using: &self)
        return WeightMeasurement(
            weight: maybe { $0.steps(isMetric ? 200 : 100, 0...65534) }, units: isMetric ? .metric : .imperial,
            timeStamp: maybe { $0.dateTime() }, user: maybe { $0.user() },
            proportion: maybe { .init(bodyMassIndex: $0.steps(10), height: $0.steps(isMetric ? 1000 : 10)) })
    }

    mutating func bodyCompositionMeasurement() -> BodyCompositionMeasurement {
        let isMetric = Bool.random(using: &self)
        var measurement = BodyCompositionMeasurement(
            bodyFatPercent: maybe { $0.steps(10, 0...65534) }, units: isMetric ? .metric : .imperial)
        measurement.isPart = Bool.random(using: &self)
        measurement.timeStamp = maybe { $0.dateTime() }
        measurement.user = maybe { $0.user() }
        measurement.basalMetabolismKilojoules = maybe { .random(in: 0...65535, using: &$0) }
        measurement.musclePercent = maybe { $0.steps(10) }
        measurement.muscleMass = maybe { $0.steps(isMetric ? 200 : 100) }
        measurement.fatFreeMass = maybe { $0.steps(isMetric ? 200 : 100) }
        measurement.softLeanMass = maybe { $0.steps(isMetric ? 200 : 100) }
        measurement.bodyWaterMass = maybe { $0.steps(isMetric ? 200 : 100) }
        measurement.impedanceOhms = maybe { $0.steps(10) }
        measurement.weight = maybe { $0.steps(isMetric ? 200 : 100) }
        measurement.height = maybe { $0.steps(isMetric ? 1000 : 10) }
        return measurement
    }
}
