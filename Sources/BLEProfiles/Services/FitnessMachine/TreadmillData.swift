public import BLE

/// A record of a training on a treadmill (Fitness Machine Service 1.0, section 4.4).
public struct TreadmillData: FitnessMachineRecord {
    /// Whether the rest of the record comes with the next notification.
    public var hasMoreData = false
    /// Kilometres per hour now, 0 to 655.35, with a resolution of 0.01; nil in all parts of a record but the last.
    public var speedKilometersPerHour: Double?
    /// The mean speed of the training, likewise; nil when it was not sent.
    public var averageSpeedKilometersPerHour: Double?
    /// Metres since the training began, 0 to 16,777,215; nil when they were not sent.
    public var totalDistanceMeters: Int?
    /// The inclination in percent, uphill above 0, with a resolution of 0.1; nil when it is not available.
    public var inclinationPercent: Double?
    /// The angle of the ramp in degrees, with a resolution of 0.1; nil when it is not available.
    public var rampAngleDegrees: Double?
    /// Uphill metres since the training began, with a resolution of 0.1; nil when they are not available.
    public var positiveElevationGainMeters: Double?
    /// Downhill metres since the training began, with a resolution of 0.1; nil when they are not available.
    public var negativeElevationGainMeters: Double?
    /// Seconds for 500 m at the speed of now; in the first edition made of tenths of a kilometre per minute. Nil when
    /// it was not sent, and for the pace of somebody who stands, in the first edition.
    public var paceSecondsPer500Meters: Double?
    /// Seconds for 500 m at the mean speed of the training, likewise.
    public var averagePaceSecondsPer500Meters: Double?
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
    /// The force of the steps on the belt in newtons, above 0 when they make it faster; nil when it is not available.
    public var forceOnBeltNewtons: Int?
    /// The power of the steps in watts, likewise; nil when it is not available.
    public var powerOutputWatts: Int?
    /// After which edition of the specification it is spelled.
    public var edition = FitnessMachineEdition.current

    /// A record without anything.
    public init() {}

    /// Flags and what they announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) { self = try Self.layout.read(from: &reader) }

    /// The same. Throws `invalidValue` when the first field is missing in a last part, or there in another.
    public func encode(into writer: inout ValueWriter) throws(BLEError) { try Self.layout.write(self, to: &writer) }

    /// Takes over all that a later part of the same record has.
    public mutating func merge(_ later: TreadmillData) { Self.layout.merge(later, into: &self) }

    private static let layout = FitnessRecordLayout<TreadmillData>(
        flagByteCount: 2,
        groups: [
            .init(0, .init(\.speedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(1, .init(\.averageSpeedKilometersPerHour, .uint16, dividedBy: 100)),
            .init(2, .init(\.totalDistanceMeters, .uint24)),
            .init(
                3, .init(\.inclinationPercent, .int16, dividedBy: 10), .init(\.rampAngleDegrees, .int16, dividedBy: 10)),
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
