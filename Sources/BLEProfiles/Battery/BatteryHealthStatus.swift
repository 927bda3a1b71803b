public import BLE

/// The health of a battery (GATT Specification Supplement, Battery Health Status). Values that were not sent are nil.
public struct BatteryHealthStatus: Hashable, Codable, ValueCodable {
    /// The overall health in percent: 100 for a new battery, 0 at the end of its life.
    public var healthPercent: Int?
    /// The number of full charge cycles, 0 to 65535.
    public var cycleCount: Int?
    /// The temperature, -127 to 126. 127 means higher, -128 lower.
    public var temperatureCelsius: Int?
    /// The number of complete discharges, 0 to 65535.
    public var deepDischargeCount: Int?

    /// Creates a status.
    public init(
        healthPercent: Int? = nil, cycleCount: Int? = nil, temperatureCelsius: Int? = nil,
        deepDischargeCount: Int? = nil
    ) {
        self.healthPercent = healthPercent
        self.cycleCount = cycleCount
        self.temperatureCelsius = temperatureCelsius
        self.deepDischargeCount = deepDischargeCount
    }

    /// Decodes flags, and the fields that they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        healthPercent = flags & 0x01 != 0 ? Int(try reader.uint8()) : nil
        if let healthPercent, healthPercent > 100 { throw reader.invalid("\(healthPercent) is not between 0 and 100") }
        cycleCount = flags & 0x02 != 0 ? Int(try reader.uint16()) : nil
        temperatureCelsius = flags & 0x04 != 0 ? Int(try reader.int8()) : nil
        deepDischargeCount = flags & 0x08 != 0 ? Int(try reader.uint16()) : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (healthPercent != nil ? 0x01 : 0) | (cycleCount != nil ? 0x02 : 0)
                | (temperatureCelsius != nil ? 0x04 : 0) | (deepDischargeCount != nil ? 0x08 : 0))
        if let healthPercent {
            guard 0...100 ~= healthPercent else {
                throw BLEError(.invalidValue, "\(healthPercent) is not between 0 and 100")
            }
            try writer.integer(healthPercent, .uint8)
        }
        if let cycleCount { try writer.integer(cycleCount, .uint16) }
        if let temperatureCelsius { try writer.integer(temperatureCelsius, .int8) }
        if let deepDischargeCount { try writer.integer(deepDischargeCount, .uint16) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}

/// The limits that a battery was designed for (GATT Specification Supplement, Battery Health Information). Values that
/// were not sent are nil.
public struct BatteryHealthInformation: Hashable, Codable, ValueCodable {
    /// The range of temperatures in which a battery may be used, -127 to 126. 127 means higher, -128 lower.
    public struct OperatingTemperatures: Hashable, Codable, Sendable {
        /// The minimum.
        public var minimumCelsius: Int
        /// The maximum.
        public var maximumCelsius: Int

        /// Creates a range.
        public init(minimumCelsius: Int, maximumCelsius: Int) {
            self.minimumCelsius = minimumCelsius
            self.maximumCelsius = maximumCelsius
        }
    }

    /// The number of full charge cycles that the battery was designed for, 0 to 65535.
    public var designedCycleCount: Int?
    /// The range of temperatures in which the battery may be used.
    public var operatingTemperatures: OperatingTemperatures?

    /// Creates limits.
    public init(designedCycleCount: Int? = nil, operatingTemperatures: OperatingTemperatures? = nil) {
        self.designedCycleCount = designedCycleCount
        self.operatingTemperatures = operatingTemperatures
    }

    /// Decodes flags, and the fields that they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        designedCycleCount = flags & 0x01 != 0 ? Int(try reader.uint16()) : nil
        guard flags & 0x02 != 0 else { return }
        operatingTemperatures = OperatingTemperatures(
            minimumCelsius: Int(try reader.int8()), maximumCelsius: Int(try reader.int8()))
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((designedCycleCount != nil ? 0x01 : 0) | (operatingTemperatures != nil ? 0x02 : 0))
        if let designedCycleCount { try writer.integer(designedCycleCount, .uint16) }
        if let operatingTemperatures {
            try writer.integer(operatingTemperatures.minimumCelsius, .int8)
            try writer.integer(operatingTemperatures.maximumCelsius, .int8)
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}
