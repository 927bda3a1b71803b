public import BLE

extension CyclingPowerMeasurement {
    /// Decodes the flags, the power, and the fields that the flags announce. Reserved flags are ignored.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let flags: Flags = try reader.raw()
        self.init(powerWatts: Int(try reader.int16()))
        if flags.contains(.pedalPowerBalance) {
            pedalPowerBalance = PedalPowerBalance(
                percent: Double(try reader.uint8()) / 2, isLeft: flags.contains(.balanceOfLeft))
        }
        if flags.contains(.accumulatedTorque) {
            accumulatedTorque = AccumulatedTorque(
                newtonMeters: Double(try reader.uint16()) / 32, isAtCrank: flags.contains(.torqueAtCrank))
        }
        if flags.contains(.wheelRevolutions) { wheelRevolutions = try Revolutions(from: &reader, .powerMeterWheel) }
        if flags.contains(.crankRevolutions) { crankRevolutions = try Revolutions(from: &reader, .crank) }
        if flags.contains(.extremeForces) {
            extremeForcesNewtons = Extremes(maximum: Int(try reader.int16()), minimum: Int(try reader.int16()))
        }
        if flags.contains(.extremeTorques) {
            extremeTorquesNewtonMeters = Extremes(
                maximum: Double(try reader.int16()) / 32, minimum: Double(try reader.int16()) / 32)
        }
        if flags.contains(.extremeAngles) {
            let angles = Int(try reader.uint24())
            extremeAnglesDegrees = Extremes(maximum: angles & 0xFFF, minimum: angles >> 12)
        }
        if flags.contains(.topDeadSpot) { topDeadSpotDegrees = Int(try reader.uint16()) }
        if flags.contains(.bottomDeadSpot) { bottomDeadSpotDegrees = Int(try reader.uint16()) }
        if flags.contains(.accumulatedEnergy) { accumulatedEnergyKilojoules = Int(try reader.uint16()) }
        needsOffsetCompensation = flags.contains(.offsetCompensationIndicator)
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.raw(flags)
        try writer.integer(powerWatts, .int16)
        if let pedalPowerBalance { try writer.rounded(pedalPowerBalance.percent * 2, .uint8) }
        if let accumulatedTorque { try writer.rounded(accumulatedTorque.newtonMeters * 32, .uint16) }
        try wheelRevolutions?.encode(into: &writer, .powerMeterWheel)
        try crankRevolutions?.encode(into: &writer, .crank)
        if let extremeForcesNewtons {
            try writer.integer(extremeForcesNewtons.maximum, .int16)
            try writer.integer(extremeForcesNewtons.minimum, .int16)
        }
        if let extremeTorquesNewtonMeters {
            try writer.rounded(extremeTorquesNewtonMeters.maximum * 32, .int16)
            try writer.rounded(extremeTorquesNewtonMeters.minimum * 32, .int16)
        }
        if let extremeAnglesDegrees {
            let (maximum, minimum) = (extremeAnglesDegrees.maximum, extremeAnglesDegrees.minimum)
            guard 0...0xFFF ~= maximum, 0...0xFFF ~= minimum else {
                throw BLEError(.invalidValue, "\(minimum)° and \(maximum)° are not both in 0...4095")
            }
            try writer.integer(minimum << 12 | maximum, .uint24)
        }
        if let topDeadSpotDegrees { try writer.integer(topDeadSpotDegrees, .uint16) }
        if let bottomDeadSpotDegrees { try writer.integer(bottomDeadSpotDegrees, .uint16) }
        if let accumulatedEnergyKilojoules { try writer.integer(accumulatedEnergyKilojoules, .uint16) }
    }

    private var flags: Flags {
        var flags: Flags = []
        if let pedalPowerBalance {
            flags.insert(.pedalPowerBalance)
            if pedalPowerBalance.isLeft { flags.insert(.balanceOfLeft) }
        }
        if let accumulatedTorque {
            flags.insert(.accumulatedTorque)
            if accumulatedTorque.isAtCrank { flags.insert(.torqueAtCrank) }
        }
        if wheelRevolutions != nil { flags.insert(.wheelRevolutions) }
        if crankRevolutions != nil { flags.insert(.crankRevolutions) }
        if extremeForcesNewtons != nil { flags.insert(.extremeForces) }
        if extremeTorquesNewtonMeters != nil { flags.insert(.extremeTorques) }
        if extremeAnglesDegrees != nil { flags.insert(.extremeAngles) }
        if topDeadSpotDegrees != nil { flags.insert(.topDeadSpot) }
        if bottomDeadSpotDegrees != nil { flags.insert(.bottomDeadSpot) }
        if accumulatedEnergyKilojoules != nil { flags.insert(.accumulatedEnergy) }
        if needsOffsetCompensation { flags.insert(.offsetCompensationIndicator) }
        return flags
    }

    private struct Flags: OptionSet {
        let rawValue: UInt16
        static let pedalPowerBalance = Flags(rawValue: 1 << 0)
        static let balanceOfLeft = Flags(rawValue: 1 << 1)
        static let accumulatedTorque = Flags(rawValue: 1 << 2)
        static let torqueAtCrank = Flags(rawValue: 1 << 3)
        static let wheelRevolutions = Flags(rawValue: 1 << 4)
        static let crankRevolutions = Flags(rawValue: 1 << 5)
        static let extremeForces = Flags(rawValue: 1 << 6)
        static let extremeTorques = Flags(rawValue: 1 << 7)
        static let extremeAngles = Flags(rawValue: 1 << 8)
        static let topDeadSpot = Flags(rawValue: 1 << 9)
        static let bottomDeadSpot = Flags(rawValue: 1 << 10)
        static let accumulatedEnergy = Flags(rawValue: 1 << 11)
        static let offsetCompensationIndicator = Flags(rawValue: 1 << 12)
    }
}
