public import BLE

/// Forces or torques on the crank during a revolution (Cycling Power Service 1.1, Cycling Power Vector).
public struct CyclingPowerVector: Hashable, Codable, ValueCodable {
    /// The crank revolutions. Nil if not sent.
    public var crankRevolutions: Revolutions?
    /// The crank angle of the first magnitude, in degrees. Nil if not sent.
    public var firstAngleDegrees: Int?
    /// The forces or torques, oldest first. Nil if not sent. May be empty.
    public var magnitudes: Magnitudes?
    /// The direction of the forces or torques.
    public var direction: Direction

    /// Creates a vector.
    public init(
        crankRevolutions: Revolutions? = nil, firstAngleDegrees: Int? = nil, magnitudes: Magnitudes? = nil,
        direction: Direction = .unknown
    ) {
        self.crankRevolutions = crankRevolutions
        self.firstAngleDegrees = firstAngleDegrees
        self.magnitudes = magnitudes
        self.direction = direction
    }

    /// Forces or torques, depending on the sensor.
    public enum Magnitudes: Hashable, Codable, Sendable {
        /// Forces in newtons.
        case forcesNewtons([Int])
        /// Torques in newton meters, with a resolution of 1/32.
        case torquesNewtonMeters([Double])

        private enum ForcesNewtonsCodingKeys: String, CodingKey {
            case _0 = "values"
        }

        private enum TorquesNewtonMetersCodingKeys: String, CodingKey {
            case _0 = "values"
        }
    }

    /// The direction of a force.
    public enum Direction: UInt8, Codable, Sendable {
        /// Unknown.
        case unknown
        /// Tangential: along the path of the pedal.
        case tangential
        /// Radial: toward or away from the axle.
        case radial
        /// Lateral: sideways.
        case lateral
    }

    /// Decodes a flag byte, the fields that it announces, and magnitudes up to the end. Reserved flags are ignored.
    /// Flags for both forces and torques throw `invalidValue`, since these could not be distinguished.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags = try reader.uint8()
        guard flags & 0x0C != 0x0C else { throw reader.invalid("the flags announce both forces and torques") }
        crankRevolutions = flags & 0x01 != 0 ? try Revolutions(from: &reader, .crank) : nil
        firstAngleDegrees = flags & 0x02 != 0 ? Int(try reader.uint16()) : nil
        direction = Direction(rawValue: flags >> 4 & 3) ?? .unknown
        guard flags & 0x0C != 0 else { return }
        var values: [Int] = []
        while reader.remaining > 0 { values.append(Int(try reader.int16())) }
        magnitudes = flags & 0x04 != 0 ? .forcesNewtons(values) : .torquesNewtonMeters(values.map { Double($0) / 32 })
    }

    /// Encodes the value in the format that `init(from:)` decodes.
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

    /// True, since reserved flags may announce further fields.
    public static var ignoresTrailingBytes: Bool { true }
}
