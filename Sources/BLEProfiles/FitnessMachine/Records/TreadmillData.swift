public import BLE

/// A record of a training on a treadmill (Fitness Machine Service 1.0, section 4.4).
public struct TreadmillData: Codable, FitnessMachineRecord {
    /// Whether the record continues in the next notification.
    public var hasMoreData = false
    /// The current speed in kilometers per hour, 0 to 655.35, with a resolution of 0.01. Only in the last part of a
    /// record.
    public var speedKilometersPerHour: Double?
    /// The mean speed of the training, with the same range. Nil if not sent.
    public var averageSpeedKilometersPerHour: Double?
    /// The distance since the training began in meters, 0 to 16,777,215. Nil if not sent.
    public var totalDistanceMeters: Int?
    /// The inclination in percent, uphill above 0, with a resolution of 0.1. Nil if not available.
    public var inclinationPercent: Double?
    /// The angle of the ramp in degrees, with a resolution of 0.1. Nil if not available.
    public var rampAngleDegrees: Double?
    /// The elevation gain since the training began in meters, with a resolution of 0.1. Nil if not available.
    public var positiveElevationGainMeters: Double?
    /// The elevation loss since the training began in meters, with a resolution of 0.1. Nil if not available.
    public var negativeElevationGainMeters: Double?
    /// The pace at the current speed, in seconds per 500 m. In the first edition, it is converted from tenths of a
    /// kilometer per minute. Nil if not sent and, in the first edition, for a speed of 0.
    public var paceSecondsPer500Meters: Double?
    /// The pace at the mean speed of the training, under the same conditions.
    public var averagePaceSecondsPer500Meters: Double?
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
    /// The force on the belt in newtons. Positive if the force accelerates the belt. Nil if not available.
    public var forceOnBeltNewtons: Int?
    /// The power output in watts, with the same sign. Nil if not available.
    public var powerOutputWatts: Int?
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
    public mutating func merge(_ later: TreadmillData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<TreadmillData>(
        flagByteCount: 2,
        groups: [
            .init(0, .init(\.speedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(1, .init(\.averageSpeedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(2, .init(\.totalDistanceMeters, .uint24)),
            .init(
                3, .init(\.inclinationPercent, .int16, dividedBy: 10),
                .init(\.rampAngleDegrees, .int16, dividedBy: 10)),
            .init(
                4, .init(\.positiveElevationGainMeters, .uint16, dividedBy: 10),
                .init(\.negativeElevationGainMeters, .uint16, dividedBy: 10)),
            .init(
                5,
                .init(
                    \.paceSecondsPer500Meters, .uint16, dividedBy: 1,
                    first: .init(format: .uint8, scale: .dividing(300)))),
            .init(
                6,
                .init(
                    \.averagePaceSecondsPer500Meters, .uint16, dividedBy: 1,
                    first: .init(format: .uint8, scale: .dividing(300)))),
            .init(
                7, .init(\.totalEnergyKilocalories, .uint16), .init(\.energyPerHourKilocalories, .uint16),
                .init(\.energyPerMinuteKilocalories, .uint8)),
            .init(8, .init(\.heartRateBeatsPerMinute, .uint8)),
            .init(9, .init(\.metabolicEquivalent, .uint8, dividedBy: 10)),
            .init(10, .init(\.elapsedTimeSeconds, .uint16)),
            .init(11, .init(\.remainingTimeSeconds, .uint16)),
            .init(12, .init(\.forceOnBeltNewtons, .int16), .init(\.powerOutputWatts, .int16)),
        ],
        edition: \TreadmillData.edition)
}

extension Characteristic where Value == TreadmillData {
    /// A record, or a part of one, notified about once a second (section 4.4).
    public static var treadmillData: Self { Characteristic(BluetoothUUID(0x2ACD), service: .fitnessMachine) }
}
