public import BLE

/// What a body composition analyzer measured, or a part of it (Body Composition Service 1.0, section 3.2).
public struct BodyCompositionMeasurement: Hashable, ValueCodable {
    /// The share of fat in percent, in steps of 0.1; nil when the measurement was not successful.
    public var bodyFatPercent: Double?
    /// The units of masses and height.
    public var units: MeasurementSystem
    /// Whether it is a part of a measurement that is sent in two.
    public var isPart = false
    /// When it was measured; nil when that was not sent.
    public var timeStamp: DateTime?
    /// Whose it is; nil when that was not sent.
    public var user: UserIndex?
    /// The energy spent in a day at rest, 0 to 65535 kJ; nil when it was not sent.
    public var basalMetabolismKilojoules: Int?
    /// The share of muscles in percent, in steps of 0.1; nil when it was not sent.
    public var musclePercent: Double?
    /// The mass of muscles in kilograms or pounds; nil when it was not sent.
    public var muscleMass: Double?
    /// The mass without fat in kilograms or pounds; nil when it was not sent.
    public var fatFreeMass: Double?
    /// The mass without fat and bones in kilograms or pounds; nil when it was not sent.
    public var softLeanMass: Double?
    /// The mass of water in kilograms or pounds; nil when it was not sent.
    public var bodyWaterMass: Double?
    /// The electric resistance in ohms, in steps of 0.1; nil when it was not sent.
    public var impedanceOhms: Double?
    /// The weight in kilograms or pounds; nil when it was not sent.
    public var weight: Double?
    /// The height in metres or inches; nil when it was not sent.
    public var height: Double?

    /// A measurement, of which the rest is set afterward.
    public init(bodyFatPercent: Double?, units: MeasurementSystem = .metric) {
        self.bodyFatPercent = bodyFatPercent
        self.units = units
    }

    /// The numbers of two bytes that come last, in order: their flags, and how many steps make one.
    static var fields: [(flag: UInt16, path: WritableKeyPath<Self, Double?>, steps: Steps)] {
        [
            (0x0010, \.musclePercent, .tenths), (0x0020, \.muscleMass, .mass), (0x0040, \.fatFreeMass, .mass),
            (0x0080, \.softLeanMass, .mass), (0x0100, \.bodyWaterMass, .mass), (0x0200, \.impedanceOhms, .tenths),
            (0x0400, \.weight, .mass), (0x0800, \.height, .height),
        ]
    }

    /// How many steps make one of a number's unit.
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

    /// Two bytes of flags, the share of fat, then what the flags announce.
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

    /// The same.
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

    /// Further bytes are passed over, which the reserved flags may announce.
    public static var ignoresFurtherBytes: Bool { true }
}
