public import BLE

/// A measurement of a blood pressure meter (GATT Specification Supplement, Blood Pressure Measurement).
public struct BloodPressureMeasurement: Hashable, Codable, ValueCodable {
    /// The pressures, as sent.
    public var pressures: BloodPressures
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// The pulse rate in beats per minute. Nil if not sent.
    public var pulseRateBeatsPerMinute: MedFloat16?
    /// The user that was measured. Nil if not sent.
    public var user: UserIndex?
    /// The status of the measurement. Nil if not sent.
    public var status: BloodPressureStatus?

    /// Creates a measurement.
    public init(
        _ pressures: BloodPressures, timeStamp: DateTime? = nil, pulseRateBeatsPerMinute: MedFloat16? = nil,
        user: UserIndex? = nil,
        status: BloodPressureStatus? = nil
    ) {
        self.pressures = pressures
        self.timeStamp = timeStamp
        self.pulseRateBeatsPerMinute = pulseRateBeatsPerMinute
        self.user = user
        self.status = status
    }

    /// Decodes a flag byte, the pressures, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: BloodPressureFlags = try reader.raw()
        pressures = try BloodPressures(from: &reader, flags.unit)
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        pulseRateBeatsPerMinute = flags.contains(.pulseRate) ? try reader.medFloat16() : nil
        user = flags.contains(.user) ? try reader.raw() : nil
        status = flags.contains(.status) ? try reader.raw() : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(
            BloodPressureFlags(
                pressures.unit, timeStamp: timeStamp != nil, pulseRate: pulseRateBeatsPerMinute != nil,
                user: user != nil,
                status: status != nil))
        pressures.encode(into: &writer)
        try timeStamp?.encode(into: &writer)
        if let pulseRateBeatsPerMinute { writer.raw(pulseRateBeatsPerMinute) }
        if let user { writer.raw(user) }
        if let status { writer.raw(status) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

/// The three pressures of a measurement, in one unit.
public struct BloodPressures: Hashable, Codable, Sendable {
    /// The pressure when the heart contracts. A special value if unknown.
    public var systolic: MedFloat16
    /// The pressure between the beats. A special value if unknown.
    public var diastolic: MedFloat16
    /// The mean arterial pressure. A special value if unknown.
    public var meanArterial: MedFloat16
    /// The unit of all three.
    public var unit: PressureUnit

    /// Creates pressures.
    public init(
        systolic: MedFloat16, diastolic: MedFloat16, meanArterial: MedFloat16 = .nan,
        unit: PressureUnit = .millimetersOfMercury
    ) {
        self.systolic = systolic
        self.diastolic = diastolic
        self.meanArterial = meanArterial
        self.unit = unit
    }

    init(from reader: inout ValueReader, _ unit: PressureUnit) throws(BLEError) {
        systolic = try reader.medFloat16()
        diastolic = try reader.medFloat16()
        meanArterial = try reader.medFloat16()
        self.unit = unit
    }

    func encode(into writer: inout ValueWriter) {
        for pressure in [systolic, diastolic, meanArterial] { writer.raw(pressure) }
    }
}

/// The unit of a blood pressure.
public enum PressureUnit: String, Codable, Sendable {
    /// Millimeters of mercury.
    case millimetersOfMercury
    /// Kilopascals.
    case kilopascals

    /// Converts a pressure in this unit to mmHg, of which one is 133.322 Pa. NaN or infinite for a special value.
    ///
    /// The result for kPa is rounded to one digit more than were sent: 120 for 16 kPa.
    public func millimetersOfMercury(_ pressure: MedFloat16) -> Double {
        self == .millimetersOfMercury ? pressure.doubleValue : pressure.converted(by: 1000 / 133.322)
    }
}

/// The status of a blood pressure measurement (GATT Specification Supplement, Measurement Status).
public struct BloodPressureStatus: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The body moved.
    public static let bodyMovement = BloodPressureStatus(rawValue: 0x0001)
    /// The cuff is too loose.
    public static let cuffTooLoose = BloodPressureStatus(rawValue: 0x0002)
    /// The pulse is irregular.
    public static let irregularPulse = BloodPressureStatus(rawValue: 0x0004)
    /// The pulse is too fast.
    public static let pulseRateExceedsUpperLimit = BloodPressureStatus(rawValue: 0x0008)
    /// The pulse is too slow. The combination of both pulse bits is reserved.
    public static let pulseRateBelowLowerLimit = BloodPressureStatus(rawValue: 0x0010)
    /// The meter was in an improper position.
    public static let improperMeasurementPosition = BloodPressureStatus(rawValue: 0x0020)
}

extension BloodPressureStatus: NamedConstants {
    static let names = bits(
        "bodyMovement", "cuffTooLoose", "irregularPulse", "pulseRateExceedsUpperLimit", "pulseRateBelowLowerLimit",
        "improperMeasurementPosition")
}

/// The flags that all blood pressure values share.
struct BloodPressureFlags: OptionSet {
    let rawValue: UInt8
    static let kilopascals = BloodPressureFlags(rawValue: 0x01)
    static let timeStamp = BloodPressureFlags(rawValue: 0x02)
    static let pulseRate = BloodPressureFlags(rawValue: 0x04)
    static let user = BloodPressureFlags(rawValue: 0x08)
    static let status = BloodPressureFlags(rawValue: 0x10)
    /// This flag and the next are used in enhanced values only.
    static let userFacingTime = BloodPressureFlags(rawValue: 0x20)
    static let epoch2000 = BloodPressureFlags(rawValue: 0x40)

    var unit: PressureUnit { contains(.kilopascals) ? .kilopascals : .millimetersOfMercury }
}

extension BloodPressureFlags {
    init(_ unit: PressureUnit, timeStamp: Bool, pulseRate: Bool, user: Bool, status: Bool) {
        self = unit == .kilopascals ? .kilopascals : []
        if timeStamp { insert(.timeStamp) }
        if pulseRate { insert(.pulseRate) }
        if user { insert(.user) }
        if status { insert(.status) }
    }
}
