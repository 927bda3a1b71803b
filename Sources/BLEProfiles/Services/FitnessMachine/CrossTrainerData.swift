public import BLE

/// A record of a training on a cross trainer (Fitness Machine Service 1.0, section 4.5).
public struct CrossTrainerData: FitnessMachineRecord {
    /// Whether the rest of the record comes with the next notification.
    public var hasMoreData = false
    /// Kilometres per hour now, 0 to 655.35, with a resolution of 0.01; nil in all parts of a record but the last.
    public var speedKilometersPerHour: Double?
    /// The mean speed of the training, likewise; nil when it was not sent.
    public var averageSpeedKilometersPerHour: Double?
    /// Metres since the training began, 0 to 16,777,215; nil when they were not sent.
    public var totalDistanceMeters: Int?
    /// Steps per minute now, 0 to 65534; nil when they are not available.
    public var stepsPerMinute: Int?
    /// The mean step rate of the training in steps per minute, 0 to 65534; nil when they are not available.
    public var averageStepsPerMinute: Int?
    /// Strides, which are pairs of steps, since the training began, with a resolution of 0.1; nil when they were not
    /// sent.
    public var strideCount: Double?
    /// Uphill metres since the training began, 0 to 65534; nil when they are not available.
    public var positiveElevationGainMeters: Int?
    /// Downhill metres since the training began, 0 to 65534; nil when they are not available.
    public var negativeElevationGainMeters: Int?
    /// The inclination in percent, uphill above 0, with a resolution of 0.1; nil when it is not available.
    public var inclinationPercent: Double?
    /// The angle of the ramp in degrees, with a resolution of 0.1; nil when it is not available.
    public var rampAngleDegrees: Double?
    /// The resistance level, without a unit: whole numbers up to 255, and in the first edition tenths from -3276.8 to
    /// 3276.7; nil when it was not sent.
    public var resistanceLevel: Double?
    /// Watts now, -32768 to 32767; nil when they were not sent.
    public var powerWatts: Int?
    /// The mean power of the training, likewise; nil when it was not sent.
    public var averagePowerWatts: Int?
    /// The energy of the training in kilocalories, 0 to 65534; nil when it is not available.
    public var totalEnergyKilocalories: Int?
    /// The energy of an hour in kilocalories, 0 to 65534; nil when it is not available.
    public var energyPerHourKilocalories: Int?
    /// The energy of a minute in kilocalories, 0 to 254; nil when it is not available.
    public var energyPerMinuteKilocalories: Int?
    /// Beats per minute, 0 to 255; nil when it was not sent.
    public var heartRateBeatsPerMinute: Int?
    /// Metabolic equivalents, with a resolution of 0.1; nil when it was not sent.
    public var metabolicEquivalent: Double?
    /// Seconds since the training began, 0 to 65535; nil when they were not sent.
    public var elapsedTimeSeconds: Int?
    /// Seconds until the training ends, 0 to 65535; nil when they were not sent.
    public var remainingTimeSeconds: Int?
    /// Whether the movement goes backward.
    public var isBackward = false
    /// After which edition of the specification it is spelled.
    public var edition = FitnessMachineEdition.current

    /// A record without anything.
    public init() {}

    /// Flags and what they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// The same. Throws `invalidValue` when the first field is missing in a last part, or there in another.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over all that a later part of the same record has.
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
                6, .init(\.inclinationPercent, .int16, dividedBy: 10), .init(\.rampAngleDegrees, .int16, dividedBy: 10)),
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
