import BLE
import BLEProfiles
import Testing

/// The lines in which measurements of the body are shown.
@Suite struct HealthDescriptionTests {
    private static let time = DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59)

    @Test(
        arguments: [
            (.init(beatsPerMinute: 72), "72 bpm"),
            (
                .init(
                    beatsPerMinute: 72, contact: false, energyExpendedKilojoules: 10, rrIntervalsSeconds: [853.0 / 1024]
                ),
                "72 bpm, RR 0.833 s, 10 kJ, no contact"
            ),
            (.init(beatsPerMinute: 300, contact: true, rrIntervalsSeconds: [1, 0.5, 0]), "300 bpm, RR 1 0.5 0 s"),
            (.init(beatsPerMinute: 0, energyExpendedKilojoules: 65535), "0 bpm, 65535 kJ or more"),
            (
                .init(beatsPerMinute: 72, rrIntervalsSeconds: [.nan, .infinity]),
                "72 bpm, RR not known above the range s"
            ),
        ] as [(HeartRateMeasurement, String)])
    func `a heart rate has its intervals, energy and lack of contact`(_ value: HeartRateMeasurement, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(temperature: 36.6), "36.6 °C"),
            (.init(temperature: 36.6, timeStamp: time, type: .ear), "36.6 °C, ear, 2026-02-28T23:59:00"),
            (
                .init(temperature: 98.2, unit: .fahrenheit, type: .gastrointestinalTract),
                "98.2 °F, gastrointestinal tract"
            ),
            (.init(temperature: MedFloat32(mantissa: 370, exponent: -1)!), "37 °C"),
            (.init(temperature: .nan, type: .mouth), "not known, mouth"), (.init(temperature: .reserved), "not known"),
            (.init(temperature: .notAtThisResolution), "not known"),
            (.init(temperature: .infinity), "above the range"),
            (.init(temperature: .negativeInfinity), "below the range"),
            (.init(temperature: -0.5, type: TemperatureType(rawValue: 12)), "-0.5 °C, 12 (reserved)"),
        ] as [(TemperatureMeasurement, String)])
    func `a temperature is in the unit that was sent`(_ value: TemperatureMeasurement, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(systolic: 120, diastolic: 80), "120/80 mmHg"),
            (.init(systolic: 120, diastolic: 80, meanArterial: 93), "120/80 mmHg, mean 93 mmHg"),
            (
                .init(systolic: 16, diastolic: 10.7, meanArterial: 12.4, unit: .kilopascals),
                "16/10.7 kPa, mean 12.4 kPa"
            ),
            (.init(systolic: 120, diastolic: .nan), "systolic 120 mmHg, diastolic not known"),
            (
                .init(systolic: .infinity, diastolic: .negativeInfinity, meanArterial: .notAtThisResolution),
                "systolic above the range, diastolic below the range"
            ),
        ] as [(BloodPressures, String)])
    func `blood pressures are in the unit that was sent`(_ value: BloodPressures, _ text: String) {
        #expect("\(value)" == text)
        #expect("\(BloodPressureMeasurement(value))" == text)
        #expect("\(EnhancedBloodPressureMeasurement(value))" == text)
    }

    @Test func `a blood pressure has its details`() {
        let pressures = BloodPressures(systolic: 120, diastolic: 80)
        let details = "72 bpm, user 1, cuff too loose, irregular pulse, 2026-02-28T23:59:00"
        let status: BloodPressureStatus = [.irregularPulse, .cuffTooLoose]
        let user = UserIndex(rawValue: 1)
        let plain = BloodPressureMeasurement(
            pressures, timeStamp: Self.time, pulseRateBeatsPerMinute: 72, user: user, status: status)
        #expect("\(plain)" == "120/80 mmHg, \(details)")
        let cuff = IntermediateCuffPressure(
            150, timeStamp: Self.time, pulseRateBeatsPerMinute: 72, user: user, status: status)
        #expect("\(cuff)" == "cuff 150 mmHg, \(details)")
        let enhanced = EnhancedBloodPressureDetails(
            timeStamp: DateTime(year: 2026, month: 1, day: 1), userFacingTime: Self.time, pulseRateBeatsPerMinute: 72,
            user: user,
            status: status)
        #expect("\(enhanced)" == details)
        #expect("\(EnhancedBloodPressureMeasurement(pressures, details: enhanced))" == "120/80 mmHg, \(details)")
        #expect("\(EnhancedIntermediateCuffPressure(150, details: enhanced))" == "cuff 150 mmHg, \(details)")
    }

    @Test func `details that were not sent or are not known are named or omitted`() {
        #expect("\(EnhancedBloodPressureDetails())" == "not known")
        #expect("\(EnhancedBloodPressureDetails(timeStamp: Self.time))" == "2026-02-28T23:59:00")
        let cuff = IntermediateCuffPressure(
            .nan, unit: .kilopascals, pulseRateBeatsPerMinute: .nan, user: .unknown,
            status: BloodPressureStatus(rawValue: 0x8001))
        #expect("\(cuff)" == "cuff not known, pulse not known, unknown user, body movement, 0x8000")
        #expect("\(IntermediateCuffPressure(20, status: []))" == "cuff 20 mmHg")
    }

    @Test(
        arguments: [
            (.init(weight: 72.5), "72.5 kg"), (.init(weight: 160, units: .imperial), "160 lb"),
            (.init(weight: nil), "measurement failed"),
            (
                .init(
                    weight: 72.505, timeStamp: time, user: UserIndex(rawValue: 2),
                    proportion: .init(bodyMassIndex: 22.4, height: 1.8)),
                "72.505 kg, BMI 22.4, height 1.8 m, user 2, 2026-02-28T23:59:00"
            ),
            (
                .init(weight: 160.25, units: .imperial, proportion: .init(bodyMassIndex: 22, height: 70.9)),
                "160.25 lb, BMI 22, height 70.9 in"
            ),
            (.init(weight: .nan), "not known"), (.init(weight: .infinity), "above the range"),
        ] as [(WeightMeasurement, String)])
    func `a weight is in the units that were sent`(_ value: WeightMeasurement, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test func `a body composition has all values that were sent`() {
        #expect("\(BodyCompositionMeasurement(bodyFatPercent: 21.5))" == "body fat 21.5 %")
        var value = BodyCompositionMeasurement(bodyFatPercent: nil)
        value.isPart = true
        #expect("\(value)" == "measurement failed, part")
        value = BodyCompositionMeasurement(bodyFatPercent: 20, units: .imperial)
        value.musclePercent = 40.1
        value.muscleMass = 66
        value.fatFreeMass = 128.5
        value.softLeanMass = 120
        value.bodyWaterMass = 94.7
        value.impedanceOhms = 480.5
        value.basalMetabolismKilojoules = 7000
        value.weight = 160
        value.height = 70.9
        value.user = UserIndex(rawValue: 0)
        value.timeStamp = Self.time
        let text =
            "body fat 20 %, muscle 40.1 %, muscle 66 lb, fat-free mass 128.5 lb, soft lean mass 120 lb, "
            + "body water 94.7 lb, 480.5 Ω, 7000 kJ, weight 160 lb, height 70.9 in, user 0, 2026-02-28T23:59:00"
        #expect("\(value)" == text)
    }
}
