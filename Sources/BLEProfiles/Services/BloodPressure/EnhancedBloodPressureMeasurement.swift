public import BLE

/// What a blood pressure meter measured, with two kinds of time (GATT Specification Supplement, Enhanced Blood Pressure Measurement).
public struct EnhancedBloodPressureMeasurement: Hashable, ValueCodable {
    /// The pressures as they were sent.
    public var pressures: BloodPressures
    /// What else was sent.
    public var details: EnhancedBloodPressureDetails

    /// A measurement.
    public init(_ pressures: BloodPressures, details: EnhancedBloodPressureDetails = .init()) {
        self.pressures = pressures
        self.details = details
    }

    /// A flag byte, the pressures, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: BloodPressureFlags = try reader.raw()
        pressures = try BloodPressures(from: &reader, flags.unit)
        details = try EnhancedBloodPressureDetails(from: &reader, flags)
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(details.flags(pressures.unit))
        pressures.encode(into: &writer)
        try details.encode(into: &writer)
    }

    /// Further bytes are passed over, which the reserved flag may announce.
    public static var ignoresFurtherBytes: Bool { true }
}

/// The pressure in the cuff while a blood pressure is measured, with two kinds of time (GATT Specification Supplement, Enhanced
/// Intermediate Cuff Pressure).
public struct EnhancedIntermediateCuffPressure: Hashable, ValueCodable {
    /// The pressure as it was sent.
    public var pressure: MedFloat16
    /// The unit of the pressure.
    public var unit: PressureUnit
    /// What else was sent.
    public var details: EnhancedBloodPressureDetails

    /// A pressure.
    public init(
        _ pressure: MedFloat16, unit: PressureUnit = .millimetersOfMercury,
        details: EnhancedBloodPressureDetails = .init()
    ) {
        self.pressure = pressure
        self.unit = unit
        self.details = details
    }

    /// A flag byte, the pressure, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: BloodPressureFlags = try reader.raw()
        unit = flags.unit
        pressure = try reader.medFloat16()
        details = try EnhancedBloodPressureDetails(from: &reader, flags)
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(details.flags(unit))
        writer.raw(pressure)
        try details.encode(into: &writer)
    }

    /// Further bytes are passed over, which the reserved flag may announce.
    public static var ignoresFurtherBytes: Bool { true }
}

/// What may come with a blood pressure that has two kinds of time.
public struct EnhancedBloodPressureDetails: Hashable, Sendable {
    /// When it was measured by the meter's own clock, perhaps UTC, which no time zone and nobody's adjustment changes; nil when that
    /// was not sent.
    public var timeStamp: DateTime?
    /// When it was measured by the clock that the user sees; nil when that was not sent.
    public var userFacingTime: DateTime?
    /// From when times are counted, in seconds of 32 bits.
    public var epoch: Epoch
    /// Beats per minute; nil when they were not sent.
    public var pulseRate: MedFloat16?
    /// Whose it is; nil when that was not sent.
    public var user: UserIndex?
    /// What the meter noticed; nil when that was not sent.
    public var status: BloodPressureStatus?

    /// Details. What is not given is not sent.
    public init(
        timeStamp: DateTime? = nil, userFacingTime: DateTime? = nil, epoch: Epoch = .year2000,
        pulseRate: MedFloat16? = nil, user: UserIndex? = nil, status: BloodPressureStatus? = nil
    ) {
        self.timeStamp = timeStamp
        self.userFacingTime = userFacingTime
        self.epoch = epoch
        self.pulseRate = pulseRate
        self.user = user
        self.status = status
    }

    /// From when a meter counts seconds: the midnight with which the year began.
    public enum Epoch: Int, Sendable {
        /// 1900, which lasts until 2036.
        case year1900 = 1900
        /// 2000, which lasts until 2136.
        case year2000 = 2000

        var secondsSince1970: Int { self == .year1900 ? -2_208_988_800 : 946_684_800 }

        func time(_ seconds: UInt32) -> DateTime? { DateTime(secondsSince1970: secondsSince1970 + Int(seconds)) }

        func seconds(_ time: DateTime) throws(BLEError) -> UInt32 {
            guard let seconds = time.secondsSince1970.flatMap({ UInt32(exactly: $0 - secondsSince1970) }) else {
                throw BLEError(.invalidValue, "\(time) cannot be told in 32 bits of seconds from \(rawValue)")
            }
            return seconds
        }
    }

    init(from reader: inout ValueReader, _ flags: BloodPressureFlags) throws(BLEError) {
        epoch = flags.contains(.epoch2000) ? .year2000 : .year1900
        timeStamp = flags.contains(.timeStamp) ? epoch.time(try reader.uint32()) : nil
        pulseRate = flags.contains(.pulseRate) ? try reader.medFloat16() : nil
        user = flags.contains(.user) ? try reader.raw() : nil
        status = flags.contains(.status) ? try reader.raw() : nil
        userFacingTime = flags.contains(.userFacingTime) ? epoch.time(try reader.uint32()) : nil
    }

    func flags(_ unit: PressureUnit) -> BloodPressureFlags {
        var flags = BloodPressureFlags(
            unit, timeStamp: timeStamp != nil, pulseRate: pulseRate != nil, user: user != nil, status: status != nil)
        if userFacingTime != nil { flags.insert(.userFacingTime) }
        if epoch == .year2000 { flags.insert(.epoch2000) }
        return flags
    }

    func encode(into writer: inout ValueWriter) throws(BLEError) {
        if let timeStamp { writer.uint32(try epoch.seconds(timeStamp)) }
        if let pulseRate { writer.raw(pulseRate) }
        if let user { writer.raw(user) }
        if let status { writer.raw(status) }
        if let userFacingTime { writer.uint32(try epoch.seconds(userFacingTime)) }
    }
}
