public import BLE

/// The features of a power meter (Cycling Power Service 1.1, Cycling Power Feature).
public struct CyclingPowerFeature: OptionSet, Hashable, Codable, ValueCodable {
    /// The bits, including reserved ones.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The power meter measures the balance between the pedals.
    public static let pedalPowerBalance = CyclingPowerFeature(rawValue: 1 << 0)
    /// The power meter accumulates the torque.
    public static let accumulatedTorque = CyclingPowerFeature(rawValue: 1 << 1)
    /// The power meter counts wheel revolutions.
    public static let wheelRevolutions = CyclingPowerFeature(rawValue: 1 << 2)
    /// The power meter counts crank revolutions.
    public static let crankRevolutions = CyclingPowerFeature(rawValue: 1 << 3)
    /// The power meter measures the maximum and minimum force or torque of a revolution.
    public static let extremeMagnitudes = CyclingPowerFeature(rawValue: 1 << 4)
    /// The power meter measures the angles of the maximum and the minimum.
    public static let extremeAngles = CyclingPowerFeature(rawValue: 1 << 5)
    /// The power meter measures the angles of the dead spots.
    public static let deadSpotAngles = CyclingPowerFeature(rawValue: 1 << 6)
    /// The power meter accumulates the energy.
    public static let accumulatedEnergy = CyclingPowerFeature(rawValue: 1 << 7)
    /// The power meter reports when its offset should be compensated.
    public static let offsetCompensationIndicator = CyclingPowerFeature(rawValue: 1 << 8)
    /// The offset can be compensated.
    public static let offsetCompensation = CyclingPowerFeature(rawValue: 1 << 9)
    /// Fields of measurements can be disabled.
    public static let contentMasking = CyclingPowerFeature(rawValue: 1 << 10)
    /// The location of the sensor can be set to one of several.
    public static let multipleSensorLocations = CyclingPowerFeature(rawValue: 1 << 11)
    /// The crank length can be set.
    public static let crankLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 12)
    /// The chain length can be set.
    public static let chainLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 13)
    /// The chain weight can be set.
    public static let chainWeightAdjustment = CyclingPowerFeature(rawValue: 1 << 14)
    /// The span length can be set.
    public static let spanLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 15)
    /// The power meter measures a torque. Without this bit, it measures a force.
    public static let measuresTorque = CyclingPowerFeature(rawValue: 1 << 16)
    /// The power meter reports the direction of its vectors.
    public static let measurementDirection = CyclingPowerFeature(rawValue: 1 << 17)
    /// The date of the factory calibration can be requested.
    public static let factoryCalibrationDate = CyclingPowerFeature(rawValue: 1 << 18)
    /// The offset can be compensated with the enhanced procedure.
    public static let enhancedOffsetCompensation = CyclingPowerFeature(rawValue: 1 << 19)

    /// Whether the power meter can be part of a distributed system of sensors.
    public var distributedSystem: DistributedSystem {
        DistributedSystem(rawValue: UInt8(truncatingIfNeeded: rawValue >> 20) & 3) ?? .unspecified
    }

    /// Returns the features with another value for the distributed system.
    public func with(_ distributedSystem: DistributedSystem) -> CyclingPowerFeature {
        CyclingPowerFeature(rawValue: rawValue & ~(3 << 20) | UInt32(distributedSystem.rawValue) << 20)
    }

    /// Whether a power meter can be part of a distributed system, such as one with a sensor in each pedal.
    public enum DistributedSystem: UInt8, Codable, Sendable {
        /// Not specified. Also stands for the reserved number 3.
        case unspecified
        /// The power meter measures alone.
        case alone
        /// The power meter can be one of several sensors.
        case oneOfSeveral
    }
}

extension CyclingPowerFeature: NamedConstants {
    static let names = bits(
        "pedalPowerBalance", "accumulatedTorque", "wheelRevolutions", "crankRevolutions", "extremeMagnitudes",
        "extremeAngles", "deadSpotAngles", "accumulatedEnergy", "offsetCompensationIndicator", "offsetCompensation",
        "contentMasking", "multipleSensorLocations", "crankLengthAdjustment", "chainLengthAdjustment",
        "chainWeightAdjustment", "spanLengthAdjustment", "measuresTorque", "measurementDirection",
        "factoryCalibrationDate", "enhancedOffsetCompensation")
}
