public import BLE

/// The features of a fitness machine (Fitness Machine Service 1.0, section 4.3).
public struct FitnessMachineFeature: Hashable, Codable, ValueCodable {
    /// The quantities that the machine measures.
    public var measurements: Measurements
    /// The targets that can be set.
    public var targets: Targets

    /// Creates features.
    public init(measurements: Measurements = [], targets: Targets = []) {
        self.measurements = measurements
        self.targets = targets
    }

    /// Decodes two sets of flags, four bytes each, including reserved ones.
    public init(from reader: inout ValueReader) throws(BLEError) {
        measurements = try reader.raw()
        targets = try reader.raw()
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(measurements)
        writer.raw(targets)
    }

    /// The quantities that a fitness machine measures (section 4.3.1.1).
    public struct Measurements: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Creates a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The mean speed.
        public static let averageSpeed = Measurements(rawValue: 1 << 0)
        /// The cadence.
        public static let cadence = Measurements(rawValue: 1 << 1)
        /// The total distance.
        public static let totalDistance = Measurements(rawValue: 1 << 2)
        /// The inclination.
        public static let inclination = Measurements(rawValue: 1 << 3)
        /// The elevation gain and loss in meters.
        public static let elevationGain = Measurements(rawValue: 1 << 4)
        /// The pace.
        public static let pace = Measurements(rawValue: 1 << 5)
        /// The number of steps.
        public static let stepCount = Measurements(rawValue: 1 << 6)
        /// The resistance level.
        public static let resistanceLevel = Measurements(rawValue: 1 << 7)
        /// The number of strides.
        public static let strideCount = Measurements(rawValue: 1 << 8)
        /// The energy expended.
        public static let expendedEnergy = Measurements(rawValue: 1 << 9)
        /// The heart rate.
        public static let heartRate = Measurements(rawValue: 1 << 10)
        /// Metabolic equivalents.
        public static let metabolicEquivalent = Measurements(rawValue: 1 << 11)
        /// The time since the training began.
        public static let elapsedTime = Measurements(rawValue: 1 << 12)
        /// The time until the training ends.
        public static let remainingTime = Measurements(rawValue: 1 << 13)
        /// The power.
        public static let power = Measurements(rawValue: 1 << 14)
        /// The force on the belt and the power output.
        public static let forceOnBeltAndPowerOutput = Measurements(rawValue: 1 << 15)
        /// The machine retains user data.
        public static let userDataRetention = Measurements(rawValue: 1 << 16)
    }

    /// The targets of a fitness machine that can be set (section 4.3.1.2).
    public struct Targets: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Creates a set from its bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// A speed.
        public static let speed = Targets(rawValue: 1 << 0)
        /// An inclination.
        public static let inclination = Targets(rawValue: 1 << 1)
        /// A resistance level.
        public static let resistanceLevel = Targets(rawValue: 1 << 2)
        /// A power.
        public static let power = Targets(rawValue: 1 << 3)
        /// A heart rate.
        public static let heartRate = Targets(rawValue: 1 << 4)
        /// An energy to expend.
        public static let expendedEnergy = Targets(rawValue: 1 << 5)
        /// A number of steps.
        public static let stepCount = Targets(rawValue: 1 << 6)
        /// A number of strides.
        public static let strideCount = Targets(rawValue: 1 << 7)
        /// A distance.
        public static let distance = Targets(rawValue: 1 << 8)
        /// A time.
        public static let trainingTime = Targets(rawValue: 1 << 9)
        /// The times in two heart rate zones.
        public static let timeInTwoHeartRateZones = Targets(rawValue: 1 << 10)
        /// The times in three heart rate zones.
        public static let timeInThreeHeartRateZones = Targets(rawValue: 1 << 11)
        /// The times in five heart rate zones.
        public static let timeInFiveHeartRateZones = Targets(rawValue: 1 << 12)
        /// The parameters of a simulated ride.
        public static let indoorBikeSimulation = Targets(rawValue: 1 << 13)
        /// The circumference of the wheel.
        public static let wheelCircumference = Targets(rawValue: 1 << 14)
        /// The spin down procedure.
        public static let spinDown = Targets(rawValue: 1 << 15)
        /// A cadence.
        public static let cadence = Targets(rawValue: 1 << 16)
    }
}

extension FitnessMachineFeature.Measurements: NamedConstants {
    static let names = bits(
        "averageSpeed", "cadence", "totalDistance", "inclination", "elevationGain", "pace", "stepCount",
        "resistanceLevel", "strideCount", "expendedEnergy", "heartRate", "metabolicEquivalent", "elapsedTime",
        "remainingTime", "power", "forceOnBeltAndPowerOutput", "userDataRetention")
}

extension FitnessMachineFeature.Targets: NamedConstants {
    static let names = bits(
        "speed", "inclination", "resistanceLevel", "power", "heartRate", "expendedEnergy", "stepCount", "strideCount",
        "distance", "trainingTime", "timeInTwoHeartRateZones", "timeInThreeHeartRateZones", "timeInFiveHeartRateZones",
        "indoorBikeSimulation", "wheelCircumference", "spinDown", "cadence")
}

extension Characteristic where Value == FitnessMachineFeature {
    /// The features of the machine (section 4.3).
    public static var fitnessMachineFeature: Self { Characteristic(BluetoothUUID(0x2ACC), service: .fitnessMachine) }
}
