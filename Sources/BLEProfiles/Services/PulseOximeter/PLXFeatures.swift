public import BLE

/// What a pulse oximeter can tell (Pulse Oximeter Service 1.0.1, section 3.3).
public struct PLXFeatures: Hashable, ValueCodable {
    /// What it supports.
    public var supported: Supported
    /// Which bits of ``PLXMeasurementStatus`` it uses; nil where it sends none.
    public var measurementStatus: PLXMeasurementStatus?
    /// Which bits of ``PLXDeviceStatus`` it uses; nil where it sends none.
    public var deviceStatus: PLXDeviceStatus?

    /// Features; what is said of statuses adds itself to what is supported.
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

    /// What a pulse oximeter supports.
    public struct Supported: OptionSet, Hashable, Sendable {
        /// The bits.
        public let rawValue: UInt16
        /// Any bits.
        public init(rawValue: UInt16) { self.rawValue = rawValue }

        /// It tells how good its measurements are.
        public static let measurementStatus = Supported(rawValue: 0x0001)
        /// It tells how it and its sensor are.
        public static let deviceStatus = Supported(rawValue: 0x0002)
        /// It stores single measurements.
        public static let measurementStorage = Supported(rawValue: 0x0004)
        /// Its single measurements have a time.
        public static let timeStamp = Supported(rawValue: 0x0008)
        /// It has values with a fast response.
        public static let fast = Supported(rawValue: 0x0010)
        /// It has values with a slow response.
        public static let slow = Supported(rawValue: 0x0020)
        /// It tells how strong the pulse is.
        public static let pulseAmplitudeIndex = Supported(rawValue: 0x0040)
        /// It has several bonds at a time.
        public static let multipleBonds = Supported(rawValue: 0x0080)
    }

    /// What is supported, then what of the two statuses.
    public init(from reader: inout ValueReader) throws(BLEError) {
        supported = try reader.raw()
        measurementStatus = supported.contains(.measurementStatus) ? try reader.raw() : nil
        deviceStatus = supported.contains(.deviceStatus) ? try PLXDeviceStatus(from: &reader) : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let whole = PLXFeatures(supported, measurementStatus: measurementStatus, deviceStatus: deviceStatus)
        writer.raw(whole.supported)
        if let measurementStatus { writer.raw(measurementStatus) }
        try deviceStatus?.encode(into: &writer)
    }

    /// Further bytes are passed over, which the reserved bits may announce.
    public static var ignoresFurtherBytes: Bool { true }
}

extension PLXFeatures.Supported: NamedConstants {
    static let names = bits(
        "measurementStatus", "deviceStatus", "measurementStorage", "timeStamp", "fast", "slow", "pulseAmplitudeIndex",
        "multipleBonds")
}

/// How good a measurement of a pulse oximeter is (section 3.1.1.5).
public struct PLXMeasurementStatus: OptionSet, Hashable, Sendable {
    /// The bits, of which the lower five are reserved.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// It is still being measured.
    public static let measurementOngoing = PLXMeasurementStatus(rawValue: 0x0020)
    /// It is an early estimate.
    public static let earlyEstimate = PLXMeasurementStatus(rawValue: 0x0040)
    /// It has been validated.
    public static let validated = PLXMeasurementStatus(rawValue: 0x0080)
    /// It has been qualified in full.
    public static let fullyQualified = PLXMeasurementStatus(rawValue: 0x0100)
    /// It was stored.
    public static let dataFromMeasurementStorage = PLXMeasurementStatus(rawValue: 0x0200)
    /// It shows what could be measured.
    public static let demonstration = PLXMeasurementStatus(rawValue: 0x0400)
    /// It is a test.
    public static let testing = PLXMeasurementStatus(rawValue: 0x0800)
    /// The oximeter calibrates itself.
    public static let calibrationOngoing = PLXMeasurementStatus(rawValue: 0x1000)
    /// There is no measurement.
    public static let measurementUnavailable = PLXMeasurementStatus(rawValue: 0x2000)
    /// It is doubtful.
    public static let questionable = PLXMeasurementStatus(rawValue: 0x4000)
    /// It is not valid.
    public static let invalid = PLXMeasurementStatus(rawValue: 0x8000)
}

extension PLXMeasurementStatus: NamedConstants {
    static let names = bits(
        from: 5, "measurementOngoing", "earlyEstimate", "validated", "fullyQualified", "dataFromMeasurementStorage",
        "demonstration", "testing", "calibrationOngoing", "measurementUnavailable", "questionable", "invalid")
}

/// How a pulse oximeter and its sensor are (section 3.1.1.6).
public struct PLXDeviceStatus: OptionSet, Hashable, Sendable {
    /// The bits, of which the lower 24 are sent.
    public let rawValue: UInt32
    /// Any bits.
    public init(rawValue: UInt32) { self.rawValue = rawValue }

    /// The display is updated less often than usual.
    public static let extendedDisplayUpdateOngoing = PLXDeviceStatus(rawValue: 0x0001)
    /// The oximeter does not work.
    public static let equipmentMalfunction = PLXDeviceStatus(rawValue: 0x0002)
    /// The signal cannot be processed as usual.
    public static let signalProcessingIrregularity = PLXDeviceStatus(rawValue: 0x0004)
    /// The signal does not suffice.
    public static let inadequateSignal = PLXDeviceStatus(rawValue: 0x0008)
    /// The signal is poor.
    public static let poorSignal = PLXDeviceStatus(rawValue: 0x0010)
    /// There is little blood in the tissue.
    public static let lowPerfusion = PLXDeviceStatus(rawValue: 0x0020)
    /// The signal is erratic.
    public static let erraticSignal = PLXDeviceStatus(rawValue: 0x0040)
    /// The signal does not pulsate.
    public static let nonPulsatileSignal = PLXDeviceStatus(rawValue: 0x0080)
    /// The pulse is doubtful.
    public static let questionablePulse = PLXDeviceStatus(rawValue: 0x0100)
    /// The signal is being analyzed.
    public static let signalAnalysisOngoing = PLXDeviceStatus(rawValue: 0x0200)
    /// Something disturbs the sensor.
    public static let sensorInterference = PLXDeviceStatus(rawValue: 0x0400)
    /// Nobody wears the sensor.
    public static let sensorUnconnectedToUser = PLXDeviceStatus(rawValue: 0x0800)
    /// The sensor is not one that the oximeter knows.
    public static let unknownSensor = PLXDeviceStatus(rawValue: 0x1000)
    /// The sensor has slipped.
    public static let sensorDisplaced = PLXDeviceStatus(rawValue: 0x2000)
    /// The sensor does not work.
    public static let sensorMalfunctioning = PLXDeviceStatus(rawValue: 0x4000)
    /// There is no sensor.
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
