extension WeightMeasurement: CustomStringConvertible {
    /// A line such as `72.5 kg, BMI 22.4, height 1.8 m, user 1, 2026-02-28T23:59:00`, in the units that were sent.
    /// `measurement failed` replaces a missing weight.
    public var description: String {
        [
            weight.map { $0.text(units.massSymbol) } ?? "measurement failed",
            proportion.map { "BMI \($0.bodyMassIndex.text()), height \($0.height.text(units.heightSymbol))" },
            user?.words, timeStamp?.description,
        ].line
    }
}

extension BodyCompositionMeasurement: CustomStringConvertible {
    /// A line such as `body fat 21.5 %, muscle 40.1 %, body water 38 kg, 7000 kJ, weight 72.5 kg, user 1`, in the units
    /// that were sent, with each value that was sent.
    ///
    /// `measurement failed` replaces a missing body fat. The energy is that of a day at rest. One of two parts of a
    /// measurement ends with `part`.
    public var description: String {
        func mass(_ name: String, _ mass: Double?) -> String? { mass.map { "\(name) \($0.text(units.massSymbol))" } }
        return [
            bodyFatPercent.map { "body fat \($0.text("%"))" } ?? "measurement failed",
            musclePercent.map { "muscle \($0.text("%"))" }, mass("muscle", muscleMass),
            mass("fat-free mass", fatFreeMass), mass("soft lean mass", softLeanMass), mass("body water", bodyWaterMass),
            impedanceOhms?.text("Ω"), basalMetabolismKilojoules.map { "\($0) kJ" }, mass("weight", weight),
            height.map { "height \($0.text(units.heightSymbol))" }, user?.words, timeStamp?.description,
            isPart ? "part" : nil,
        ].line
    }
}

extension MeasurementSystem {
    fileprivate var massSymbol: String { self == .metric ? "kg" : "lb" }
    fileprivate var heightSymbol: String { self == .metric ? "m" : "in" }
}
