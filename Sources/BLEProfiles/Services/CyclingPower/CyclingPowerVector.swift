public import BLE

/// Forces or torques on the crank, several of a revolution (Cycling Power Service 1.1, Cycling Power Vector).
public struct CyclingPowerVector: Hashable, ValueCodable {
    /// Revolutions of the crank; nil when they were not sent.
    public var crankRevolutions: Revolutions?
    /// The angle of the crank at the first of the magnitudes, in degrees; nil when it was not sent.
    public var firstAngleDegrees: Int?
    /// The forces or the torques, oldest first; nil when none were sent. There may be none of a revolution.
    public var magnitudes: Magnitudes?
    /// In which direction they point.
    public var direction: Direction

    /// A vector.
    public init(
        crankRevolutions: Revolutions? = nil, firstAngleDegrees: Int? = nil, magnitudes: Magnitudes? = nil,
        direction: Direction = .unknown
    ) {
        self.crankRevolutions = crankRevolutions
        self.firstAngleDegrees = firstAngleDegrees
        self.magnitudes = magnitudes
        self.direction = direction
    }

    /// Forces or torques; a sensor has either.
    public enum Magnitudes: Hashable, Sendable {
        /// Newtons.
        case forcesNewtons([Int])
        /// Newton metres with a resolution of 1/32.
        case torquesNewtonMeters([Double])
    }

    /// In which direction a force points.
    public enum Direction: UInt8, Sendable {
        /// Not known.
        case unknown
        /// Along the pedal's way.
        case tangential
        /// To or from the axle.
        case radial
        /// Sideways.
        case lateral
    }

    /// A flag byte, what it announces, and magnitudes to the end. Reserved flags are ignored; flags for forces and torques at once,
    /// which could not be told apart, throw `invalidValue`.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        guard flags & 0x0C != 0x0C else { throw reader.invalid("forces and torques exclude each other") }
        crankRevolutions = flags & 0x01 != 0 ? try Revolutions(from: &reader, .crank) : nil
        firstAngleDegrees = flags & 0x02 != 0 ? Int(try reader.uint16()) : nil
        direction = Direction(rawValue: flags >> 4 & 3) ?? .unknown
        guard flags & 0x0C != 0 else { return }
        var values: [Int] = []
        while reader.remaining > 0 { values.append(Int(try reader.int16())) }
        magnitudes = flags & 0x04 != 0 ? .forcesNewtons(values) : .torquesNewtonMeters(values.map { Double($0) / 32 })
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        var flags = direction.rawValue << 4
        if crankRevolutions != nil { flags |= 0x01 }
        if firstAngleDegrees != nil { flags |= 0x02 }
        switch magnitudes {
        case .forcesNewtons: flags |= 0x04
        case .torquesNewtonMeters: flags |= 0x08
        case nil: break
        }
        writer.uint8(flags)
        try crankRevolutions?.encode(into: &writer, .crank)
        if let firstAngleDegrees { try writer.integer(firstAngleDegrees, .uint16) }
        switch magnitudes {
        case .forcesNewtons(let forces): for force in forces { try writer.integer(force, .int16) }
        case .torquesNewtonMeters(let torques): for torque in torques { try writer.rounded(torque * 32, .int16) }
        case nil: break
        }
    }

    /// True: reserved flags may announce more one day.
    public static var ignoresFurtherBytes: Bool { true }
}
