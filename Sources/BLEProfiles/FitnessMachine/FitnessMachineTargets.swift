public import BLE

/// The parameters of a simulated ride on an indoor bike (Fitness Machine Service 1.0, section 4.16.2.18).
public struct IndoorBikeSimulation: Hashable, Codable, ValueCodable {
    /// The wind speed in meters per second, -32.768 to 32.767, with a resolution of 0.001. Positive for a headwind.
    public var windMetersPerSecond: Double
    /// The grade in percent, -327.68 to 327.67, with a resolution of 0.01.
    public var gradePercent: Double
    /// The coefficient of the rolling resistance, 0 to 0.0255, with a resolution of 0.0001.
    public var rollingResistance: Double
    /// The coefficient of the wind resistance in kilograms per meter, 0 to 2.55, with a resolution of 0.01.
    public var windResistanceKilogramsPerMeter: Double

    /// Creates parameters. The default resistances are those of a road bike.
    public init(
        windMetersPerSecond: Double = 0, gradePercent: Double, rollingResistance: Double = 0.004,
        windResistanceKilogramsPerMeter: Double = 0.51
    ) {
        self.windMetersPerSecond = windMetersPerSecond
        self.gradePercent = gradePercent
        self.rollingResistance = rollingResistance
        self.windResistanceKilogramsPerMeter = windResistanceKilogramsPerMeter
    }

    /// Six bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        windMetersPerSecond = Double(try reader.int16()) / 1000
        gradePercent = Double(try reader.int16()) / 100
        rollingResistance = Double(try reader.uint8()) / 10000
        windResistanceKilogramsPerMeter = Double(try reader.uint8()) / 100
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(windMetersPerSecond * 1000, .int16)
        try writer.rounded(gradePercent * 100, .int16)
        try writer.rounded(rollingResistance * 10000, .uint8)
        try writer.rounded(windResistanceKilogramsPerMeter * 100, .uint8)
    }
}

/// Target times in heart rate zones, in seconds, 0 to 65535 each (Fitness Machine Service 1.0, sections 4.16.2.15 to
/// 4.16.2.17).
public enum HeartRateZoneTimes: Hashable, Codable, Sendable {
    /// Two zones.
    case two(fatBurnSeconds: Int, fitnessSeconds: Int)
    /// Three zones.
    case three(lightSeconds: Int, moderateSeconds: Int, hardSeconds: Int)
    /// Five zones.
    case five(veryLightSeconds: Int, lightSeconds: Int, moderateSeconds: Int, hardSeconds: Int, maximumSeconds: Int)

    init(zoneCount: Int, from reader: inout ValueReader) throws(BLEError) {
        var times: [Int] = []
        for _ in 0..<zoneCount { times.append(Int(try reader.uint16())) }
        switch zoneCount {
        case 2: self = .two(fatBurnSeconds: times[0], fitnessSeconds: times[1])
        case 3: self = .three(lightSeconds: times[0], moderateSeconds: times[1], hardSeconds: times[2])
        default:
            guard times.count == 5 else { throw reader.invalid("\(zoneCount) is not a valid number of zones") }
            self = .five(
                veryLightSeconds: times[0], lightSeconds: times[1], moderateSeconds: times[2], hardSeconds: times[3],
                maximumSeconds: times[4])
        }
    }

    /// The times, in order of the zones' heart rates, lowest first.
    public var seconds: [Int] {
        switch self {
        case .two(let fatBurn, let fitness): [fatBurn, fitness]
        case .three(let light, let moderate, let hard): [light, moderate, hard]
        case .five(let veryLight, let light, let moderate, let hard, let maximum):
            [veryLight, light, moderate, hard, maximum]
        }
    }

    func encode(into writer: inout ValueWriter) throws(BLEError) {
        for time in seconds { try writer.integer(time, .uint16) }
    }
}

/// The speeds between which the user should let the wheel spin down, in kilometers per hour with a resolution of 0.01
/// (Fitness Machine Service 1.0, section 4.16.2.20).
public struct SpinDownTarget: Hashable, Codable, ValueCodable {
    /// The lower speed.
    public var lowKilometersPerHour: Double
    /// The upper speed.
    public var highKilometersPerHour: Double

    /// Creates a target.
    public init(lowKilometersPerHour: Double, highKilometersPerHour: Double) {
        self.lowKilometersPerHour = lowKilometersPerHour
        self.highKilometersPerHour = highKilometersPerHour
    }

    /// Two numbers of two bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        lowKilometersPerHour = Double(try reader.uint16()) / 100
        highKilometersPerHour = Double(try reader.uint16()) / 100
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        try writer.rounded(lowKilometersPerHour * 100, .uint16)
        try writer.rounded(highKilometersPerHour * 100, .uint16)
    }
}
