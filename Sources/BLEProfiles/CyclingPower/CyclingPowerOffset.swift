public import BLE

/// A value measured without a load: a force or a torque, depending on ``CyclingPowerFeature/measuresTorque``.
public struct CyclingPowerOffset: Hashable, Codable, Sendable {
    /// The number, as sent.
    public var rawValue: Int16

    /// Creates an offset.
    public init(rawValue: Int16) { self.rawValue = rawValue }

    /// The force in newtons, if the power meter measures a force.
    public var forceNewtons: Int { Int(rawValue) }
    /// The torque in newton meters, with a resolution of 1/32, if the power meter measures a torque.
    public var torqueNewtonMeters: Double { Double(rawValue) / 32 }
}

/// The answer to an enhanced offset compensation.
public struct EnhancedOffsetCompensation: Hashable, Codable, ValueCodable {
    /// The value measured without a load.
    public var offset: CyclingPowerOffset
    /// The manufacturer's data. Nil if not sent.
    public var manufacturerData: CyclingPowerManufacturerData?

    /// Creates an answer.
    public init(offset: CyclingPowerOffset, manufacturerData: CyclingPowerManufacturerData? = nil) {
        self.offset = offset
        self.manufacturerData = manufacturerData
    }

    /// Decodes the offset, and the manufacturer's data if there is any.
    public init(from reader: inout ValueReader) throws(BLEError) {
        offset = CyclingPowerOffset(rawValue: try reader.int16())
        manufacturerData = reader.remaining > 0 ? try CyclingPowerManufacturerData(from: &reader) : nil
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.integer(offset.rawValue)
        try manufacturerData?.encode(into: &writer)
    }
}

/// The manufacturer's data in an answer of the control point.
public struct CyclingPowerManufacturerData: Hashable, Codable, ValueCodable {
    /// The manufacturer's number (Assigned Numbers, Company Identifiers).
    public var company: UInt16
    /// The data, at most 255 bytes.
    public var data: [UInt8]

    /// Creates the data.
    public init(company: UInt16, data: [UInt8]) {
        self.company = company
        self.data = data
    }

    /// Decodes the company, the number of bytes as one byte, and the bytes.
    public init(from reader: inout ValueReader) throws(BLEError) {
        company = try reader.uint16()
        data = try reader.bytes(Int(try reader.uint8()))
    }

    /// Encodes the value in the format that `init(from:)` decodes.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint16(company)
        try writer.integer(data.count, .uint8)
        writer.bytes(data)
    }
}

/// The reason for a failed enhanced offset compensation.
public enum OffsetCompensationFailure: Hashable, Codable, Sendable {
    /// The crank was not in the correct position.
    case incorrectCalibrationPosition
    /// A manufacturer-specific reason.
    case manufacturerSpecific(CyclingPowerManufacturerData)

    private enum ManufacturerSpecificCodingKeys: String, CodingKey {
        case _0 = "data"
    }
}

extension BLEError {
    /// The reason for a failed enhanced offset compensation. Nil for other errors, and if the power meter does not send
    /// the reason.
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

/// The fields that a power meter omits from its measurements.
public struct CyclingPowerContentMask: OptionSet, Hashable, Codable, Sendable {
    /// The bits.
    public let rawValue: UInt16
    /// Creates a set from its bits.
    public init(rawValue: UInt16) { self.rawValue = rawValue }

    /// The balance between the pedals.
    public static let pedalPowerBalance = CyclingPowerContentMask(rawValue: 1 << 0)
    /// The accumulated torque.
    public static let accumulatedTorque = CyclingPowerContentMask(rawValue: 1 << 1)
    /// The wheel revolutions.
    public static let wheelRevolutions = CyclingPowerContentMask(rawValue: 1 << 2)
    /// The crank revolutions.
    public static let crankRevolutions = CyclingPowerContentMask(rawValue: 1 << 3)
    /// The maximum and minimum force or torque.
    public static let extremeMagnitudes = CyclingPowerContentMask(rawValue: 1 << 4)
    /// The angles of the maximum and the minimum.
    public static let extremeAngles = CyclingPowerContentMask(rawValue: 1 << 5)
    /// The top dead spot.
    public static let topDeadSpot = CyclingPowerContentMask(rawValue: 1 << 6)
    /// The bottom dead spot.
    public static let bottomDeadSpot = CyclingPowerContentMask(rawValue: 1 << 7)
    /// The accumulated energy.
    public static let accumulatedEnergy = CyclingPowerContentMask(rawValue: 1 << 8)
}

extension CyclingPowerContentMask: NamedConstants {
    static let names = bits(
        "pedalPowerBalance", "accumulatedTorque", "wheelRevolutions", "crankRevolutions", "extremeMagnitudes",
        "extremeAngles", "topDeadSpot", "bottomDeadSpot", "accumulatedEnergy")
}
