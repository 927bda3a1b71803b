public import BLE

/// The properties of a measurement, which distinguish sensors of the same kind: the ES Measurement descriptor, 0x290C
/// (Environmental Sensing Service 1.0, section 3.1.2.1).
public struct EnvironmentalMeasurement: Hashable, Codable, ValueCodable {
    /// The function that calculates a value from samples.
    public var samplingFunction: SamplingFunction
    /// The duration of sampling for a value in seconds, 1 to 16,777,215. Nil if not used.
    public var measurementPeriodSeconds: Int?
    /// The interval between values in seconds, 1 to 16,777,215. Nil if not used.
    public var updateIntervalSeconds: Int?
    /// The object or the location of the measurement.
    public var application: EnvironmentalApplication
    /// The uncertainty of a value in percent, 0 to 127, with a resolution of 0.5. Nil if unknown.
    public var uncertaintyPercent: Double?

    /// Creates the properties of a measurement. Values are unknown by default.
    public init(
        samplingFunction: SamplingFunction = .unspecified, measurementPeriodSeconds: Int? = nil,
        updateIntervalSeconds: Int? = nil, application: EnvironmentalApplication = .unspecified,
        uncertaintyPercent: Double? = nil
    ) {
        self.samplingFunction = samplingFunction
        self.measurementPeriodSeconds = measurementPeriodSeconds
        self.updateIntervalSeconds = updateIntervalSeconds
        self.application = application
        self.uncertaintyPercent = uncertaintyPercent
    }

    /// The function that calculates a value from samples. Other numbers are reserved.
    public struct SamplingFunction: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Not specified.
        public static let unspecified = SamplingFunction(rawValue: 0)
        /// A single sample.
        public static let instantaneous = SamplingFunction(rawValue: 1)
        /// The arithmetic mean.
        public static let arithmeticMean = SamplingFunction(rawValue: 2)
        /// The root mean square.
        public static let rootMeanSquare = SamplingFunction(rawValue: 3)
        /// The maximum.
        public static let maximum = SamplingFunction(rawValue: 4)
        /// The minimum.
        public static let minimum = SamplingFunction(rawValue: 5)
        /// The sum.
        public static let accumulated = SamplingFunction(rawValue: 6)
        /// The number of samples.
        public static let count = SamplingFunction(rawValue: 7)
    }

    /// Decodes eleven bytes. The flags at the beginning are reserved.
    public init(from reader: inout ValueReader) throws(BLEError) {
        _ = try reader.uint16()
        samplingFunction = try reader.raw()
        let period = Int(try reader.uint24())
        measurementPeriodSeconds = period == 0 ? nil : period
        let interval = Int(try reader.uint24())
        updateIntervalSeconds = interval == 0 ? nil : interval
        application = try reader.raw()
        let uncertainty = try reader.uint8()
        uncertaintyPercent = uncertainty == 0xFF ? nil : Double(uncertainty) / 2
    }

    /// Encodes eleven bytes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint16(0)
        writer.raw(samplingFunction)
        try writer.integer(measurementPeriodSeconds ?? 0, .uint24)
        try writer.integer(updateIntervalSeconds ?? 0, .uint24)
        writer.raw(application)
        guard let uncertaintyPercent else { return writer.uint8(0xFF) }
        guard 0...127 ~= uncertaintyPercent else {
            throw BLEError(.invalidValue, "an uncertainty of \(uncertaintyPercent) % is not in the range 0 to 127")
        }
        try writer.rounded(uncertaintyPercent * 2, .uint8)
    }
}

extension EnvironmentalMeasurement.SamplingFunction: NamedConstants {
    static let names = consecutive(
        "unspecified", "instantaneous", "arithmeticMean", "rootMeanSquare", "maximum", "minimum", "accumulated", "count"
    )
}
