public import BLE

/// The features of a pulse oximeter (Pulse Oximeter Service 1.0.1, section 3.3).
public struct PLXFeatures: Hashable, Codable, ValueCodable {
    /// The supported features.
    public var supported: Supported
    /// The bits of ``PLXMeasurementStatus`` that are used. Nil if the status is not sent.
    public var measurementStatus: PLXMeasurementStatus?
    /// The bits of ``PLXDeviceStatus`` that are used. Nil if the status is not sent.
    public var deviceStatus: PLXDeviceStatus?

    /// Creates features. Given statuses are added to the supported features.
    public init(
        _ supported: Supported = [], measurementStatus: PLXMeasurementStatus? = nil,
        deviceStatus: PLXDeviceStatus? = nil
    ) {
        self.supported = supported.subtracting([.measurementStatus, .deviceStatus])
        if measurementStatus != nil { self.supported.insert(.measurementStatus) }
        if deviceStatus != nil { self.supported.insert(.deviceStatus) }
        self.measurementStatus = measurementStatus
        self.deviceStatus = deviceStatus
    }

    /// The supported features of a pulse oximeter.
    public struct Supported: OptionSet, Hashable, Codable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Creates a set from its bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// The oximeter sends the quality of measurements.
        public static let measurementStatus = Supported(rawValue: 0x0001)
        /// The oximeter sends the state of itself and its sensor.
        public static let deviceStatus = Supported(rawValue: 0x0002)
        /// The oximeter stores spot-check measurements.
        public static let measurementStorage = Supported(rawValue: 0x0004)
        /// Spot-check measurements have a time.
        public static let timeStamp = Supported(rawValue: 0x0008)
        /// The oximeter sends values with a fast response.
        public static let fast = Supported(rawValue: 0x0010)
        /// The oximeter sends values with a slow response.
        public static let slow = Supported(rawValue: 0x0020)
        /// The oximeter sends the pulse amplitude.
        public static let pulseAmplitudeIndex = Supported(rawValue: 0x0040)
        /// Multiple bonds are supported.
        public static let multipleBonds = Supported(rawValue: 0x0080)
    }

    /// Decodes the supported features, and the used bits of the two statuses.
    public init(from reader: inout ValueReader) throws(BLEError) {
        supported = try reader.raw()
        measurementStatus = supported.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = supported.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let whole = PLXFeatures(supported, measurementStatus: measurementStatus, deviceStatus: deviceStatus)
        writer.raw(whole.supported)
        if let measurementStatus { writer.raw(measurementStatus) }
        try deviceStatus?.encode(into: &writer)
    }

    /// True, since reserved bits may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

extension PLXFeatures.Supported: NamedConstants {
    static let names = bits(
        "measurementStatus", "deviceStatus", "measurementStorage", "timeStamp", "fast", "slow", "pulseAmplitudeIndex",
        "multipleBonds")
}

/// The quality of a pulse oximeter's measurement (section 3.1.1.5).
public struct PLXMeasurementStatus: OptionSet, Hashable, Codable, Sendable {
    /// The bits. The lower five are reserved.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The measurement is in progress.
    public static let measurementOngoing = PLXMeasurementStatus(rawValue: 0x0020)
    /// The value is an early estimate.
    public static let earlyEstimate = PLXMeasurementStatus(rawValue: 0x0040)
    /// The value was validated.
    public static let validated = PLXMeasurementStatus(rawValue: 0x0080)
    /// The value is fully qualified.
    public static let fullyQualified = PLXMeasurementStatus(rawValue: 0x0100)
    /// The value was stored.
    public static let dataFromMeasurementStorage = PLXMeasurementStatus(rawValue: 0x0200)
    /// The value is a demonstration.
    public static let demonstration = PLXMeasurementStatus(rawValue: 0x0400)
    /// The value is a test.
    public static let testing = PLXMeasurementStatus(rawValue: 0x0800)
    /// The oximeter is being calibrated.
    public static let calibrationOngoing = PLXMeasurementStatus(rawValue: 0x1000)
    /// The measurement is not available.
    public static let measurementUnavailable = PLXMeasurementStatus(rawValue: 0x2000)
    /// The value is questionable.
    public static let questionable = PLXMeasurementStatus(rawValue: 0x4000)
    /// The value is invalid.
    public static let invalid = PLXMeasurementStatus(rawValue: 0x8000)
}

