public import BLE

/// How a battery is worn (GATT Specification Supplement, Battery Health Status). What was not sent is nil.
public struct BatteryHealthStatus: Hashable, ValueCodable {
    /// Its health as a whole in percent: 100 is as new, 0 at the end of its life.
    public var healthPercent: Int?
    /// How often it has been charged, counted in full charges, 0 to 65535.
    public var cycleCount: Int?
    /// Its temperature, -127 to 126; 127 means more, -128 less.
    public var temperatureCelsius: Int?
    /// How often it has been discharged completely, 0 to 65535.
    public var deepDischargeCount: Int?

    /// A status.
    public init(
        healthPercent: Int? = nil, cycleCount: Int? = nil, temperatureCelsius: Int? = nil,
        deepDischargeCount: Int? = nil
    ) {
        self.healthPercent = healthPercent
        self.cycleCount = cycleCount
        self.temperatureCelsius = temperatureCelsius
        self.deepDischargeCount = deepDischargeCount
    }

    /// Flags, and what they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        healthPercent = flags & 0x01 != 0 ? Int(try reader.uint8()) : nil
        if let healthPercent, healthPercent > 100 { throw reader.invalid("\(healthPercent) is no percentage") }
        cycleCount = flags & 0x02 != 0 ? Int(try reader.uint16()) : nil
        temperatureCelsius = flags & 0x04 != 0 ? Int(try reader.int8()) : nil
        deepDischargeCount = flags & 0x08 != 0 ? Int(try reader.uint16()) : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(
            (healthPercent != nil ? 0x01 : 0) | (cycleCount != nil ? 0x02 : 0)
                | (temperatureCelsius != nil ? 0x04 : 0) | (deepDischargeCount != nil ? 0x08 : 0))
        if let healthPercent {
            guard 0...100 ~= healthPercent else { throw BLEError(.invalidValue, "\(healthPercent) is no percentage") }
            try writer.integer(healthPercent, .uint8)
        }
        if let cycleCount { try writer.integer(cycleCount, .uint16) }
        if let temperatureCelsius { try writer.integer(temperatureCelsius, .int8) }
        if let deepDischargeCount { try writer.integer(deepDischargeCount, .uint16) }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }
}

/// What a battery was designed to endure (GATT Specification Supplement, Battery Health Information). What was not sent is nil.
public struct BatteryHealthInformation: Hashable, ValueCodable {
    /// The temperatures at which a battery may be used, -127 to 126; 127 means more, -128 less.
    public struct OperatingTemperatures: Hashable, Sendable {
        /// The least.
        public var minimumCelsius: Int
        /// The greatest.
        public var maximumCelsius: Int

        /// A range.
        public init(minimumCelsius: Int, maximumCelsius: Int) {
            self.minimumCelsius = minimumCelsius
            self.maximumCelsius = maximumCelsius
        }
    }

    /// How often it can be charged, counted in full charges, 0 to 65535.
    public var designedCycleCount: Int?
    /// The temperatures at which it may be used.
    public var operatingTemperatures: OperatingTemperatures?

    /// What it was designed for.
    public init(designedCycleCount: Int? = nil, operatingTemperatures: OperatingTemperatures? = nil) {
        self.designedCycleCount = designedCycleCount
        self.operatingTemperatures = operatingTemperatures
    }

    /// Flags, and what they announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        designedCycleCount = flags & 0x01 != 0 ? Int(try reader.uint16()) : nil
        guard flags & 0x02 != 0 else { return }
        operatingTemperatures = OperatingTemperatures(
            minimumCelsius: Int(try reader.int8()), maximumCelsius: Int(try reader.int8()))
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8((designedCycleCount != nil ? 0x01 : 0) | (operatingTemperatures != nil ? 0x02 : 0))
        if let designedCycleCount { try writer.integer(designedCycleCount, .uint16) }
        if let operatingTemperatures {
            try writer.integer(operatingTemperatures.minimumCelsius, .int8)
            try writer.integer(operatingTemperatures.maximumCelsius, .int8)
        }
    }

    /// Further bytes are passed over: the flags may announce more than is known here.
    public static var ignoresFurtherBytes: Bool { true }
}
