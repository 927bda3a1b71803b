public import BLE

/// The speeds that a fitness machine can keep (Fitness Machine Service 1.0, section 4.11).
public struct SupportedSpeedRange: Hashable, ValueCodable {
    /// The least, in kilometres per hour with a resolution of 0.01.
    public var minimumKilometersPerHour: Double
    /// The greatest.
    public var maximumKilometersPerHour: Double
    /// The steps between.
    public var incrementKilometersPerHour: Double

    /// A range.
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

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        for speed in [minimumKilometersPerHour, maximumKilometersPerHour, incrementKilometersPerHour] {
            try writer.rounded(speed * 100, .uint16)
        }
    }
}

/// The inclinations that a fitness machine can take (section 4.12).
public struct SupportedInclinationRange: Hashable, ValueCodable {
    /// The least, in percent with a resolution of 0.1; downhill below 0.
    public var minimumPercent: Double
    /// The greatest.
    public var maximumPercent: Double
    /// The steps between.
    public var incrementPercent: Double

    /// A range.
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

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(minimumPercent * 10, .int16)
        try writer.rounded(maximumPercent * 10, .int16)
        try writer.rounded(incrementPercent * 10, .uint16)
    }
}

/// The powers that a fitness machine can keep (section 4.14).
public struct SupportedPowerRange: Hashable, ValueCodable {
    /// The least, in watts, -32768 to 32767.
    public var minimumWatts: Int
    /// The greatest.
    public var maximumWatts: Int
    /// The steps between, 0 to 65535.
    public var incrementWatts: Int

    /// A range.
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

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.integer(minimumWatts, .int16)
        try writer.integer(maximumWatts, .int16)
        try writer.integer(incrementWatts, .uint16)
    }
}

/// The heart rates that a fitness machine can keep its user at (section 4.15).
public struct SupportedHeartRateRange: Hashable, ValueCodable {
    /// The least, in beats per minute, 0 to 255.
    public var minimumBeatsPerMinute: Int
    /// The greatest.
    public var maximumBeatsPerMinute: Int
    /// The steps between.
    public var incrementBeatsPerMinute: Int

    /// A range.
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

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        for rate in [minimumBeatsPerMinute, maximumBeatsPerMinute, incrementBeatsPerMinute] {
            try writer.integer(rate, .uint8)
        }
    }
}

extension Characteristic where Value == SupportedSpeedRange {
    /// The speeds that the machine can keep (section 4.11).
    public static var supportedSpeedRange: Self { Characteristic(BluetoothUUID(0x2AD4), service: .fitnessMachine) }
}

extension Characteristic where Value == SupportedInclinationRange {
    /// The inclinations that the machine can take (section 4.12).
    public static var supportedInclinationRange: Self {
        Characteristic(BluetoothUUID(0x2AD5), service: .fitnessMachine)
    }
}

extension Characteristic where Value == SupportedHeartRateRange {
    /// The heart rates that the machine can keep its user at (section 4.15).
    public static var supportedHeartRateRange: Self { Characteristic(BluetoothUUID(0x2AD7), service: .fitnessMachine) }
}

extension Characteristic where Value == SupportedPowerRange {
    /// The powers that the machine can keep (section 4.14).
    public static var supportedPowerRange: Self { Characteristic(BluetoothUUID(0x2AD8), service: .fitnessMachine) }
}
