public import BLE

/// A measurement of a body composition analyzer, or a part of one (Body Composition Service 1.0, section 3.2).
public struct BodyCompositionMeasurement: Hashable, Codable, ValueCodable {
    /// The body fat in percent, in steps of 0.1. Nil if the measurement failed.
    public var bodyFatPercent: Double?
    /// The units of masses and height.
    public var units: MeasurementSystem
    /// Whether this is one of two parts of a measurement.
    public var isPart = false
    /// The time of the measurement. Nil if not sent.
    public var timeStamp: DateTime?
    /// The user that was measured. Nil if not sent.
    public var user: UserIndex?
    /// The basal metabolism, which is the energy spent in a day at rest, 0 to 65535 kJ. Nil if not sent.
    public var basalMetabolismKilojoules: Int?
    /// The muscle percentage, in steps of 0.1. Nil if not sent.
    public var musclePercent: Double?
    /// The muscle mass in kilograms or pounds. Nil if not sent.
    public var muscleMass: Double?
    /// The fat-free mass in kilograms or pounds. Nil if not sent.
    public var fatFreeMass: Double?
    /// The soft lean mass, which excludes fat and bones, in kilograms or pounds. Nil if not sent.
    public var softLeanMass: Double?
    /// The body water mass in kilograms or pounds. Nil if not sent.
    public var bodyWaterMass: Double?
    /// The impedance in ohms, in steps of 0.1. Nil if not sent.
    public var impedanceOhms: Double?
    /// The weight in kilograms or pounds. Nil if not sent.
    public var weight: Double?
    /// The height in meters or inches. Nil if not sent.
    public var height: Double?

    /// Creates a measurement. Set the other values afterward.
    public init(bodyFatPercent: Double?, units: MeasurementSystem = .metric) {
        self.bodyFatPercent = bodyFatPercent
        self.units = units
    }

    /// The last fields of a measurement, two bytes each, in order, with their flags and resolutions.
    static var fields: [(flag: UInt16, path: WritableKeyPath<Self, Double?>, steps: Steps)] {
        [
            (0x0010, \.musclePercent, .tenths), (0x0020, \.muscleMass, .mass), (0x0040, \.fatFreeMass, .mass),
            (0x0080, \.softLeanMass, .mass), (0x0100, \.bodyWaterMass, .mass), (0x0200, \.impedanceOhms, .tenths),
            (0x0400, \.weight, .mass), (0x0800, \.height, .height),
        ]
    }

    /// The number of steps per unit of a field.
    enum Steps {
        case tenths
        case mass
        case height

        func count(_ units: MeasurementSystem) -> Double {
            switch self {
            case .tenths: 10
            case .mass: units.massSteps
            case .height: units.heightSteps
            }
        }
    }

    /// Decodes two bytes of flags, the body fat, and the fields that the flags announce.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint16()
        let fat = try reader.uint16()
        self.init(
            bodyFatPercent: fat == .max ? nil : Double(fat) / 10, units: flags & 0x0001 != 0 ? .imperial : .metric)
        timeStamp = flags & 0x0002 != 0 ? try DateTime(from: &reader) : nil
        user = flags & 0x0004 != 0 ? try reader.raw() : nil
        basalMetabolismKilojoules = flags & 0x0008 != 0 ? Int(try reader.uint16()) : nil
        for field in Self.fields where flags & field.flag != 0 {
            self[keyPath: field.path] = Double(try reader.uint16()) / field.steps.count(units)
        }
        isPart = flags & 0x1000 != 0
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        let numbers = Self.fields.filter { self[keyPath: $0.path] != nil }
        var flags = numbers.reduce(0) { $0 | $1.flag }
        if units == .imperial { flags |= 0x0001 }
        if timeStamp != nil { flags |= 0x0002 }
        if user != nil { flags |= 0x0004 }
        if basalMetabolismKilojoules != nil { flags |= 0x0008 }
        if isPart { flags |= 0x1000 }
        writer.uint16(flags)
        try writer.unlessUnsuccessful(bodyFatPercent, steps: 10)
        try timeStamp?.encode(into: &writer)
        if let user { writer.raw(user) }
        if let basalMetabolismKilojoules { try writer.integer(basalMetabolismKilojoules, .uint16) }
        for field in numbers {
            guard let number = self[keyPath: field.path] else { continue }
            try writer.rounded(number * field.steps.count(units), .uint16)
        }
    }

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}
