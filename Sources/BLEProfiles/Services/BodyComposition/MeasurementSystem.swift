/// The units in which a scale tells masses and heights.
public enum MeasurementSystem: Sendable {
    /// Kilograms in steps of 0.005, metres in steps of 0.001.
    case metric
    /// Pounds in steps of 0.01, inches in steps of 0.1.
    case imperial

    /// A mass of this system in kilograms; a pound is 0.45359237 of them. Of one in pounds to the nearest gram, which is finer than scales
    /// send it.
    public func kilograms(_ mass: Double) -> Double {
        self == .metric ? mass : (mass * 453.59237).rounded() / 1000
    }

    /// A height of this system in metres; an inch is 0.0254 of them. Of one in inches to the nearest millimetre, which is finer than scales
    /// send it.
    public func meters(_ height: Double) -> Double {
        self == .metric ? height : (height * 25.4).rounded() / 1000
    }

    /// How many steps make a kilogram or a pound.
    var massSteps: Double { self == .metric ? 200 : 100 }
    /// How many steps make a metre or an inch.
    var heightSteps: Double { self == .metric ? 1000 : 10 }
}

/// How finely a scale tells masses (GATT Specification Supplement, Weight Scale Feature). Other numbers are reserved.
public struct MassResolution: RawRepresentable, Hashable, Sendable {
    /// The number, 0 to 15.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The scale does not say.
    public static let notSpecified = MassResolution(rawValue: 0)

    /// In kilograms, 0.5 to 0.005; nil when that is not known.
    public var kilograms: Double? { rawValue < 8 ? [nil, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005][Int(rawValue)] : nil }
    /// In pounds, 1 to 0.01; nil when that is not known.
    public var pounds: Double? { rawValue < 8 ? [nil, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01][Int(rawValue)] : nil }
}

extension MassResolution: NamedConstants {
    static let names: [UInt8: String] = [0: "notSpecified"]
}

/// How finely a scale tells heights (GATT Specification Supplement, Weight Scale Feature). Other numbers are reserved.
public struct HeightResolution: RawRepresentable, Hashable, Sendable {
    /// The number, 0 to 7.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The scale does not say.
    public static let notSpecified = HeightResolution(rawValue: 0)

    /// In metres, 0.01 to 0.001; nil when that is not known.
    public var meters: Double? { rawValue < 4 ? [nil, 0.01, 0.005, 0.001][Int(rawValue)] : nil }
    /// In inches, 1 to 0.1; nil when that is not known.
    public var inches: Double? { rawValue < 4 ? [nil, 1, 0.5, 0.1][Int(rawValue)] : nil }
}

extension HeightResolution: NamedConstants {
    static let names: [UInt8: String] = [0: "notSpecified"]
}
