internal import BLE

extension GlucoseSample: CustomStringConvertible {
    /// A line such as `120 mg/dL, capillary whole blood, finger`, or `5.5 mmol/L` and so on, depending on the unit that
    /// was sent.
    public var description: String {
        [
            unit == .kilogramsPerLiter ? milligramsPerDeciliter.text("mg/dL") : millimolesPerLiter.text("mmol/L"),
            fluid.words, isLocationKnown ? location.words : nil,
        ].line
    }

    private var isLocationKnown: Bool {
        location != .notAvailable && (fluid, location) != (.controlSolution, .controlSolution)
    }
}

extension GlucoseMeasurement: CustomStringConvertible {
    /// A line such as `120 mg/dL, capillary whole blood, finger, battery low, 2026-02-28T23:59:00, record 5`.
    ///
    /// The time is from the clock that the user sees. If a part of the date is unknown, it is from the meter's own
    /// clock, followed by the offset: `2026-02-??T23:59:00, offset 60 min`.
    public var description: String { (parts + ["record \(sequenceNumber)"]).line }

    fileprivate var parts: [String?] {
        [
            sample?.description, status?.flagWords, (userFacingTime ?? baseTime).description,
            userFacingTime == nil ? timeOffsetMinutes.map { "offset \($0) min" } : nil,
        ]
    }
}

extension GlucoseMeasurementContext: CustomStringConvertible {
    /// A line such as `60 g carbohydrates (lunch), postprandial, rapid acting insulin 12 mg, HbA1c 6.5 %, record 5`.
    public var description: String { (parts + ["record \(sequenceNumber)"]).line }

    fileprivate var parts: [String?] {
        [
            carbohydrates?.text, meal?.words, examination?.text, exercise?.text, medication?.text,
            hbA1cPercent.map { "HbA1c \($0.text("%"))" },
        ]
    }
}

extension GlucoseRecord: CustomStringConvertible {
    /// The measurement and its context, such as
    /// `120 mg/dL, capillary whole blood, finger, 2026-02-28T23:59:00, 60 g carbohydrates (lunch), record 5`.
    public var description: String {
        (measurement.parts + (context?.parts ?? []) + ["record \(measurement.sequenceNumber)"]).line
    }
}

extension GlucoseMeasurementContext.Carbohydrates {
    fileprivate var text: String {
        let mass = kilograms.converted(by: 1, exponent: 3).text("g")
        return (kilograms.isNumber ? "\(mass) carbohydrates" : "carbohydrates \(mass)") + " (\(source.words))"
    }
}

extension GlucoseMeasurementContext.Examination {
    fileprivate var text: String? {
        let parts = [
            tester == .notAvailable ? nil : "tested by \(tester.words)",
            health == .notAvailable ? nil : "health: \(health.words)",
        ]
        return parts == [nil, nil] ? nil : parts.line
    }
}

extension GlucoseMeasurementContext.Exercise {
    fileprivate var text: String {
        let time = durationSeconds.map(\.secondsText) ?? "more than \(65534.secondsText)"
        return "exercise \(time) at \(intensityPercent) %"
    }
}

extension GlucoseMeasurementContext.Medication {
    fileprivate var text: String {
        let text =
            unit == .kilograms
            ? amount.converted(by: 1, exponent: 6).text("mg") : amount.converted(by: 1, exponent: 3).text("mL")
        return "\(kind.words) \(text)"
    }
}
