import BLE
import BLEProfiles
import Testing

/// The lines in which measurements of a pulse oximeter are shown.
@Suite struct PulseOximeterDescriptionTests {
    private static let time = DateTime(year: 2026, month: 2, day: 28, hour: 23, minute: 59)

    @Test(
        arguments: [
            (.init(percent: 98, pulseRateBeatsPerMinute: 72), "SpO2 98 %, 72 bpm"),
            (.init(percent: 97.5, pulseRateBeatsPerMinute: .nan), "SpO2 97.5 %, pulse not known"),
            (
                .init(percent: .notAtThisResolution, pulseRateBeatsPerMinute: .infinity),
                "SpO2 not known, pulse above the range"
            ),
        ] as [(OxygenSaturation, String)])
    func `an oxygen saturation has its pulse rate`(_ value: OxygenSaturation, _ text: String) {
        #expect("\(value)" == text)
        #expect("\(PLXSpotCheckMeasurement(value))" == text)
        #expect("\(PLXContinuousMeasurement(value))" == text)
    }

    @Test func `a measurement of a pulse oximeter has its status`() {
        let value = OxygenSaturation(percent: 98, pulseRateBeatsPerMinute: 72)
        let spot = PLXSpotCheckMeasurement(
            value, timeStamp: Self.time, isClockSet: false, measurementStatus: [.validated, .fullyQualified],
            deviceStatus: .lowPerfusion, pulseAmplitudeIndexPercent: 5.2)
        let text =
            "SpO2 98 %, 72 bpm, pulse amplitude 5.2 %, validated, fully qualified, low perfusion, 2026-02-28T23:59:00, "
            + "clock not set"
        #expect("\(spot)" == text)
        let continuous = PLXContinuousMeasurement(
            value, fast: OxygenSaturation(percent: 97, pulseRateBeatsPerMinute: 74),
            slow: OxygenSaturation(percent: .nan, pulseRateBeatsPerMinute: .nan), measurementStatus: [],
            deviceStatus: PLXDeviceStatus(rawValue: 0x800010), pulseAmplitudeIndexPercent: .nan)
        #expect(
            "\(continuous)"
                == "SpO2 98 %, 72 bpm, fast (SpO2 97 %, 74 bpm), slow (SpO2 not known, pulse not known), "
                + "pulse amplitude not known, poor signal, 0x800000")
    }
}
