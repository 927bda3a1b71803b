/// The object or the location of a measurement, as the application in the ES Measurement descriptor (Environmental
/// Sensing Service 1.0, section 3.1.2.1). Other numbers are reserved.
public struct EnvironmentalApplication: RawRepresentable, Hashable, Codable, Sendable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not specified.
    public static let unspecified = EnvironmentalApplication(rawValue: 0)
    /// Air.
    public static let air = EnvironmentalApplication(rawValue: 1)
    /// Water.
    public static let water = EnvironmentalApplication(rawValue: 2)
    /// Barometric.
    public static let barometric = EnvironmentalApplication(rawValue: 3)
    /// Soil.
    public static let soil = EnvironmentalApplication(rawValue: 4)
    /// Infrared.
    public static let infrared = EnvironmentalApplication(rawValue: 5)
    /// From a map database.
    public static let mapDatabase = EnvironmentalApplication(rawValue: 6)
    /// An elevation derived from the air pressure.
    public static let barometricElevation = EnvironmentalApplication(rawValue: 7)
    /// An elevation derived from GPS alone.
    public static let gpsElevation = EnvironmentalApplication(rawValue: 8)
    /// An elevation derived from GPS and a map database.
    public static let gpsAndMapElevation = EnvironmentalApplication(rawValue: 9)
    /// An elevation relative to a vertical datum.
    public static let verticalDatumElevation = EnvironmentalApplication(rawValue: 10)
    /// Onshore.
    public static let onshore = EnvironmentalApplication(rawValue: 11)
    /// On board a vessel or vehicle.
    public static let onboard = EnvironmentalApplication(rawValue: 12)
    /// In front.
    public static let front = EnvironmentalApplication(rawValue: 13)
    /// In the back.
    public static let back = EnvironmentalApplication(rawValue: 14)
    /// The upper sensor.
    public static let upper = EnvironmentalApplication(rawValue: 15)
    /// The lower sensor.
    public static let lower = EnvironmentalApplication(rawValue: 16)
    /// The primary sensor.
    public static let primary = EnvironmentalApplication(rawValue: 17)
    /// The secondary sensor.
    public static let secondary = EnvironmentalApplication(rawValue: 18)
    /// Outdoors.
    public static let outdoor = EnvironmentalApplication(rawValue: 19)
    /// Indoors.
    public static let indoor = EnvironmentalApplication(rawValue: 20)
    /// At the top.
    public static let top = EnvironmentalApplication(rawValue: 21)
    /// At the bottom.
    public static let bottom = EnvironmentalApplication(rawValue: 22)
    /// The main sensor.
    public static let main = EnvironmentalApplication(rawValue: 23)
    /// The backup sensor.
    public static let backup = EnvironmentalApplication(rawValue: 24)
    /// The auxiliary sensor.
    public static let auxiliary = EnvironmentalApplication(rawValue: 25)
    /// The supplementary sensor.
    public static let supplementary = EnvironmentalApplication(rawValue: 26)
    /// Inside.
    public static let inside = EnvironmentalApplication(rawValue: 27)
    /// Outside.
    public static let outside = EnvironmentalApplication(rawValue: 28)
    /// Left.
    public static let left = EnvironmentalApplication(rawValue: 29)
    /// Right.
    public static let right = EnvironmentalApplication(rawValue: 30)
    /// Internal.
    public static let `internal` = EnvironmentalApplication(rawValue: 31)
    /// External.
    public static let external = EnvironmentalApplication(rawValue: 32)
    /// Solar.
    public static let solar = EnvironmentalApplication(rawValue: 33)
}

extension EnvironmentalApplication: NamedConstants {
    static let names = consecutive(
        "unspecified", "air", "water", "barometric", "soil", "infrared", "mapDatabase", "barometricElevation",
        "gpsElevation", "gpsAndMapElevation", "verticalDatumElevation", "onshore", "onboard", "front", "back", "upper",
        "lower", "primary", "secondary", "outdoor", "indoor", "top", "bottom", "main", "backup", "auxiliary",
        "supplementary", "inside", "outside", "left", "right", "internal", "external", "solar")
}
