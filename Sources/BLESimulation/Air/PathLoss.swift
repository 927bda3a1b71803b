/// The signal strength by distance, according to the log-distance model.
///
/// The strength at a distance *d* in meters is the one at 1 m less 10 · *n* · log₁₀ *d*, without the noise of a real
/// room. The exponent *n* is 2 in free space, and between 1.5 and 4 in buildings.
public struct PathLoss: Hashable, Sendable {
    /// The strength at 1 m, in dBm.
    public var strengthAtOneMeter: Int
    /// The exponent, more than 0.
    public var exponent: Double

    /// Creates a model, by default that of free space with −59 dBm at 1 m.
    public init(strengthAtOneMeter: Int = -59, exponent: Double = 2) {
        self.strengthAtOneMeter = strengthAtOneMeter
        self.exponent = exponent
    }

    /// Returns the strength at a distance, in dBm, −127 to 20.
    ///
    /// - Precondition: The distance and the exponent are more than 0, and finite.
    public func strength(meters: Double) -> Int {
        precondition(meters > 0 && meters.isFinite, "\(meters) m is not a distance")
        precondition(exponent > 0 && exponent.isFinite, "\(exponent) is not an exponent")
        let strength = Double(strengthAtOneMeter) - 10 * exponent * Platform.logarithm(meters)
        return Int(min(20, max(-127, strength.rounded())))
    }
}
