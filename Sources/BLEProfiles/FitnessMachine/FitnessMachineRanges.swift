public import BLE

/// The target speeds that a fitness machine supports (Fitness Machine Service 1.0, section 4.11).
public struct SupportedSpeedRange: Hashable, Codable, ValueCodable {
    /// The minimum, in kilometers per hour with a resolution of 0.01.
    public var minimumKilometersPerHour: Double
    /// The maximum.
    public var maximumKilometersPerHour: Double
    /// The increment.
    public var incrementKilometersPerHour: Double

    /// Creates a range.
    public init(
        minimumKilometersPerHour: Double, maximumKilometersPerHour: Double, incrementKilometersPerHour: Double
    ) {
        self.minimumKilometersPerHour = minimumKilometersPerHour
        self.maximumKilometersPerHour = maximumKilometersPerHour
        self.incrementKilometersPerHour = incrementKilometersPerHour
    }

    /// Three numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        minimumKilometersPerHour = Double(try reader.uint16()) / 100
        maximumKilometersPerHour = Double(try reader.uint16()) / 100
        incrementKilometersPerHour = Double(try reader.uint16()) / 100
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        for speed in [minimumKilometersPerHour, maximumKilometersPerHour, incrementKilometersPerHour] {
            try writer.rounded(speed * 100, .uint16)
        }
    }
}

/// The target inclinations that a fitness machine supports (section 4.12).
public struct SupportedInclinationRange: Hashable, Codable, ValueCodable {
    /// The minimum, in percent with a resolution of 0.1. Negative for downhill.
    public var minimumPercent: Double
    /// The maximum.
    public var maximumPercent: Double
    /// The increment.
    public var incrementPercent: Double

    /// Creates a range.
    public init(minimumPercent: Double, maximumPercent: Double, incrementPercent: Double) {
        self.minimumPercent = minimumPercent
        self.maximumPercent = maximumPercent
        self.incrementPercent = incrementPercent
    }

    /// Three numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        minimumPercent = Double(try reader.int16()) / 10
        maximumPercent = Double(try reader.int16()) / 10
        incrementPercent = Double(try reader.uint16()) / 10
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(minimumPercent * 10, .int16)
        try writer.rounded(maximumPercent * 10, .int16)
        try writer.rounded(incrementPercent * 10, .uint16)
    }
}

/// The target powers that a fitness machine supports (section 4.14).
public struct SupportedPowerRange: Hashable, Codable, ValueCodable {
    /// The minimum, in watts, -32768 to 32767.
    public var minimumWatts: Int
    /// The maximum.
    public var maximumWatts: Int
    /// The increment, 0 to 65535.
    public var incrementWatts: Int

    /// Creates a range.
    public init(minimumWatts: Int, maximumWatts: Int, incrementWatts: Int) {
        self.minimumWatts = minimumWatts
        self.maximumWatts = maximumWatts
        self.incrementWatts = incrementWatts
    }

    /// Three numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        minimumWatts = Int(try reader.int16())
        maximumWatts = Int(try reader.int16())
        incrementWatts = Int(try reader.uint16())
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.integer(minimumWatts, .int16)
        try writer.integer(maximumWatts, .int16)
        try writer.integer(incrementWatts, .uint16)
    }
}

/// The target heart rates that a fitness machine supports (section 4.15).
public struct SupportedHeartRateRange: Hashable, Codable, ValueCodable {
    /// The minimum, in beats per minute, 0 to 255.
    public var minimumBeatsPerMinute: Int
    /// The maximum.
    public var maximumBeatsPerMinute: Int
    /// The increment.
    public var incrementBeatsPerMinute: Int

    /// Creates a range.
    public init(minimumBeatsPerMinute: Int, maximumBeatsPerMinute: Int, incrementBeatsPerMinute: Int) {
        self.minimumBeatsPerMinute = minimumBeatsPerMinute
        self.maximumBeatsPerMinute = maximumBeatsPerMinute
        self.incrementBeatsPerMinute = incrementBeatsPerMinute
    }

    /// Three bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        minimumBeatsPerMinute = Int(try reader.uint8())
        maximumBeatsPerMinute = Int(try reader.uint8())
        incrementBeatsPerMinute = Int(try reader.uint8())
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        for rate in [minimumBeatsPerMinute, maximumBeatsPerMinute, incrementBeatsPerMinute] {
            try writer.integer(rate, .uint8)
        }
    }
}

extension Characteristic where Value == SupportedSpeedRange {
    /// The supported target speeds (section 4.11).
    public static var supportedSpeedRange: Self { Characteristic(BluetoothUUID(0x2AD4), service: .fitnessMachine) }
}

extension Characteristic where Value == SupportedInclinationRange {
    /// The supported target inclinations (section 4.12).
    public static var supportedInclinationRange: Self {
        Characteristic(BluetoothUUID(0x2AD5), service: .fitnessMachine)
    }
}

extension Characteristic where Value == SupportedHeartRateRange {
    /// The supported target heart rates (section 4.15).
    public static var supportedHeartRateRange: Self { Characteristic(BluetoothUUID(0x2AD7), service: .fitnessMachine) }
}

extension Characteristic where Value == SupportedPowerRange {
    /// The supported target powers (section 4.14).
    public static var supportedPowerRange: Self { Characteristic(BluetoothUUID(0x2AD8), service: .fitnessMachine) }
}
