public import BLE

/// A record of a training on a rowing machine (Fitness Machine Service 1.0, section 4.8).
public struct RowerData: FitnessMachineRecord {
    /// Whether the rest of the record comes with the next notification.
    public var hasMoreData = false
    /// Strokes per minute now, 0 to 127, with a resolution of 0.5; nil when they are not available, and in all parts of
    /// a record but the last.
    public var strokesPerMinute: Double?
    /// Strokes since the training began, 0 to 65534; nil likewise.
    public var strokeCount: Int?
    /// The mean stroke rate of the training, 0 to 127.5, with a resolution of 0.5; nil when it was not sent.
    public var averageStrokesPerMinute: Double?
    /// Metres since the training began, 0 to 16,777,215; nil when they were not sent.
    public var totalDistanceMeters: Int?
    /// Seconds for 500 m at the speed of now; nil when they were not sent.
    public var paceSecondsPer500Meters: Int?
    /// Seconds for 500 m at the mean speed of the training; nil when they were not sent.
    public var averagePaceSecondsPer500Meters: Int?
    /// Watts now, -32768 to 32767; nil when they were not sent.
    public var powerWatts: Int?
    /// The mean power of the training, likewise; nil when it was not sent.
    public var averagePowerWatts: Int?
    /// The resistance level, without a unit: whole numbers up to 255, and in the first edition whole numbers from
    /// -32768 to 32767; nil when it was not sent.
    public var resistanceLevel: Double?
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
    /// After which edition of the specification it is spelled.
    public var edition = FitnessMachineEdition.current

    /// A record without anything.
    public init() {}

    /// Flags and what they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// The same. Throws `invalidValue` when the first field is there in a part that is not the last.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over all that a later part of the same record has.
    public mutating func merge(_ later: RowerData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<RowerData>(
        flagByteCount: 2,
        groups: [
            .init(0, .init(\.strokesPerMinute, .uint8, dividedBy: 2), .init(\.strokeCount, .uint16)),
            .init(1, .init(\.averageStrokesPerMinute, .uint8, dividedBy: 2)),
            .init(2, .init(\.totalDistanceMeters, .uint24)),
            .init(3, .init(\.paceSecondsPer500Meters, .uint16)),
            .init(4, .init(\.averagePaceSecondsPer500Meters, .uint16)),
            .init(5, .init(\.powerWatts, .int16)),
            .init(6, .init(\.averagePowerWatts, .int16)),
            .init(
                7, .init(\.resistanceLevel, .uint8, dividedBy: 1, first: .init(format: .int16, scale: .divided(by: 1)))),
            .init(
                8, .init(\.totalEnergyKilocalories, .uint16), .init(\.energyPerHourKilocalories, .uint16),
                .init(\.energyPerMinuteKilocalories, .uint8)),
            .init(9, .init(\.heartRateBeatsPerMinute, .uint8)),
            .init(10, .init(\.metabolicEquivalent, .uint8, dividedBy: 10)),
            .init(11, .init(\.elapsedTimeSeconds, .uint16)),
            .init(12, .init(\.remainingTimeSeconds, .uint16)),
        ],
        edition: \RowerData.edition)
}

extension Characteristic where Value == RowerData {
    /// A record, or a part of one, notified about once a second (section 4.8).
    public static var rowerData: Self { Characteristic(BluetoothUUID(0x2AD1), service: .fitnessMachine) }
}
