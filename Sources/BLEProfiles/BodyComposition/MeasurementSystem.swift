/// The units of masses and heights.
public enum MeasurementSystem: String, Codable, Sendable {
    /// Kilograms in steps of 0.005, meters in steps of 0.001.
    case metric
    /// Pounds in steps of 0.01, inches in steps of 0.1.
    case imperial

    /// Converts a mass in this system to kilograms. A pound is 0.45359237 kg. Converted masses are rounded to grams,
    /// which is finer than the resolution of scales.
    public func kilograms(_ mass: Double) -> Double {
        self == .metric ? mass : (mass * 453.59237).rounded() / 1000
    }

    /// Converts a height in this system to meters. An inch is 0.0254 m. Converted heights are rounded to millimeters,
    /// which is finer than the resolution of scales.
    public func meters(_ height: Double) -> Double {
        self == .metric ? height : (height * 25.4).rounded() / 1000
    }

    /// The number of steps per kilogram or pound.
    var massSteps: Double { self == .metric ? 200 : 100 }
    /// The number of steps per meter or inch.
    var heightSteps: Double { self == .metric ? 1000 : 10 }
}

/// The mass resolution of a scale (GATT Specification Supplement, Weight Scale Feature). Other numbers are reserved.
public struct MassResolution: RawRepresentable, Hashable, Codable, Sendable {
    /// The number, 0 to 15.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not available.
    public static let notSpecified = MassResolution(rawValue: 0)

    /// The resolution in kilograms, 0.5 to 0.005. Nil if unknown.
    public var kilograms: Double? { rawValue < 8 ? [nil, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005][Int(rawValue)] : nil }
    /// The resolution in pounds, 1 to 0.01. Nil if unknown.
    public var pounds: Double? { rawValue < 8 ? [nil, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01][Int(rawValue)] : nil }
}

extension MassResolution: NamedConstants {
    static let names: [UInt8: String] = [0: "notSpecified"]
}

/// The height resolution of a scale (GATT Specification Supplement, Weight Scale Feature). Other numbers are reserved.
public struct HeightResolution: RawRepresentable, Hashable, Codable, Sendable {
    /// The number, 0 to 7.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// Not available.
    public static let notSpecified = HeightResolution(rawValue: 0)

    /// The resolution in meters, 0.01 to 0.001. Nil if unknown.
    public var meters: Double? { rawValue < 4 ? [nil, 0.01, 0.005, 0.001][Int(rawValue)] : nil }
    /// The resolution in inches, 1 to 0.1. Nil if unknown.
    public var inches: Double? { rawValue < 4 ? [nil, 1, 0.5, 0.1][Int(rawValue)] : nil }
}

extension HeightResolution: NamedConstants {
    static let names: [UInt8: String] = [0: "notSpecified"]
}
