public import BLE

/// What a power meter is told to do (Cycling Power Service 1.1, Cycling Power Control Point).
///
/// The methods of ``CyclingPowerControlPoint`` send these. A power meter that is simulated, or played by this host, decodes what it is
/// sent and answers with ``response(_:parameter:)``.
public enum CyclingPowerRequest: Hashable, ValueCodable {
    /// Go on from a number of wheel revolutions.
    case setWheelRevolutions(UInt32)
    /// The sensor sits elsewhere.
    case updateSensorLocation(SensorLocation)
    /// Tell where the sensor may be put; the response has a byte for each place.
    case supportedSensorLocations
    /// The crank has another length, 0 to 32767.5 mm with a resolution of 0.5 mm.
    case setCrankLength(millimeters: Double)
    /// Tell the length of the crank; the response has two bytes.
    case crankLength
    /// The chain has another length, 0 to 65535 mm.
    case setChainLength(millimeters: Int)
    /// Tell the length of the chain; the response has two bytes.
    case chainLength
    /// The chain has another weight, 0 to 65535 g.
    case setChainWeight(grams: Int)
    /// Tell the weight of the chain; the response has two bytes.
    case chainWeight
    /// The span has another length, 0 to 65535 mm.
    case setSpanLength(millimeters: Int)
    /// Tell the length of the span; the response has two bytes.
    case spanLength
    /// Compensate the offset; the response has a ``CyclingPowerOffset``.
    case startOffsetCompensation
    /// Leave fields out of the measurements.
    case maskMeasurementContent(CyclingPowerContentMask)
    /// Tell how often the sensor measures; the response has a byte, in hertz.
    case samplingRate
    /// Tell when the sensor was calibrated in its factory; the response has a ``DateTime``.
    case factoryCalibrationDate
    /// Compensate the offset and tell more of it; the response has an ``EnhancedOffsetCompensation``.
    case startEnhancedOffsetCompensation
    /// Something of a later edition.
    case other(opcode: UInt8, parameter: [UInt8])

    /// An opcode and its parameter.
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

    /// The same. Throws `invalidValue` for a number that its field cannot hold, and for something `other` that has a case of its own.
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
                throw BLEError(.invalidValue, "the opcode \(opcode) is not of a later edition")
            }
            writer.bytes(parameter)
        }
    }

    /// The number of the procedure, with which a request begins.
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

    /// The bytes that a power meter indicates when it is done with the request.
    public func response(_ result: CyclingPowerControlPointResult, parameter: [UInt8] = []) -> [UInt8] {
        [0x20, opcode, result.rawValue] + parameter
    }
}

extension Characteristic where Value == CyclingPowerRequest {
    /// Takes requests, and indicates how they went.
    public static var cyclingPowerControlPoint: Self { Characteristic(BluetoothUUID(0x2A66), service: .cyclingPower) }
}
