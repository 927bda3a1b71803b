public import BLE

/// The recent trend of the air pressure (GATT Specification Supplement, Barometric Pressure Trend). Other numbers are
/// reserved.
public struct BarometricPressureTrend: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Unknown.
    public static let unknown = BarometricPressureTrend(rawValue: 0)
    /// Continuously falling.
    public static let continuouslyFalling = BarometricPressureTrend(rawValue: 1)
    /// Continuously rising.
    public static let continuouslyRising = BarometricPressureTrend(rawValue: 2)
    /// Falling, then steady.
    public static let fallingThenSteady = BarometricPressureTrend(rawValue: 3)
    /// Rising, then steady.
    public static let risingThenSteady = BarometricPressureTrend(rawValue: 4)
    /// Falling before a lesser rise.
    public static let fallingBeforeLesserRise = BarometricPressureTrend(rawValue: 5)
    /// Falling before a greater rise.
    public static let fallingBeforeGreaterRise = BarometricPressureTrend(rawValue: 6)
    /// Rising before a greater fall.
    public static let risingBeforeGreaterFall = BarometricPressureTrend(rawValue: 7)
    /// Rising before a lesser fall.
    public static let risingBeforeLesserFall = BarometricPressureTrend(rawValue: 8)
    /// Steady.
    public static let steady = BarometricPressureTrend(rawValue: 9)
}

extension BarometricPressureTrend: NamedConstants {
    static let names = consecutive(
        "unknown", "continuouslyFalling", "continuouslyRising", "fallingThenSteady", "risingThenSteady",
        "fallingBeforeLesserRise", "fallingBeforeGreaterRise", "risingBeforeGreaterFall", "risingBeforeLesserFall",
        "steady")
}
