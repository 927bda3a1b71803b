import BLEProfiles
import Testing

/// The lines in which measurements of sports are shown.
@Suite struct FitnessDescriptionTests {
    @Test(
        arguments: [
            (.init(count: 1234, lastEventSeconds: 12.5), "1234 revolutions at 12.5 s"),
            (.init(count: 1, lastEventSeconds: 1.0 / 1024), "1 revolution at 0.001 s"),
            (.init(count: 0, lastEventSeconds: 0), "0 revolutions at 0 s"),
            (.init(count: .min, lastEventSeconds: .nan), "-9223372036854775808 revolutions at not known"),
        ] as [(Revolutions, String)])
    func `revolutions have the time of the last one`(_ value: Revolutions, _ text: String) {
        #expect("\(value)" == text)
        #expect("\(CSCMeasurement(wheelRevolutions: value))" == "wheel \(text)")
        #expect("\(CSCMeasurement(crankRevolutions: value))" == "crank \(text)")
        #expect("\(CSCMeasurement(wheelRevolutions: value, crankRevolutions: value))" == "wheel \(text), crank \(text)")
    }

    @Test func `a measurement without revolutions is not known`() {
        #expect("\(CSCMeasurement())" == "not known")
    }

    @Test(
        arguments: [
            (.init(speedMetersPerSecond: 0, cadencePerMinute: 0), "0 m/s, 0 steps/min"),
            (
                .init(
                    speedMetersPerSecond: 899.0 / 256, cadencePerMinute: 172, strideLengthMeters: 1.22,
                    totalDistanceMeters: 1234.5, isRunning: true),
                "3.51 m/s, 172 steps/min, stride 1.22 m, distance 1234.5 m, running"
            ),
            (.init(speedMetersPerSecond: 1.0 / 256, cadencePerMinute: 1), "0.00390625 m/s, 1 steps/min"),
            (.init(speedMetersPerSecond: -.infinity, cadencePerMinute: 60), "below the range, 60 steps/min"),
        ] as [(RSCMeasurement, String)])
    func `a run has speed and cadence`(_ value: RSCMeasurement, _ text: String) {
        #expect("\(value)" == text)
    }

    @Test(
        arguments: [
            (.init(powerWatts: -5), "-5 W"),
            (
                .init(
                    powerWatts: 250, pedalPowerBalance: .init(percent: 48.5, isLeft: true),
                    crankRevolutions: .init(count: 567, lastEventSeconds: 12.25), accumulatedEnergyKilojoules: 120),
                "250 W, left pedal 48.5 %, crank 567 revolutions at 12.25 s, 120 kJ"
            ),
            (
                .init(
                    powerWatts: 250, pedalPowerBalance: .init(percent: 50, isLeft: false),
                    accumulatedTorque: .init(newtonMeters: 100.03125, isAtCrank: true),
                    wheelRevolutions: .init(count: 2, lastEventSeconds: 31.5),
                    extremeForcesNewtons: .init(maximum: 300, minimum: 20),
                    extremeTorquesNewtonMeters: .init(maximum: 30.5, minimum: -1),
                    extremeAnglesDegrees: .init(maximum: 90, minimum: 270), topDeadSpotDegrees: 5,
                    bottomDeadSpotDegrees: 185, needsOffsetCompensation: true),
                "250 W, one pedal 50 %, accumulated torque 100.03 N·m at the crank, wheel 2 revolutions at 31.5 s, "
                    + "force 20 to 300 N, torque -1 to 30.5 N·m, maximum at 90°, minimum at 270°, top dead spot 5°, "
                    + "bottom dead spot 185°, needs offset compensation"
            ),
            (
                .init(powerWatts: 0, accumulatedTorque: .init(newtonMeters: .nan, isAtCrank: false)),
                "0 W, accumulated torque not known at the wheel"
            ),
        ] as [(CyclingPowerMeasurement, String)])
    func `a power has all values that were sent`(_ value: CyclingPowerMeasurement, _ text: String) {
        #expect("\(value)" == text)
    }
}
