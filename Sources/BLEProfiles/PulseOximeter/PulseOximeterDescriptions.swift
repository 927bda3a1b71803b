internal import BLE

extension OxygenSaturation: CustomStringConvertible {
    /// A line such as `SpO2 98 %, 72 bpm`. With special values, `SpO2 not known, pulse not known`.
    public var description: String { "SpO2 \(percent.text("%")), \(pulseRateBeatsPerMinute.text("bpm", of: "pulse"))" }
}

extension PLXSpotCheckMeasurement: CustomStringConvertible {
    /// A line such as
    /// `SpO2 98 %, 72 bpm, pulse amplitude 5.2 %, fully qualified, low perfusion, 2026-02-28T23:59:00, clock not set`.
    public var description: String {
        [
            value.description, pulseAmplitudeIndexPercent.map { "pulse amplitude \($0.text("%"))" },
            measurementStatus?.flagWords, deviceStatus?.flagWords, timeStamp?.description,
            isClockSet ? nil : "clock not set",
        ].line
    }
}

extension PLXContinuousMeasurement: CustomStringConvertible {
    /// A line such as
    /// `SpO2 98 %, 72 bpm, fast (SpO2 97 %, 74 bpm), slow (SpO2 98 %, 71 bpm), pulse amplitude 5.2 %, poor signal`.
    public var description: String {
        [
            normal.description, fast.map { "fast (\($0))" }, slow.map { "slow (\($0))" },
            pulseAmplitudeIndexPercent.map { "pulse amplitude \($0.text("%"))" }, measurementStatus?.flagWords,
            deviceStatus?.flagWords,
        ].line
    }
}
