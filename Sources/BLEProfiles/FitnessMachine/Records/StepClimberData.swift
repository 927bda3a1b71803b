public import BLE

/// A record of a training on a step climber (Fitness Machine Service 1.0, section 4.6).
public struct StepClimberData: Codable, FitnessMachineRecord {
    /// Whether the record continues in the next notification.
    public var hasMoreData = false
    /// The number of floors since the training began, 0 to 65534. Nil if not available. Only in the last part of a
    /// record.
    public var floors: Int?
    /// The number of steps since the training began, under the same conditions.
    public var stepCount: Int?
    /// The current step rate in steps per minute, 0 to 65535. Nil if not sent.
    public var stepsPerMinute: Int?
    /// The mean step rate of the training in steps per minute, 0 to 65535. Nil if not sent.
    public var averageStepsPerMinute: Int?
    /// The elevation gain since the training began in meters, 0 to 65535. Nil if not sent.
    public var positiveElevationGainMeters: Int?
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

    /// Creates an empty record.
    public init() {}

    /// Decodes flags, and the fields that they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// Encodes the record. Throws `invalidValue` if the first field is present in a part that is not the last.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over the fields that a later part of the same record contains.
    public mutating func merge(_ later: StepClimberData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<StepClimberData>(
        flagByteCount: 2,
        groups: [
            .init(0, .init(\.floors, .uint16), .init(\.stepCount, .uint16)),
            .init(1, .init(\.stepsPerMinute, .uint16)),
            .init(2, .init(\.averageStepsPerMinute, .uint16)),
            .init(3, .init(\.positiveElevationGainMeters, .uint16)),
            .init(
                4, .init(\.totalEnergyKilocalories, .uint16), .init(\.energyPerHourKilocalories, .uint16),
                .init(\.energyPerMinuteKilocalories, .uint8)),
            .init(5, .init(\.heartRateBeatsPerMinute, .uint8)),
            .init(6, .init(\.metabolicEquivalent, .uint8, dividedBy: 10)),
            .init(7, .init(\.elapsedTimeSeconds, .uint16)),
            .init(8, .init(\.remainingTimeSeconds, .uint16)),
        ])
}

extension Characteristic where Value == StepClimberData {
    /// A record, or a part of one, notified about once a second (section 4.6).
    public static var stepClimberData: Self { Characteristic(BluetoothUUID(0x2ACF), service: .fitnessMachine) }
}
