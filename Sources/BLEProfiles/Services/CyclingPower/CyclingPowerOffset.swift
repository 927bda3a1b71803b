public import BLE

/// What a power meter measures without a load: a force or a torque, as ``CyclingPowerFeature/measuresTorque`` says.
public struct CyclingPowerOffset: Hashable, Sendable {
    /// The number as it was sent.
    public var rawValue: Int16

    /// An offset.
    public init(rawValue: Int16) { self.rawValue = rawValue }

    /// Of a power meter that measures a force: newtons.
    public var forceNewtons: Int { Int(rawValue) }
    /// Of a power meter that measures a torque: newton metres with a resolution of 1/32.
    public var torqueNewtonMeters: Double { Double(rawValue) / 32 }
}

/// The answer to an enhanced offset compensation.
public struct EnhancedOffsetCompensation: Hashable, ValueCodable {
    /// What was measured without a load.
    public var offset: CyclingPowerOffset
    /// What the maker adds; nil when nothing was sent.
    public var manufacturerData: CyclingPowerManufacturerData?

    /// An answer.
    public init(offset: CyclingPowerOffset, manufacturerData: CyclingPowerManufacturerData? = nil) {
        self.offset = offset
        self.manufacturerData = manufacturerData
    }

    /// The offset, and perhaps the maker's data.
    public init(from reader: inout ValueReader) throws(BLEError) {
        offset = CyclingPowerOffset(rawValue: try reader.int16())
        manufacturerData = reader.remaining > 0 ? try CyclingPowerManufacturerData(from: &reader) : nil
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.integer(offset.rawValue)
        try manufacturerData?.encode(into: &writer)
    }
}

/// What a power meter's maker adds to an answer of its control point.
public struct CyclingPowerManufacturerData: Hashable, ValueCodable {
    /// The maker's number (Assigned Numbers, Company Identifiers).
    public var company: UInt16
    /// Its data, at most 255 bytes.
    public var data: [UInt8]

    /// Data.
    public init(company: UInt16, data: [UInt8]) {
        self.company = company
        self.data = data
    }

    /// The company, the number of bytes in one byte, and the bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        company = try reader.uint16()
        data = try reader.bytes(Int(try reader.uint8()))
    }

    /// The same.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint16(company)
        try writer.integer(data.count, .uint8)
        writer.bytes(data)
    }
}

/// Why an enhanced offset compensation failed.
public enum OffsetCompensationFailure: Hashable, Sendable {
    /// The crank was not where it should be.
    case incorrectCalibrationPosition
    /// For a reason that the maker tells.
    case manufacturerSpecific(CyclingPowerManufacturerData)
}

extension BLEError {
    /// Why an enhanced offset compensation failed; nil for other errors, and where the power meter does not tell.
    public var offsetCompensationFailure: OffsetCompensationFailure? {
        guard let answer = cause as? ControlPointError<CyclingPowerControlPointResult>, answer.opcode == 0x10,
            answer.result == .operationFailed
        else { return nil }
        switch answer.parameter.first {
        case 0x01: return .incorrectCalibrationPosition
        case 0xFF:
            let data = try? CyclingPowerManufacturerData(bytes: Array(answer.parameter.dropFirst()))
            return data.map { .manufacturerSpecific($0) }
        default: return nil
        }
    }
}

/// Fields that a power meter leaves out of its measurements.
public struct CyclingPowerContentMask: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Any bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// How the power is shared between the pedals.
    public static let pedalPowerBalance = CyclingPowerContentMask(rawValue: 1 << 0)
    /// The torque summed up.
    public static let accumulatedTorque = CyclingPowerContentMask(rawValue: 1 << 1)
    /// Revolutions of the wheel.
    public static let wheelRevolutions = CyclingPowerContentMask(rawValue: 1 << 2)
    /// Revolutions of the crank.
    public static let crankRevolutions = CyclingPowerContentMask(rawValue: 1 << 3)
    /// The greatest and least force or torque.
    public static let extremeMagnitudes = CyclingPowerContentMask(rawValue: 1 << 4)
    /// Their angles.
    public static let extremeAngles = CyclingPowerContentMask(rawValue: 1 << 5)
    /// The upper dead spot.
    public static let topDeadSpot = CyclingPowerContentMask(rawValue: 1 << 6)
    /// The lower dead spot.
    public static let bottomDeadSpot = CyclingPowerContentMask(rawValue: 1 << 7)
    /// The energy summed up.
    public static let accumulatedEnergy = CyclingPowerContentMask(rawValue: 1 << 8)
}

extension CyclingPowerContentMask: NamedConstants {
    static let names = bits(
        "pedalPowerBalance", "accumulatedTorque", "wheelRevolutions", "crankRevolutions", "extremeMagnitudes",
        "extremeAngles", "topDeadSpot", "bottomDeadSpot", "accumulatedEnergy")
}
