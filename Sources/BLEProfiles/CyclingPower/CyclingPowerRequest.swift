public import BLE

/// A request to the control point of a power meter (Cycling Power Service 1.1, Cycling Power Control Point).
///
/// The methods of ``CyclingPowerControlPoint`` send requests. A power meter that is simulated or hosted decodes them,
/// and answers with ``response(_:parameter:)``.
public enum CyclingPowerRequest: Hashable, Codable, ValueCodable {
    /// Set the number of wheel revolutions.
    case setWheelRevolutions(UInt32)
    /// Update the location of the sensor.
    case updateSensorLocation(SensorLocation)
    /// Request the supported locations. The response has a byte for each of them.
    case supportedSensorLocations
    /// Set the crank length, 0 to 32767.5 mm with a resolution of 0.5 mm.
    case setCrankLength(millimeters: Double)
    /// Request the crank length. The response has two bytes.
    case crankLength
    /// Set the chain length, 0 to 65535 mm.
    case setChainLength(millimeters: Int)
    /// Request the chain length. The response has two bytes.
    case chainLength
    /// Set the chain weight, 0 to 65535 g.
    case setChainWeight(grams: Int)
    /// Request the chain weight. The response has two bytes.
    case chainWeight
    /// Set the span length, 0 to 65535 mm.
    case setSpanLength(millimeters: Int)
    /// Request the span length. The response has two bytes.
    case spanLength
    /// Compensate the offset. The response has a ``CyclingPowerOffset``.
    case startOffsetCompensation
    /// Omit fields from the measurements.
    case maskMeasurementContent(CyclingPowerContentMask)
    /// Request the sampling rate. The response has a byte, in hertz.
    case samplingRate
    /// Request the date of the factory calibration. The response has a ``DateTime``.
    case factoryCalibrationDate
    /// Compensate the offset with more details. The response has an ``EnhancedOffsetCompensation``.
    case startEnhancedOffsetCompensation
    /// A request from a later version of the specification.
    case other(opcode: UInt8, parameter: [UInt8])

    /// Decodes an opcode and its parameter.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let opcode = try reader.uint8()
        switch opcode {
        case 0x01: self = .setWheelRevolutions(try reader.uint32())
        case 0x02: self = .updateSensorLocation(try reader.raw())
        case 0x03: self = .supportedSensorLocations
        case 0x04: self = .setCrankLength(millimeters: Double(try reader.uint16()) / 2)
        case 0x05: self = .crankLength
        case 0x06: self = .setChainLength(millimeters: Int(try reader.uint16()))
        case 0x07: self = .chainLength
        case 0x08: self = .setChainWeight(grams: Int(try reader.uint16()))
        case 0x09: self = .chainWeight
        case 0x0A: self = .setSpanLength(millimeters: Int(try reader.uint16()))
        case 0x0B: self = .spanLength
        case 0x0C: self = .startOffsetCompensation
        case 0x0D: self = .maskMeasurementContent(try reader.raw())
        case 0x0E: self = .samplingRate
        case 0x0F: self = .factoryCalibrationDate
        case 0x10: self = .startEnhancedOffsetCompensation
        default: self = .other(opcode: opcode, parameter: reader.rest())
        }
    }

    /// Encodes the request. Throws `invalidValue` for a number that is out of range of its field, and for an `other`
    /// request that has its own case.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(opcode)
        switch self {
        case .setWheelRevolutions(let count): writer.uint32(count)
        case .updateSensorLocation(let location): writer.raw(location)
        case .setCrankLength(let millimeters): try writer.rounded(millimeters * 2, .uint16)
        case .setChainLength(let number), .setChainWeight(let number), .setSpanLength(let number):
            try writer.integer(number, .uint16)
        case .maskMeasurementContent(let mask): writer.raw(mask)
        case .supportedSensorLocations, .crankLength, .chainLength, .chainWeight, .spanLength, .startOffsetCompensation,
            .samplingRate, .factoryCalibrationDate, .startEnhancedOffsetCompensation:
            break
        case .other(let opcode, let parameter):
            guard !(0x01...0x10 ~= opcode) else {
                throw BLEError(.invalidValue, "opcode \(opcode) has a case of its own; use it instead of other")
            }
            writer.bytes(parameter)
        }
    }

    /// The opcode, which is the first byte of a request.
    public var opcode: UInt8 {
        switch self {
        case .setWheelRevolutions: 0x01
        case .updateSensorLocation: 0x02
        case .supportedSensorLocations: 0x03
        case .setCrankLength: 0x04
        case .crankLength: 0x05
        case .setChainLength: 0x06
        case .chainLength: 0x07
        case .setChainWeight: 0x08
        case .chainWeight: 0x09
        case .setSpanLength: 0x0A
        case .spanLength: 0x0B
        case .startOffsetCompensation: 0x0C
        case .maskMeasurementContent: 0x0D
        case .samplingRate: 0x0E
        case .factoryCalibrationDate: 0x0F
        case .startEnhancedOffsetCompensation: 0x10
        case .other(let opcode, _): opcode
        }
    }

    /// Returns the bytes that a power meter indicates when the request is complete.
    public func response(_ result: CyclingPowerControlPointResult, parameter: [UInt8] = []) -> [UInt8] {
        [0x20, opcode, result.rawValue] + parameter
    }
}

extension Characteristic where Value == CyclingPowerRequest {
    /// The control point, which indicates the results of requests.
    public static var cyclingPowerControlPoint: Self { Characteristic(BluetoothUUID(0x2A66), service: .cyclingPower) }
}