extension PLXMeasurementStatus: NamedConstants {
    static let names = bits(
        from: 5, "measurementOngoing", "earlyEstimate", "validated", "fullyQualified", "dataFromMeasurementStorage",
        "demonstration", "testing", "calibrationOngoing", "measurementUnavailable", "questionable", "invalid")
}

/// The state of a pulse oximeter and its sensor (section 3.1.1.6).
public struct PLXDeviceStatus: OptionSet, Hashable, Codable, Sendable {
    /// The bits. Only the lower 24 are sent.
    public let rawValue: UInt32
    /// Creates a set from its bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The display is updated less often than usual.
    public static let extendedDisplayUpdateOngoing = PLXDeviceStatus(rawValue: 0x0001)
    /// The oximeter malfunctions.
    public static let equipmentMalfunction = PLXDeviceStatus(rawValue: 0x0002)
    /// The signal processing is irregular.
    public static let signalProcessingIrregularity = PLXDeviceStatus(rawValue: 0x0004)
    /// The signal is inadequate.
    public static let inadequateSignal = PLXDeviceStatus(rawValue: 0x0008)
    /// The signal is poor.
    public static let poorSignal = PLXDeviceStatus(rawValue: 0x0010)
    /// The perfusion of the tissue is low.
    public static let lowPerfusion = PLXDeviceStatus(rawValue: 0x0020)
    /// The signal is erratic.
    public static let erraticSignal = PLXDeviceStatus(rawValue: 0x0040)
    /// The signal is not pulsatile.
    public static let nonPulsatileSignal = PLXDeviceStatus(rawValue: 0x0080)
    /// The pulse is questionable.
    public static let questionablePulse = PLXDeviceStatus(rawValue: 0x0100)
    /// The signal is being analyzed.
    public static let signalAnalysisOngoing = PLXDeviceStatus(rawValue: 0x0200)
    /// The sensor is disturbed.
    public static let sensorInterference = PLXDeviceStatus(rawValue: 0x0400)
    /// The sensor is not attached to the user.
    public static let sensorUnconnectedToUser = PLXDeviceStatus(rawValue: 0x0800)
    /// The type of the sensor is unknown.
    public static let unknownSensor = PLXDeviceStatus(rawValue: 0x1000)
    /// The sensor is displaced.
    public static let sensorDisplaced = PLXDeviceStatus(rawValue: 0x2000)
    /// The sensor malfunctions.
    public static let sensorMalfunctioning = PLXDeviceStatus(rawValue: 0x4000)
    /// The sensor is disconnected.
    public static let sensorDisconnected = PLXDeviceStatus(rawValue: 0x8000)

    init(from reader: inout ValueReader) throws(BLEError) { rawValue = try reader.uint24() }

    func encode(into writer: inout ValueWriter) throws(BLEError) { try writer.integer(Int(rawValue), .uint24) }
}

extension PLXDeviceStatus: NamedConstants {
    static let names = bits(
        "extendedDisplayUpdateOngoing", "equipmentMalfunction", "signalProcessingIrregularity", "inadequateSignal",
        "poorSignal", "lowPerfusion", "erraticSignal", "nonPulsatileSignal", "questionablePulse",
        "signalAnalysisOngoing", "sensorInterference", "sensorUnconnectedToUser", "unknownSensor", "sensorDisplaced",
        "sensorMalfunctioning", "sensorDisconnected")
}
