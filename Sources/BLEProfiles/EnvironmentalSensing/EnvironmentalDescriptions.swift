extension EnvironmentalQuantity: CustomStringConvertible {
    /// The name, with the unit if there is one, such as `Temperature in °C` or `UV Index`.
    public var description: String { unit.isEmpty ? name : "\(name) in \(unit)" }
}

extension MagneticFluxDensity2D: CustomStringConvertible {
    /// A line such as `x 1.5, y -20 µT`.
    public var description: String { "x \(xMicroteslas.text()), y \(yMicroteslas.text("µT"))" }
}

extension MagneticFluxDensity3D: CustomStringConvertible {
    /// A line such as `x 1.5, y -20, z 3 µT`.
    public var description: String {
        "x \(xMicroteslas.text()), y \(yMicroteslas.text()), z \(zMicroteslas.text("µT"))"
    }
}
