public import BLE

/// A spot-check measurement of a pulse oximeter (Pulse Oximeter Service 1.0.1, section 3.1).
public struct PLXSpotCheckMeasurement: Hashable, Codable, ValueCodable {
    /// Saturation and pulse.
    public var value: OxygenSaturation
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// Whether the oximeter's clock was set.
    public var isClockSet: Bool
    /// The quality of the measurement. Nil if not sent.
    public var measurementStatus: PLXMeasurementStatus?
    /// The state of the oximeter and its sensor. Nil if not sent.
    public var deviceStatus: PLXDeviceStatus?
    /// The pulse amplitude, in percent of the constant light. Nil if not sent.
    public var pulseAmplitudeIndexPercent: MedFloat16?

    /// Creates a measurement.
    public init(
        _ value: OxygenSaturation, timeStamp: DateTime? = nil, isClockSet: Bool = true,
        measurementStatus: PLXMeasurementStatus? = nil, deviceStatus: PLXDeviceStatus? = nil,
        pulseAmplitudeIndexPercent: MedFloat16? = nil
    ) {
        self.value = value
        self.timeStamp = timeStamp
        self.isClockSet = isClockSet
        self.measurementStatus = measurementStatus
        self.deviceStatus = deviceStatus
        self.pulseAmplitudeIndexPercent = pulseAmplitudeIndexPercent
    }

    /// Decodes a flag byte, saturation and pulse rate, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        value = try OxygenSaturation(from: &reader)
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        measurementStatus = flags.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = flags.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
        pulseAmplitudeIndexPercent = flags.contains(.pulseAmplitudeIndex) ? try reader.medFloat16() : nil
        isClockSet = !flags.contains(.clockNotSet)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = isClockSet ? [] : .clockNotSet
        if timeStamp != nil { flags.insert(.timeStamp) }
        if measurementStatus != nil { flags.insert(.measurementStatus) }
        if deviceStatus != nil { flags.insert(.deviceStatus) }
        if pulseAmplitudeIndexPercent != nil { flags.insert(.pulseAmplitudeIndex) }
        writer.raw(flags)
        value.encode(into: &writer)
        try timeStamp?.encode(into: &writer)
        if let measurementStatus { writer.raw(measurementStatus) }
        try deviceStatus?.encode(into: &writer)
        if let pulseAmplitudeIndexPercent { writer.raw(pulseAmplitudeIndexPercent) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let timeStamp = Flags(rawValue: 0x01)
        static let measurementStatus = Flags(rawValue: 0x02)
        static let deviceStatus = Flags(rawValue: 0x04)
        static let pulseAmplitudeIndex = Flags(rawValue: 0x08)
        static let clockNotSet = Flags(rawValue: 0x10)
    }
}

/// A continuous measurement of a pulse oximeter (Pulse Oximeter Service 1.0.1, section 3.2).
public struct PLXContinuousMeasurement: Hashable, Codable, ValueCodable {
    /// Saturation and pulse rate with normal averaging.
    public var normal: OxygenSaturation
    /// Saturation and pulse rate with a fast response. Nil if not sent.
    public var fast: OxygenSaturation?
    /// Saturation and pulse rate with a slow response. Nil if not sent.
    public var slow: OxygenSaturation?
    /// The quality of the measurement. Nil if not sent.
    public var measurementStatus: PLXMeasurementStatus?
    /// The state of the oximeter and its sensor. Nil if not sent.
    public var deviceStatus: PLXDeviceStatus?
    /// The pulse amplitude, in percent of the constant light. Nil if not sent.
    public var pulseAmplitudeIndexPercent: MedFloat16?

    /// Creates a measurement.
    public init(
        _ normal: OxygenSaturation, fast: OxygenSaturation? = nil, slow: OxygenSaturation? = nil,
        measurementStatus: PLXMeasurementStatus? = nil, deviceStatus: PLXDeviceStatus? = nil,
        pulseAmplitudeIndexPercent: MedFloat16? = nil
    ) {
        self.normal = normal
        self.fast = fast
        self.slow = slow
        self.measurementStatus = measurementStatus
        self.deviceStatus = deviceStatus
        self.pulseAmplitudeIndexPercent = pulseAmplitudeIndexPercent
    }

    /// Decodes a flag byte, saturation and pulse rate, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        normal = try OxygenSaturation(from: &reader)
        fast = flags.contains(.fast) ? try OxygenSaturation(from: &reader) : nil
        slow = flags.contains(.slow) ? try OxygenSaturation(from: &reader) : nil
        measurementStatus = flags.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = flags.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
        pulseAmplitudeIndexPercent = flags.contains(.pulseAmplitudeIndex) ? try reader.medFloat16() : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = []
        if fast != nil { flags.insert(.fast) }
        if slow != nil { flags.insert(.slow) }
        if measurementStatus != nil { flags.insert(.measurementStatus) }
        if deviceStatus != nil { flags.insert(.deviceStatus) }
        if pulseAmplitudeIndexPercent != nil { flags.insert(.pulseAmplitudeIndex) }
        writer.raw(flags)
        normal.encode(into: &writer)
        fast?.encode(into: &writer)
        slow?.encode(into: &writer)
        if let measurementStatus { writer.raw(measurementStatus) }
        try deviceStatus?.encode(into: &writer)
        if let pulseAmplitudeIndexPercent { writer.raw(pulseAmplitudeIndexPercent) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let fast = Flags(rawValue: 0x01)
        static let slow = Flags(rawValue: 0x02)
        static let measurementStatus = Flags(rawValue: 0x04)
        static let deviceStatus = Flags(rawValue: 0x08)
        static let pulseAmplitudeIndex = Flags(rawValue: 0x10)
    }
}

/// The oxygen saturation of the blood, and the pulse rate.
public struct OxygenSaturation: Hashable, Codable, Sendable {
    /// The SpO2 in percent, as sent. A special value if unknown.
    public var percent: MedFloat16
    /// The pulse rate in beats per minute, as sent. A special value if unknown.
    public var pulseRateBeatsPerMinute: MedFloat16

    /// Saturation and pulse.
    public init(percent: MedFloat16, pulseRateBeatsPerMinute: MedFloat16) {
        self.percent = percent
        self.pulseRateBeatsPerMinute = pulseRateBeatsPerMinute
    }

    init(from reader: inout ValueReader) throws(BLEError) {
        percent = try reader.medFloat16()
        pulseRateBeatsPerMinute = try reader.medFloat16()
    }

    func encode(into writer: inout ValueWriter) {
        writer.raw(percent)
        writer.raw(pulseRateBeatsPerMinute)
    }
}
