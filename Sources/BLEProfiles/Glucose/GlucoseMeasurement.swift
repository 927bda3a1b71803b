public import BLE

/// A record of a glucose meter (Glucose Service 1.0.1, section 3.1).
public struct GlucoseMeasurement: Hashable, Codable, ValueCodable {
    /// The sequence number of the record, 0 to 65535.
    public var sequenceNumber: UInt16
    /// The time of the measurement on the meter's own clock, which is never set back.
    public var baseTime: DateTime
    /// The offset of the clock that the user sees in minutes, -32768 to 32767. Nil if not sent.
    public var timeOffsetMinutes: Int?
    /// The sample. Nil if not sent.
    public var sample: GlucoseSample?
    /// The status of the measurement. Nil if not sent.
    public var status: GlucoseStatus?
    /// Whether a ``GlucoseMeasurementContext`` with the same number follows.
    public var hasContext: Bool

    /// Creates a record.
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

    /// The time of the measurement on the clock that the user sees. Nil if a part of the date is unknown.
    public var userFacingTime: DateTime? { baseTime.adding(minutes: timeOffsetMinutes ?? 0) }

    /// Decodes a flag byte, number and time, and the fields that the flags announce.
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

    /// Encodes the value in the format that `init(from:)` decodes.
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

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let timeOffset = Flags(rawValue: 0x01)
        static let sample = Flags(rawValue: 0x02)
        static let molesPerLiter = Flags(rawValue: 0x04)
        static let status = Flags(rawValue: 0x08)
        static let context = Flags(rawValue: 0x10)
    }
}

/// The status of a glucose measurement (section 3.1.1.7). Empty if there was no problem.
public struct GlucoseStatus: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The battery was low.
    public static let batteryLow = GlucoseStatus(rawValue: 0x0001)
    /// The sensor did not work.
    public static let sensorMalfunction = GlucoseStatus(rawValue: 0x0002)
    /// The sample of blood or control solution was too small.
    public static let sampleSizeInsufficient = GlucoseStatus(rawValue: 0x0004)
    /// The strip was not inserted correctly.
    public static let stripInsertionError = GlucoseStatus(rawValue: 0x0008)
    /// The strip is not for this meter.
    public static let stripTypeIncorrect = GlucoseStatus(rawValue: 0x0010)
    /// The result is higher than the meter can measure.
    public static let resultTooHigh = GlucoseStatus(rawValue: 0x0020)
    /// The result is lower than the meter can measure.
    public static let resultTooLow = GlucoseStatus(rawValue: 0x0040)
    /// The temperature was too high.
    public static let temperatureTooHigh = GlucoseStatus(rawValue: 0x0080)
    /// The temperature was too low.
    public static let temperatureTooLow = GlucoseStatus(rawValue: 0x0100)
    /// The measurement was interrupted, for example because the strip was removed too soon.
    public static let readInterrupted = GlucoseStatus(rawValue: 0x0200)
    /// The meter has another fault.
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
