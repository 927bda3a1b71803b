public import BLE

/// How a sensor measures, by which sensors of a kind are told apart: the ES Measurement descriptor, 0x290C (Environmental Sensing
/// Service 1.0, section 3.1.2.1).
public struct EnvironmentalMeasurement: Hashable, ValueCodable {
    /// How a value is made of what was sampled.
    public var samplingFunction: SamplingFunction
    /// For how long it was sampled for a value, in seconds, 1 to 16,777,215; nil when that is not used.
    public var measurementPeriodSeconds: Int?
    /// How often the sensor makes a value, in seconds, 1 to 16,777,215; nil when that is not used.
    public var updateIntervalSeconds: Int?
    /// What is measured, or where.
    public var application: EnvironmentalApplication
    /// How far off a value may be, in percent, 0 to 127, with a resolution of 0.5; nil when that is not known.
    public var uncertaintyPercent: Double?

    /// A measurement. What is not given is not known.
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

    /// How a value is made of what was sampled. Other numbers are reserved.
    public struct SamplingFunction: RawRepresentable, Hashable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// Not told.
        public static let unspecified = SamplingFunction(rawValue: 0)
        /// It is one sample.
        public static let instantaneous = SamplingFunction(rawValue: 1)
        /// The arithmetic mean.
        public static let arithmeticMean = SamplingFunction(rawValue: 2)
        /// The root of the mean of the squares.
        public static let rootMeanSquare = SamplingFunction(rawValue: 3)
        /// The greatest.
        public static let maximum = SamplingFunction(rawValue: 4)
        /// The least.
        public static let minimum = SamplingFunction(rawValue: 5)
        /// The sum.
        public static let accumulated = SamplingFunction(rawValue: 6)
        /// How many there were.
        public static let count = SamplingFunction(rawValue: 7)
    }

    /// Eleven bytes; the flags with which they begin are reserved.
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

    /// Eleven bytes.
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
