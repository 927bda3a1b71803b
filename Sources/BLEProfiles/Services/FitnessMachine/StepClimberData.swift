public import BLE

/// A record of a training on a step climber (Fitness Machine Service 1.0, section 4.6).
public struct StepClimberData: FitnessMachineRecord {
    /// Whether the rest of the record comes with the next notification.
    public var hasMoreData = false
    /// Floors since the training began, 0 to 65534; nil when they are not available, and in all parts of a record but
    /// the last.
    public var floors: Int?
    /// Steps since the training began, likewise.
    public var stepCount: Int?
    /// Steps per minute now, 0 to 65535; nil when they were not sent.
    public var stepsPerMinute: Int?
    /// The mean step rate of the training in steps per minute, 0 to 65535; nil when they were not sent.
    public var averageStepsPerMinute: Int?
    /// Uphill metres since the training began, 0 to 65535; nil when they were not sent.
    public var positiveElevationGainMeters: Int?
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

    /// A record without anything.
    public init() {}

    /// Flags and what they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// The same. Throws `invalidValue` when the first field is there in a part that is not the last.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over all that a later part of the same record has.
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
