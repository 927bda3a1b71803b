public import BLE

/// A measurement of a health thermometer, final or intermediate (Health Thermometer Service 1.0, sections 3.1 and 3.3).
public struct TemperatureMeasurement: Hashable, Codable, ValueCodable {
    /// The number with its digits, as sent. A special value if there is no measurement.
    public var temperature: MedFloat32
    /// The unit of the number.
    public var unit: Unit
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// The location of the measurement. Nil if not sent.
    public var type: TemperatureType?

    /// Creates a measurement.
    public init(
        temperature: MedFloat32, unit: Unit = .celsius, timeStamp: DateTime? = nil, type: TemperatureType? = nil
    ) {
        self.temperature = temperature
        self.unit = unit
        self.timeStamp = timeStamp
        self.type = type
    }

    /// The unit of a temperature.
    public enum Unit: String, Codable, Sendable {
        /// Degrees Celsius.
        case celsius
        /// Degrees Fahrenheit.
        case fahrenheit
    }

    /// The temperature in °C, converted if necessary. NaN or infinite for a special value.
    ///
    /// A temperature in °F is converted to one decimal place more than were sent: 36.78 for 98.2 °F.
    public var celsius: Double {
        guard unit == .fahrenheit, let (_, exponent) = temperature.decimal else { return temperature.doubleValue }
        // The precision of a Double limits the number of places.
        let place = max(exponent, -11) - 1
        let celsius = (temperature.doubleValue - 32) * 5 / 9
        return .decimal(Int((celsius / .decimal(1, place)).rounded()), place)
    }

    /// Decodes a flag byte, the number, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        unit = flags.contains(.fahrenheit) ? .fahrenheit : .celsius
        temperature = try reader.medFloat32()
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        type = flags.contains(.type) ? try reader.raw() : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = unit == .fahrenheit ? .fahrenheit : []
        if timeStamp != nil { flags.insert(.timeStamp) }
        if type != nil { flags.insert(.type) }
        writer.raw(flags)
        writer.raw(temperature)
        try timeStamp?.encode(into: &writer)
        if let type { writer.raw(type) }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let fahrenheit = Flags(rawValue: 0x01)
        static let timeStamp = Flags(rawValue: 0x02)
        static let type = Flags(rawValue: 0x04)
    }
}

/// The location of a temperature measurement (GATT Specification Supplement, Temperature Type). Other numbers are
/// reserved.
public struct TemperatureType: RawRepresentable, Hashable, Codable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// In the armpit.
    public static let armpit = TemperatureType(rawValue: 1)
    /// On the body, in general.
    public static let body = TemperatureType(rawValue: 2)
    /// At the ear, usually its lobe.
    public static let ear = TemperatureType(rawValue: 3)
    /// On a finger.
    public static let finger = TemperatureType(rawValue: 4)
    /// In the gastrointestinal tract.
    public static let gastrointestinalTract = TemperatureType(rawValue: 5)
    /// In the mouth.
    public static let mouth = TemperatureType(rawValue: 6)
    /// In the rectum.
    public static let rectum = TemperatureType(rawValue: 7)
    /// On a toe.
    public static let toe = TemperatureType(rawValue: 8)
    /// At the ear drum.
    public static let tympanum = TemperatureType(rawValue: 9)
}

extension TemperatureType: NamedConstants {
    static let names = consecutive(
        from: 1, "armpit", "body", "ear", "finger", "gastrointestinalTract", "mouth", "rectum", "toe", "tympanum")
}
