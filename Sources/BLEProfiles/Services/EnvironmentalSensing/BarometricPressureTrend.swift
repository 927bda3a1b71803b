public import BLE

/// How the air pressure has changed of late (GATT Specification Supplement, Barometric Pressure Trend). Other numbers are reserved.
public struct BarometricPressureTrend: RawRepresentable, Hashable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not known.
    public static let unknown = BarometricPressureTrend(rawValue: 0)
    /// It falls all the time.
    public static let continuouslyFalling = BarometricPressureTrend(rawValue: 1)
    /// It rises all the time.
    public static let continuouslyRising = BarometricPressureTrend(rawValue: 2)
    /// It fell, and is steady now.
    public static let fallingThenSteady = BarometricPressureTrend(rawValue: 3)
    /// It rose, and is steady now.
    public static let risingThenSteady = BarometricPressureTrend(rawValue: 4)
    /// It fell, and then rose by less.
    public static let fallingBeforeLesserRise = BarometricPressureTrend(rawValue: 5)
    /// It fell, and then rose by more.
    public static let fallingBeforeGreaterRise = BarometricPressureTrend(rawValue: 6)
    /// It rose, and then fell by more.
    public static let risingBeforeGreaterFall = BarometricPressureTrend(rawValue: 7)
    /// It rose, and then fell by less.
    public static let risingBeforeLesserFall = BarometricPressureTrend(rawValue: 8)
    /// It does not change.
    public static let steady = BarometricPressureTrend(rawValue: 9)
}

extension BarometricPressureTrend: NamedConstants {
    static let names = consecutive(
        "unknown", "continuouslyFalling", "continuouslyRising", "fallingThenSteady", "risingThenSteady",
        "fallingBeforeLesserRise", "fallingBeforeGreaterRise", "risingBeforeGreaterFall", "risingBeforeLesserFall",
        "steady")
}
