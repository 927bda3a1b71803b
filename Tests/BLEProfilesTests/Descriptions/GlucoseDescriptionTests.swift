import BLE
import BLEProfiles
import Testing

@Suite struct GlucoseDescriptionTests {
    private static let time = DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59)
    /// 120 mg/dL, sent as 0.00120 kg/L.
    private static let sample = GlucoseSample(
        concentration: MedFloat16(rawValue: 0xB078), unit: .kilogramsPerLiter, location: .finger)

    @Test(
        arguments: [
            (sample, "120 mg/dL, capillary whole blood, finger"),
            (
                .init(concentration: MedFloat16(rawValue: 0xC037), unit: .molesPerLiter, fluid: .interstitialFluid),
                "5.5 mmol/L, interstitial fluid"
            ),
            (
                .init(concentration: .nan, unit: .molesPerLiter, fluid: .controlSolution, location: .controlSolution),
                "not known, control solution"
            ),
            (
                .init(
                    concentration: .infinity, unit: .kilogramsPerLiter, fluid: .init(rawValue: 11),
                    location: .init(rawValue: 0)),
                "above the range, 11 (reserved), 0 (reserved)"
            ),
        ] as [(GlucoseSample, String)])
    func `a sample is in the unit that was sent`(_ sample: GlucoseSample, _ text: String) {
        #expect("\(sample)" == text)
    }

    @Test(
        arguments: [
            (.init(sequenceNumber: 5, baseTime: time), "2026-02-28T23:59:00, record 5"),
            (
                .init(
                    sequenceNumber: 5, baseTime: time, timeOffsetMinutes: 2, sample: sample,
                    status: [.batteryLow, .resultTooHigh]),
                "120 mg/dL, capillary whole blood, finger, battery low, result too high, 2026-03-01T00:01:00, record 5"
            ),
            (
                .init(
                    sequenceNumber: 0, baseTime: DateTime(year: 2026, month: 2, day: nil, hour: 1),
                    timeOffsetMinutes: -60, status: []),
                "2026-02-??T01:00:00, offset -60 min, record 0"
            ),
        ] as [(GlucoseMeasurement, String)])
    func `a record has its sample, its status and the time that the user sees`(
        _ value: GlucoseMeasurement, _ text: String
    ) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(sequenceNumber: 7), "record 7"),
            (
                .init(
                    sequenceNumber: 7, carbohydrates: .init(.lunch, kilograms: 0.06), meal: .postprandial,
                    examination: .init(tester: .healthCareProfessional, health: .minorIssues),
                    exercise: .init(durationSeconds: 1800, intensityPercent: 50),
                    medication: .init(.rapidActingInsulin, amount: 0.000012, unit: .kilograms), hbA1cPercent: 6.5),
                "60 g carbohydrates (lunch), postprandial, tested by health care professional, health: minor issues, "
                    + "exercise 30 min at 50 %, rapid acting insulin 12 mg, HbA1c 6.5 %, record 7"
            ),
            (
                .init(sequenceNumber: 7, medication: .init(.premixedInsulin, amount: 0.0025, unit: .liters)),
                "premixed insulin 2.5 mL, record 7"
            ),
            (
                .init(
                    sequenceNumber: 7, carbohydrates: .init(.init(rawValue: 9), kilograms: .nan), examination: .init(),
                    exercise: .init(durationSeconds: nil, intensityPercent: 0), hbA1cPercent: .nan),
                "carbohydrates not known (9 (reserved)), exercise more than 18 h 12 min 14 s at 0 %, HbA1c not known, "
                    + "record 7"
            ),
        ] as [(GlucoseMeasurementContext, String)])
    func `a context has the notes that were sent`(_ value: GlucoseMeasurementContext, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test func `a record with its context has its number once`() {
        let measurement = GlucoseMeasurement(sequenceNumber: 5, baseTime: Self.time, sample: Self.sample)
        #expect("\(GlucoseRecord(measurement))" == "\(measurement)")
        let record = GlucoseRecord(measurement, context: .init(sequenceNumber: 5, meal: .fasting))
        #expect("\(record)" == "120 mg/dL, capillary whole blood, finger, 2026-02-28T23:59:00, fasting, record 5")
    }
}
