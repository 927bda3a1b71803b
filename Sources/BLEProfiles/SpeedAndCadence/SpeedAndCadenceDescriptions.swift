extension Revolutions: CustomStringConvertible {
    /// The count and the time of the last revolution on the sensor's clock, such as `1234 revolutions at 12.5 s`.
    public var description: String { "\(count.counted("revolution")) at \(lastEventSeconds.text("s", places: 3))" }
}

extension CSCMeasurement: CustomStringConvertible {
    /// A line such as `wheel 1234 revolutions at 12.5 s, crank 567 revolutions at 12.25 s`. `not known` if neither was
    /// sent.
    public var description: String {
        [wheelRevolutions.map { "wheel \($0)" }, crankRevolutions.map { "crank \($0)" }].line
    }
}

extension RSCMeasurement: CustomStringConvertible {
    /// A line such as `3.51 m/s, 172 steps/min, stride 1.22 m, distance 1234.5 m, running`.
    public var description: String {
        [
            speedMetersPerSecond.text("m/s", places: 2), "\(cadencePerMinute) steps/min",
            strideLengthMeters.map { "stride \($0.text("m"))" },
            totalDistanceMeters.map { "distance \($0.text("m"))" }, isRunning ? "running" : nil,
        ].line
    }
}
