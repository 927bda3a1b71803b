public import BLE

/// A single measurement of a pulse oximeter (Pulse Oximeter Service 1.0.1, section 3.1).
public struct PLXSpotCheckMeasurement: Hashable, ValueCodable {
    /// Saturation and pulse.
    public var value: OxygenSaturation
    /// When it was measured; nil when that was not sent.
    public var timeStamp: DateTime?
    /// Whether the oximeter's clock has been set.
    public var isClockSet: Bool
    /// How good the measurement is; nil when that was not sent.
    public var measurementStatus: PLXMeasurementStatus?
    /// How the oximeter and its sensor are; nil when that was not sent.
    public var deviceStatus: PLXDeviceStatus?
    /// How strong the pulse is, in percent of the constant light; nil when that was not sent.
    public var pulseAmplitudeIndexPercent: MedFloat16?

    /// A measurement.
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

    /// A flag byte, saturation and pulse, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        value = try OxygenSaturation(from: &reader)
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        measurementStatus = flags.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = flags.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
        pulseAmplitudeIndexPercent = flags.contains(.pulseAmplitudeIndex) ? try reader.medFloat16() : nil
        isClockSet = !flags.contains(.clockNotSet)
    }

    /// The same.
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

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let timeStamp = Flags(rawValue: 0x01)
        static let measurementStatus = Flags(rawValue: 0x02)
        static let deviceStatus = Flags(rawValue: 0x04)
        static let pulseAmplitudeIndex = Flags(rawValue: 0x08)
        static let clockNotSet = Flags(rawValue: 0x10)
    }
}

/// One of the continuous measurements of a pulse oximeter (Pulse Oximeter Service 1.0.1, section 3.2).
public struct PLXContinuousMeasurement: Hashable, ValueCodable {
    /// Saturation and pulse, averaged as usual.
    public var normal: OxygenSaturation
    /// The same with a fast response; nil when it was not sent.
    public var fast: OxygenSaturation?
    /// The same with a slow response; nil when it was not sent.
    public var slow: OxygenSaturation?
    /// How good the measurement is; nil when that was not sent.
    public var measurementStatus: PLXMeasurementStatus?
    /// How the oximeter and its sensor are; nil when that was not sent.
    public var deviceStatus: PLXDeviceStatus?
    /// How strong the pulse is, in percent of the constant light; nil when that was not sent.
    public var pulseAmplitudeIndexPercent: MedFloat16?

    /// A measurement.
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

    /// A flag byte, saturation and pulse, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        normal = try OxygenSaturation(from: &reader)
        fast = flags.contains(.fast) ? try OxygenSaturation(from: &reader) : nil
        slow = flags.contains(.slow) ? try OxygenSaturation(from: &reader) : nil
        measurementStatus = flags.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = flags.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
        pulseAmplitudeIndexPercent = flags.contains(.pulseAmplitudeIndex) ? try reader.medFloat16() : nil
    }

    /// The same.
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

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let fast = Flags(rawValue: 0x01)
        static let slow = Flags(rawValue: 0x02)
        static let measurementStatus = Flags(rawValue: 0x04)
        static let deviceStatus = Flags(rawValue: 0x08)
        static let pulseAmplitudeIndex = Flags(rawValue: 0x10)
    }
}

/// How much oxygen the blood carries, and how fast it is pumped.
public struct OxygenSaturation: Hashable, Sendable {
    /// SpO2 in percent, as it was sent; a special value where it is not known.
    public var percent: MedFloat16
    /// Beats per minute, as they were sent; a special value where they are not known.
    public var pulseRate: MedFloat16

    /// Saturation and pulse.
    public init(percent: MedFloat16, pulseRate: MedFloat16) {
        self.percent = percent
        self.pulseRate = pulseRate
    }

    init(from reader: inout ValueReader) throws(BLEError) {
        percent = try reader.medFloat16()
        pulseRate = try reader.medFloat16()
    }

    func encode(into writer: inout ValueWriter) {
        writer.raw(percent)
        writer.raw(pulseRate)
    }
}
