internal import BLE

extension BloodPressures: CustomStringConvertible {
    /// A line such as `120/80 mmHg, mean 93 mmHg`, in the unit that was sent, without a mean that is not known. With
    /// special values, `systolic 120 mmHg, diastolic not known`.
    public var description: String {
        let isPair = systolic.isNumber && diastolic.isNumber
        return [
            isPair
                ? "\(systolic.text())/\(diastolic.text(unit.symbol))"
                : "systolic \(systolic.text(unit.symbol)), diastolic \(diastolic.text(unit.symbol))",
            meanArterial.doubleValue.isNaN ? nil : "mean \(meanArterial.text(unit.symbol))",
        ].line
    }
}

extension BloodPressureMeasurement: CustomStringConvertible {
    /// A line such as `120/80 mmHg, mean 93 mmHg, 72 bpm, user 1, irregular pulse, 2026-02-28T23:59:00`.
    public var description: String {
        [
            pressures.description, pulseRateBeatsPerMinute?.text("bpm", of: "pulse"), user?.words, status?.flagWords,
            timeStamp?.description,
        ].line
    }
}

extension IntermediateCuffPressure: CustomStringConvertible {
    /// A line such as `cuff 150 mmHg, 72 bpm, user 1, body movement, 2026-02-28T23:59:00`.
    public var description: String {
        [
            "cuff \(pressure.text(unit.symbol))", pulseRateBeatsPerMinute?.text("bpm", of: "pulse"), user?.words,
            status?.flagWords,
            timeStamp?.description,
        ].line
    }
}

extension EnhancedBloodPressureMeasurement: CustomStringConvertible {
    /// A line such as `120/80 mmHg, mean 93 mmHg, 72 bpm, user 1, irregular pulse, 2026-02-28T23:59:00`.
    public var description: String { ([pressures.description] + details.parts).line }
}

extension EnhancedIntermediateCuffPressure: CustomStringConvertible {
    /// A line such as `cuff 150 mmHg, 72 bpm, user 1, body movement, 2026-02-28T23:59:00`.
    public var description: String { (["cuff \(pressure.text(unit.symbol))"] + details.parts).line }
}

extension EnhancedBloodPressureDetails: CustomStringConvertible {
    /// A line such as `72 bpm, user 1, irregular pulse, 2026-02-28T23:59:00`, with the user-facing time, or else the
    /// time stamp. `not known` if nothing was sent.
    public var description: String { parts.line }

    fileprivate var parts: [String?] {
        [
            pulseRateBeatsPerMinute?.text("bpm", of: "pulse"), user?.words, status?.flagWords,
            (userFacingTime ?? timeStamp)?.description,
        ]
    }
}

extension PressureUnit {
    fileprivate var symbol: String { self == .millimetersOfMercury ? "mmHg" : "kPa" }
}
