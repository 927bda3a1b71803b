public import BLE

/// A blood pressure measurement with a time stamp and a user-facing time (GATT Specification Supplement, Enhanced Blood
/// Pressure Measurement).
public struct EnhancedBloodPressureMeasurement: Hashable, Codable, ValueCodable {
    /// The pressures, as sent.
    public var pressures: BloodPressures
    /// The other values of the measurement.
    public var details: EnhancedBloodPressureDetails

    /// Creates a measurement.
    public init(_ pressures: BloodPressures, details: EnhancedBloodPressureDetails = .init()) {
        self.pressures = pressures
        self.details = details
    }

    /// Decodes a flag byte, the pressures, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: BloodPressureFlags = try reader.raw()
        pressures = try BloodPressures(from: &reader, flags.unit)
        details = try EnhancedBloodPressureDetails(from: &reader, flags)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(details.flags(pressures.unit))
        pressures.encode(into: &writer)
        try details.encode(into: &writer)
    }

    /// True, since the reserved flag may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

/// The cuff pressure during a measurement, with a time stamp and a user-facing time (GATT Specification Supplement,
/// Enhanced Intermediate Cuff Pressure).
public struct EnhancedIntermediateCuffPressure: Hashable, Codable, ValueCodable {
    /// The pressure, as sent.
    public var pressure: MedFloat16
    /// The unit of the pressure.
    public var unit: PressureUnit
    /// The other values of the measurement.
    public var details: EnhancedBloodPressureDetails

    /// Creates a pressure.
    public init(
        _ pressure: MedFloat16, unit: PressureUnit = .millimetersOfMercury,
        details: EnhancedBloodPressureDetails = .init()
    ) {
        self.pressure = pressure
        self.unit = unit
        self.details = details
    }

    /// Decodes a flag byte, the pressure, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: BloodPressureFlags = try reader.raw()
        unit = flags.unit
        pressure = try reader.medFloat16()
        details = try EnhancedBloodPressureDetails(from: &reader, flags)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(details.flags(unit))
        writer.raw(pressure)
        try details.encode(into: &writer)
    }

    /// True, since the reserved flag may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

/// The optional values of an enhanced blood pressure measurement.
public struct EnhancedBloodPressureDetails: Hashable, Codable, Sendable {
    /// The time of the measurement on the meter's internal clock, which may run in UTC and is not affected by time
    /// zones or adjustments. Nil if not sent.
    public var timeStamp: DateTime?
    /// The time of the measurement on the clock that the user sees. Nil if not sent.
    public var userFacingTime: DateTime?
    /// The instant from which times are counted, in 32-bit seconds.
    public var epoch: Epoch
    /// The pulse rate in beats per minute. Nil if not sent.
    public var pulseRateBeatsPerMinute: MedFloat16?
    /// The user who was measured. Nil if not sent.
    public var user: UserIndex?
    /// The status of the measurement. Nil if not sent.
    public var status: BloodPressureStatus?

    /// Creates details. Values that are nil are not sent.
    public init(
        timeStamp: DateTime? = nil, userFacingTime: DateTime? = nil, epoch: Epoch = .year2000,
        pulseRateBeatsPerMinute: MedFloat16? = nil, user: UserIndex? = nil, status: BloodPressureStatus? = nil
    ) {
        self.timeStamp = timeStamp
        self.userFacingTime = userFacingTime
        self.epoch = epoch
        self.pulseRateBeatsPerMinute = pulseRateBeatsPerMinute
        self.user = user
        self.status = status
    }

    /// The instant from which a meter counts time: midnight at the beginning of a year.
    public enum Epoch: Int, Codable, Sendable {
        /// 1900, with times until 2036.
        case year1900 = 1900
        /// 2000, with times until 2136.
        case year2000 = 2000

        var secondsSince1970: Int { self == .year1900 ? -2_208_988_800 : 946_684_800 }

        func time(_ seconds: UInt32) -> DateTime? { DateTime(secondsSince1970: secondsSince1970 + Int(seconds)) }

        func seconds(_ time: DateTime) throws(BLEError) -> UInt32 {
            guard let seconds = time.secondsSince1970.flatMap({ UInt32(exactly: $0 - secondsSince1970) }) else {
                throw BLEError(.invalidValue, "\(time) cannot be encoded as 32-bit seconds since \(rawValue)")
            }
            return seconds
        }
    }

    init(from reader: inout ValueReader, _ flags: BloodPressureFlags) throws(BLEError) {
        epoch = flags.contains(.epoch2000) ? .year2000 : .year1900
        timeStamp = flags.contains(.timeStamp) ? epoch.time(try reader.uint32()) : nil
        pulseRateBeatsPerMinute = flags.contains(.pulseRate) ? try reader.medFloat16() : nil
        user = flags.contains(.user) ? try reader.raw() : nil
        status = flags.contains(.status) ? try reader.raw() : nil
        userFacingTime = flags.contains(.userFacingTime) ? epoch.time(try reader.uint32()) : nil
    }

    func flags(_ unit: PressureUnit) -> BloodPressureFlags {
        var flags = BloodPressureFlags(
            unit, timeStamp: timeStamp != nil, pulseRate: pulseRateBeatsPerMinute != nil, user: user != nil,
            status: status != nil)
        if userFacingTime != nil { flags.insert(.userFacingTime) }
        if epoch == .year2000 { flags.insert(.epoch2000) }
        return flags
    }

    func encode(into writer: inout ValueWriter) throws(BLEError) {
        if let timeStamp { writer.uint32(try epoch.seconds(timeStamp)) }
        if let pulseRateBeatsPerMinute { writer.raw(pulseRateBeatsPerMinute) }
        if let user { writer.raw(user) }
        if let status { writer.raw(status) }
        if let userFacingTime { writer.uint32(try epoch.seconds(userFacingTime)) }
    }
}
