public import BLE

/// A record of a glucose meter (Glucose Service 1.0.1, section 3.1).
public struct GlucoseMeasurement: Hashable, ValueCodable {
    /// The record's number, 0 to 65535.
    public var sequenceNumber: UInt16
    /// When it was measured by the meter's own clock, which nobody sets back.
    public var baseTime: DateTime
    /// How many minutes the clock that the user sees is before or after that, -32768 to 32767; nil when that was not sent.
    public var timeOffsetMinutes: Int?
    /// What was measured; nil when that was not sent.
    public var sample: GlucoseSample?
    /// What the meter noticed; nil when that was not sent.
    public var status: GlucoseStatus?
    /// Whether a ``GlucoseMeasurementContext`` with the same number follows.
    public var hasContext: Bool

    /// A record.
    public init(
        sequenceNumber: UInt16, baseTime: DateTime, timeOffsetMinutes: Int? = nil, sample: GlucoseSample? = nil,
        status: GlucoseStatus? = nil, hasContext: Bool = false
    ) {
        self.sequenceNumber = sequenceNumber
        self.baseTime = baseTime
        self.timeOffsetMinutes = timeOffsetMinutes
        self.sample = sample
        self.status = status
        self.hasContext = hasContext
    }

    /// When it was measured by the clock that the user sees; nil when a part of the date is not known.
    public var userFacingTime: DateTime? { baseTime.adding(minutes: timeOffsetMinutes ?? 0) }

    /// A flag byte, number and time, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        sequenceNumber = try reader.uint16()
        baseTime = try DateTime(from: &reader)
        timeOffsetMinutes = flags.contains(.timeOffset) ? Int(try reader.int16()) : nil
        sample =
            flags.contains(.sample)
            ? try GlucoseSample(from: &reader, flags.contains(.molesPerLiter) ? .molesPerLiter : .kilogramsPerLiter)
            : nil
        status = flags.contains(.status) ? try reader.raw() : nil
        hasContext = flags.contains(.context)
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = hasContext ? .context : []
        if timeOffsetMinutes != nil { flags.insert(.timeOffset) }
        if sample != nil { flags.insert(.sample) }
        if sample?.unit == .molesPerLiter { flags.insert(.molesPerLiter) }
        if status != nil { flags.insert(.status) }
        writer.raw(flags)
        writer.uint16(sequenceNumber)
        try baseTime.encode(into: &writer)
        if let timeOffsetMinutes { try writer.integer(timeOffsetMinutes, .int16) }
        try sample?.encode(into: &writer)
        if let status { writer.raw(status) }
    }

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let timeOffset = Flags(rawValue: 0x01)
        static let sample = Flags(rawValue: 0x02)
        static let molesPerLiter = Flags(rawValue: 0x04)
        static let status = Flags(rawValue: 0x08)
        static let context = Flags(rawValue: 0x10)
    }
}

/// What a glucose meter noticed while it measured (section 3.1.1.7). All is well where nothing is set.
public struct GlucoseStatus: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The battery was low.
    public static let batteryLow = GlucoseStatus(rawValue: 0x0001)
    /// The sensor did not work.
    public static let sensorMalfunction = GlucoseStatus(rawValue: 0x0002)
    /// There was too little blood, or control solution.
    public static let sampleSizeInsufficient = GlucoseStatus(rawValue: 0x0004)
    /// The strip was not put in as it should.
    public static let stripInsertionError = GlucoseStatus(rawValue: 0x0008)
    /// The strip is not for this meter.
    public static let stripTypeIncorrect = GlucoseStatus(rawValue: 0x0010)
    /// The result is more than the meter can tell.
    public static let resultTooHigh = GlucoseStatus(rawValue: 0x0020)
    /// The result is less than the meter can tell.
    public static let resultTooLow = GlucoseStatus(rawValue: 0x0040)
    /// It was too warm.
    public static let temperatureTooHigh = GlucoseStatus(rawValue: 0x0080)
    /// It was too cold.
    public static let temperatureTooLow = GlucoseStatus(rawValue: 0x0100)
    /// The strip was pulled out too soon, or the measurement was interrupted some other way.
    public static let readInterrupted = GlucoseStatus(rawValue: 0x0200)
    /// Something else is wrong with the meter.
    public static let generalDeviceFault = GlucoseStatus(rawValue: 0x0400)
    /// The meter's clock is wrong.
    public static let timeFault = GlucoseStatus(rawValue: 0x0800)
}

extension GlucoseStatus: NamedConstants {
    static let names = bits(
        "batteryLow", "sensorMalfunction", "sampleSizeInsufficient", "stripInsertionError", "stripTypeIncorrect",
        "resultTooHigh", "resultTooLow", "temperatureTooHigh", "temperatureTooLow", "readInterrupted",
        "generalDeviceFault", "timeFault")
}
