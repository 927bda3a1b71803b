public import BLE

/// A record of a training on an indoor bike (Fitness Machine Service 1.0, section 4.9).
public struct IndoorBikeData: FitnessMachineRecord {
    /// Whether the rest of the record comes with the next notification.
    public var hasMoreData = false
    /// Kilometres per hour now, 0 to 655.35, with a resolution of 0.01; nil in all parts of a record but the last.
    public var speedKilometersPerHour: Double?
    /// The mean speed of the training, likewise; nil when it was not sent.
    public var averageSpeedKilometersPerHour: Double?
    /// Revolutions of the crank per minute now, with a resolution of 0.5; nil when they were not sent.
    public var cadencePerMinute: Double?
    /// The mean cadence of the training, likewise; nil when it was not sent.
    public var averageCadencePerMinute: Double?
    /// Metres since the training began, 0 to 16,777,215; nil when they were not sent.
    public var totalDistanceMeters: Int?
    /// The resistance level, without a unit: whole numbers up to 255, and in the first edition whole numbers from
    /// -32768 to 32767; nil when it was not sent.
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
    /// After which edition of the specification it is spelled.
    public var edition = FitnessMachineEdition.current

    /// A record without anything.
    public init() {}

    /// Flags and what they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// The same. Throws `invalidValue` when the first field is missing in a last part, or there in another.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over all that a later part of the same record has.
    public mutating func merge(_ later: IndoorBikeData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<IndoorBikeData>(
        flagByteCount: 2,
        groups: [
            .init(0, .init(\.speedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(1, .init(\.averageSpeedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(2, .init(\.cadencePerMinute, .uint16, dividedBy: 2)),
            .init(3, .init(\.averageCadencePerMinute, .uint16, dividedBy: 2)),
            .init(4, .init(\.totalDistanceMeters, .uint24)),
            .init(
                5, .init(\.resistanceLevel, .uint8, dividedBy: 1, first: .init(format: .int16, scale: .divided(by: 1)))),
            .init(6, .init(\.powerWatts, .int16)),
            .init(7, .init(\.averagePowerWatts, .int16)),
            .init(
                8, .init(\.totalEnergyKilocalories, .uint16), .init(\.energyPerHourKilocalories, .uint16),
                .init(\.energyPerMinuteKilocalories, .uint8)),
            .init(9, .init(\.heartRateBeatsPerMinute, .uint8)),
            .init(10, .init(\.metabolicEquivalent, .uint8, dividedBy: 10)),
            .init(11, .init(\.elapsedTimeSeconds, .uint16)),
            .init(12, .init(\.remainingTimeSeconds, .uint16)),
        ],
        edition: \IndoorBikeData.edition)
}

extension Characteristic where Value == IndoorBikeData {
    /// A record, or a part of one, notified about once a second (section 4.9).
    public static var indoorBikeData: Self { Characteristic(BluetoothUUID(0x2AD2), service: .fitnessMachine) }
}
