public import BLE

/// A record of a training on a cross trainer (Fitness Machine Service 1.0, section 4.5).
public struct CrossTrainerData: Codable, FitnessMachineRecord {
    /// Whether the record continues in the next notification.
    public var hasMoreData = false
    /// The current speed in kilometers per hour, 0 to 655.35, with a resolution of 0.01. Only in the last part of a
    /// record.
    public var speedKilometersPerHour: Double?
    /// The mean speed of the training, with the same range. Nil if not sent.
    public var averageSpeedKilometersPerHour: Double?
    /// The distance since the training began in meters, 0 to 16,777,215. Nil if not sent.
    public var totalDistanceMeters: Int?
    /// The current step rate in steps per minute, 0 to 65534. Nil if not available.
    public var stepsPerMinute: Int?
    /// The mean step rate of the training in steps per minute, 0 to 65534. Nil if not available.
    public var averageStepsPerMinute: Int?
    /// The number of strides, which are pairs of steps, since the training began, with a resolution of 0.1. Nil if not
    /// sent.
    public var strideCount: Double?
    /// The elevation gain since the training began in meters, 0 to 65534. Nil if not available.
    public var positiveElevationGainMeters: Int?
    /// The elevation loss since the training began in meters, 0 to 65534. Nil if not available.
    public var negativeElevationGainMeters: Int?
    /// The inclination in percent, uphill above 0, with a resolution of 0.1. Nil if not available.
    public var inclinationPercent: Double?
    /// The angle of the ramp in degrees, with a resolution of 0.1. Nil if not available.
    public var rampAngleDegrees: Double?
    /// The resistance level, without a unit: integers up to 255, in the first edition tenths from -3276.8 to 3276.7.
    /// Nil if not sent.
    public var resistanceLevel: Double?
    /// The current power in watts, -32768 to 32767. Nil if not sent.
    public var powerWatts: Int?
    /// The mean power of the training, with the same range. Nil if not sent.
    public var averagePowerWatts: Int?
    /// The energy of the training in kilocalories, 0 to 65534. Nil if not available.
    public var totalEnergyKilocalories: Int?
    /// The energy of an hour in kilocalories, 0 to 65534. Nil if not available.
    public var energyPerHourKilocalories: Int?
    /// The energy of a minute in kilocalories, 0 to 254. Nil if not available.
    public var energyPerMinuteKilocalories: Int?
    /// The heart rate in beats per minute, 0 to 255. Nil if not sent.
    public var heartRateBeatsPerMinute: Int?
    /// The metabolic equivalent, with a resolution of 0.1. Nil if not sent.
    public var metabolicEquivalent: Double?
    /// The time since the training began in seconds, 0 to 65535. Nil if not sent.
    public var elapsedTimeSeconds: Int?
    /// The time until the training ends in seconds, 0 to 65535. Nil if not sent.
    public var remainingTimeSeconds: Int?
    /// Whether the movement is backward.
    public var isBackward = false
    /// The edition of the specification that defines the encoding.
    public var edition = FitnessMachineEdition.current

    /// Creates an empty record.
    public init() {}

    /// Decodes flags, and the fields that they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// Encodes the record. Throws `invalidValue` if the first field is missing in the last part, or present in another
    /// one.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over the fields that a later part of the same record contains.
    public mutating func merge(_ later: CrossTrainerData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<CrossTrainerData>(
        flagByteCount: 3,
        groups: [
            .init(0, .init(\.speedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(1, .init(\.averageSpeedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(2, .init(\.totalDistanceMeters, .uint24)),
            .init(3, .init(\.stepsPerMinute, .uint16), .init(\.averageStepsPerMinute, .uint16)),
            .init(4, .init(\.strideCount, .uint16, dividedBy: 10)),
            .init(5, .init(\.positiveElevationGainMeters, .uint16), .init(\.negativeElevationGainMeters, .uint16)),
            .init(
                6, .init(\.inclinationPercent, .int16, dividedBy: 10),
                .init(\.rampAngleDegrees, .int16, dividedBy: 10)),
            .init(
                7, .init(\.resistanceLevel, .uint8, dividedBy: 1, first: .init(format: .int16, scale: .divided(by: 10)))
            ),
            .init(8, .init(\.powerWatts, .int16)),
            .init(9, .init(\.averagePowerWatts, .int16)),
            .init(
                10, .init(\.totalEnergyKilocalories, .uint16), .init(\.energyPerHourKilocalories, .uint16),
                .init(\.energyPerMinuteKilocalories, .uint8)),
            .init(11, .init(\.heartRateBeatsPerMinute, .uint8)),
            .init(12, .init(\.metabolicEquivalent, .uint8, dividedBy: 10)),
            .init(13, .init(\.elapsedTimeSeconds, .uint16)),
            .init(14, .init(\.remainingTimeSeconds, .uint16)),
        ],
        statements: [(15, \.isBackward)],
        edition: \CrossTrainerData.edition)
}

extension Characteristic where Value == CrossTrainerData {
    /// A record, or a part of one, notified about once a second (section 4.5).
    public static var crossTrainerData: Self { Characteristic(BluetoothUUID(0x2ACE), service: .fitnessMachine) }
}
