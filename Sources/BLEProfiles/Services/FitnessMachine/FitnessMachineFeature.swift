public import BLE

/// What a fitness machine can do (Fitness Machine Service 1.0, section 4.3).
public struct FitnessMachineFeature: Hashable, ValueCodable {
    /// What it measures.
    public var measurements: Measurements
    /// What it can be told to do.
    public var targets: Targets

    /// A machine's features.
    public init(measurements: Measurements = [], targets: Targets = []) {
        self.measurements = measurements
        self.targets = targets
    }

    /// Two sets of flags of four bytes each; reserved ones are kept.
    public init(from reader: inout ValueReader) throws(BLEError) {
        measurements = try reader.raw()
        targets = try reader.raw()
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) {
        writer.raw(measurements)
        writer.raw(targets)
    }

    /// What a fitness machine measures (section 4.3.1.1).
    public struct Measurements: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Any bits.
        public init(rawValue: UInt32) { self.rawValue = rawValue }

        /// The mean speed.
        public static let averageSpeed = Measurements(rawValue: 1 << 0)
        /// The cadence.
        public static let cadence = Measurements(rawValue: 1 << 1)
        /// The total distance.
        public static let totalDistance = Measurements(rawValue: 1 << 2)
        /// The inclination.
        public static let inclination = Measurements(rawValue: 1 << 3)
        /// Metres uphill and downhill.
        public static let elevationGain = Measurements(rawValue: 1 << 4)
        /// The pace.
        public static let pace = Measurements(rawValue: 1 << 5)
        /// Steps.
        public static let stepCount = Measurements(rawValue: 1 << 6)
        /// The resistance level.
        public static let resistanceLevel = Measurements(rawValue: 1 << 7)
        /// Strides.
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
        /// The force on the belt and the power of the steps.
        public static let forceOnBeltAndPowerOutput = Measurements(rawValue: 1 << 15)
        /// It keeps the data of its users.
        public static let userDataRetention = Measurements(rawValue: 1 << 16)
    }

    /// What a fitness machine can be told to do (section 4.3.1.2).
    public struct Targets: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt32
        /// Any bits.
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
        /// Times in two zones of the heart rate.
        public static let timeInTwoHeartRateZones = Targets(rawValue: 1 << 10)
        /// Times in three zones of the heart rate.
        public static let timeInThreeHeartRateZones = Targets(rawValue: 1 << 11)
        /// Times in five zones of the heart rate.
        public static let timeInFiveHeartRateZones = Targets(rawValue: 1 << 12)
        /// A ride to simulate.
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
    /// What the machine can do (section 4.3).
    public static var fitnessMachineFeature: Self { Characteristic(BluetoothUUID(0x2ACC), service: .fitnessMachine) }
}
