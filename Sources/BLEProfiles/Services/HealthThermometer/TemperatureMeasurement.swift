public import BLE

/// What a health thermometer measured, or shows while it measures (Health Thermometer Service 1.0, sections 3.1 and 3.3).
public struct TemperatureMeasurement: Hashable, ValueCodable {
    /// The number as it was sent, with its digits; special values where there is none.
    public var temperature: MedFloat32
    /// The unit of the number.
    public var unit: Unit
    /// When it was measured; nil when that was not sent.
    public var timeStamp: DateTime?
    /// Where it was measured; nil when that was not sent.
    public var type: TemperatureType?

    /// A measurement.
    public init(
        temperature: MedFloat32, unit: Unit = .celsius, timeStamp: DateTime? = nil, type: TemperatureType? = nil
    ) {
        self.temperature = temperature
        self.unit = unit
        self.timeStamp = timeStamp
        self.type = type
    }

    /// The unit of a temperature.
    public enum Unit: Sendable {
        /// Degrees Celsius.
        case celsius
        /// Degrees Fahrenheit.
        case fahrenheit
    }

    /// The temperature in °C, whatever it was sent in; not a number, or infinite, for a special value.
    ///
    /// Of a temperature in °F it is computed to one decimal place more than were sent: 36.78 for 98.2 °F.
    public var celsius: Double {
        guard unit == .fahrenheit, let (_, exponent) = temperature.decimal else { return temperature.doubleValue }
        // No more places than a Double has.
        let place = max(exponent, -11) - 1
        let celsius = (temperature.doubleValue - 32) * 5 / 9
        return .decimal(Int((celsius / .decimal(1, place)).rounded()), place)
    }

    /// A flag byte, the number, then what the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        unit = flags.contains(.fahrenheit) ? .fahrenheit : .celsius
        temperature = try reader.medFloat32()
        timeStamp = flags.contains(.timeStamp) ? try DateTime(from: &reader) : nil
        type = flags.contains(.type) ? try reader.raw() : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags: Flags = unit == .fahrenheit ? .fahrenheit : []
        if timeStamp != nil { flags.insert(.timeStamp) }
        if type != nil { flags.insert(.type) }
        writer.raw(flags)
        writer.raw(temperature)
        try timeStamp?.encode(into: &writer)
        if let type { writer.raw(type) }
    }

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }

    private struct Flags: OptionSet {
        let rawValue: UInt8
        static let fahrenheit = Flags(rawValue: 0x01)
        static let timeStamp = Flags(rawValue: 0x02)
        static let type = Flags(rawValue: 0x04)
    }
}

/// Where a temperature was measured (GATT Specification Supplement, Temperature Type). Other numbers are reserved.
public struct TemperatureType: RawRepresentable, Hashable, ValueCodable {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
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
