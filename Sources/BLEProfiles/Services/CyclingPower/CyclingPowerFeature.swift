public import BLE

/// What a power meter can do (Cycling Power Service 1.1, Cycling Power Feature).
public struct CyclingPowerFeature: OptionSet, Hashable, ValueCodable {
    /// The bits; reserved ones are kept.
    public let rawValue: UInt32
    /// Any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// It measures how the power is shared between the pedals.
    public static let pedalPowerBalance = CyclingPowerFeature(rawValue: 1 << 0)
    /// It sums the torque up.
    public static let accumulatedTorque = CyclingPowerFeature(rawValue: 1 << 1)
    /// It counts revolutions of the wheel.
    public static let wheelRevolutions = CyclingPowerFeature(rawValue: 1 << 2)
    /// It counts revolutions of the crank.
    public static let crankRevolutions = CyclingPowerFeature(rawValue: 1 << 3)
    /// It measures the greatest and the least force or torque of a revolution.
    public static let extremeMagnitudes = CyclingPowerFeature(rawValue: 1 << 4)
    /// It measures at which angles these were.
    public static let extremeAngles = CyclingPowerFeature(rawValue: 1 << 5)
    /// It measures the angles of the dead spots.
    public static let deadSpotAngles = CyclingPowerFeature(rawValue: 1 << 6)
    /// It sums the energy up.
    public static let accumulatedEnergy = CyclingPowerFeature(rawValue: 1 << 7)
    /// It says when its offset should be compensated.
    public static let offsetCompensationIndicator = CyclingPowerFeature(rawValue: 1 << 8)
    /// Its offset can be compensated.
    public static let offsetCompensation = CyclingPowerFeature(rawValue: 1 << 9)
    /// Fields of its measurements can be switched off.
    public static let contentMasking = CyclingPowerFeature(rawValue: 1 << 10)
    /// It may be put in several places, and is told which.
    public static let multipleSensorLocations = CyclingPowerFeature(rawValue: 1 << 11)
    /// It takes the length of the crank.
    public static let crankLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 12)
    /// It takes the length of the chain.
    public static let chainLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 13)
    /// It takes the weight of the chain.
    public static let chainWeightAdjustment = CyclingPowerFeature(rawValue: 1 << 14)
    /// It takes the span length.
    public static let spanLengthAdjustment = CyclingPowerFeature(rawValue: 1 << 15)
    /// It measures a torque; without this bit, a force.
    public static let measuresTorque = CyclingPowerFeature(rawValue: 1 << 16)
    /// It tells in which direction its vectors point.
    public static let measurementDirection = CyclingPowerFeature(rawValue: 1 << 17)
    /// It knows when it was calibrated in its factory.
    public static let factoryCalibrationDate = CyclingPowerFeature(rawValue: 1 << 18)
    /// Its offset can be compensated with the enhanced procedure.
    public static let enhancedOffsetCompensation = CyclingPowerFeature(rawValue: 1 << 19)

    /// Whether it may be one of several sensors that measure together.
    public var distributedSystem: DistributedSystem {
        DistributedSystem(rawValue: UInt8(truncatingIfNeeded: rawValue >> 20) & 3) ?? .unspecified
    }

    /// The same with another word on whether it may be one of several sensors that measure together.
    public func with(_ distributedSystem: DistributedSystem) -> CyclingPowerFeature {
        CyclingPowerFeature(rawValue: rawValue & ~(3 << 20) | UInt32(distributedSystem.rawValue) << 20)
    }

    /// Whether a power meter may be one of several sensors that measure together, as of two pedals.
    public enum DistributedSystem: UInt8, Sendable {
        /// It does not say; also the reserved number 3.
        case unspecified
        /// It measures alone.
        case alone
        /// It may be one of several.
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
