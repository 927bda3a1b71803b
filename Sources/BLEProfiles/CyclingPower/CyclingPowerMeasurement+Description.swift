extension CyclingPowerMeasurement: CustomStringConvertible {
    /// A line such as `250 W, left pedal 48.5 %, crank 567 revolutions at 12.25 s, 120 kJ`, with each value that was
    /// sent.
    ///
    /// Forces and torques of a revolution have the form `force 20 to 300 N`, their angles
    /// `maximum at 90°, minimum at 270°`.
    public var description: String {
        [
            "\(powerWatts) W", pedalPowerBalance?.text, accumulatedTorque?.text,
            wheelRevolutions.map { "wheel \($0)" }, crankRevolutions.map { "crank \($0)" },
            extremeForcesNewtons.map { "force \($0.minimum) to \($0.maximum) N" },
            extremeTorquesNewtonMeters.map {
                "torque \($0.minimum.text(places: 2)) to \($0.maximum.text("N·m", places: 2))"
            },
            extremeAnglesDegrees.map { "maximum at \($0.maximum)°, minimum at \($0.minimum)°" },
            topDeadSpotDegrees.map { "top dead spot \($0)°" }, bottomDeadSpotDegrees.map { "bottom dead spot \($0)°" },
            accumulatedEnergyKilojoules.map { "\($0) kJ" },
            needsOffsetCompensation ? "needs offset compensation" : nil,
        ].line
    }
}

extension CyclingPowerMeasurement.PedalPowerBalance {
    fileprivate var text: String { "\(isLeft ? "left pedal" : "one pedal") \(percent.text("%"))" }
}

extension CyclingPowerMeasurement.AccumulatedTorque {
    fileprivate var text: String {
        "accumulated torque \(newtonMeters.text("N·m", places: 2)) at the \(isAtCrank ? "crank" : "wheel")"
    }
}
