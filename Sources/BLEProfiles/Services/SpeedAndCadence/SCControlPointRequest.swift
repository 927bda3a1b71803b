public import BLE

/// What a sensor of speed and cadence is told to do (GATT Specification Supplement, SC Control Point).
///
/// The methods of ``SCControlPoint`` send these. A sensor that is simulated, or played by this host, decodes what it is sent and answers
/// with ``response(_:parameter:)``.
public enum SCControlPointRequest: Hashable, ValueCodable {
    /// Go on from a number: of wheel revolutions when cycling, of tenths of a metre when running.
    case setCumulativeValue(UInt32)
    /// Calibrate the sensor.
    case startSensorCalibration
    /// The sensor sits elsewhere.
    case updateSensorLocation(SensorLocation)
    /// Tell where the sensor may be put; the response has a byte for each place.
    case supportedSensorLocations
    /// Something of a later edition.
    case other(opcode: UInt8, parameter: [UInt8])

    /// An opcode and its parameter.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let opcode = try reader.uint8()
        switch opcode {
        case 1: self = .setCumulativeValue(try reader.uint32())
        case 2: self = .startSensorCalibration
        case 3: self = .updateSensorLocation(try reader.raw())
        case 4: self = .supportedSensorLocations
        default: self = .other(opcode: opcode, parameter: reader.rest())
        }
    }

    /// The same. Throws `invalidValue` for something `other` that has a case of its own.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(opcode)
        switch self {
        case .setCumulativeValue(let value): writer.uint32(value)
        case .updateSensorLocation(let location): writer.raw(location)
        case .startSensorCalibration, .supportedSensorLocations: break
        case .other(let opcode, let parameter):
            guard !(1...4 ~= opcode) else {
                throw BLEError(.invalidValue, "the opcode \(opcode) is not of a later edition")
            }
            writer.bytes(parameter)
        }
    }

    /// The number of the procedure, with which a request begins.
    public var opcode: UInt8 {
        switch self {
        case .setCumulativeValue: 1
        case .startSensorCalibration: 2
        case .updateSensorLocation: 3
        case .supportedSensorLocations: 4
        case .other(let opcode, _): opcode
        }
    }

    /// The bytes that a sensor indicates when it is done with the request.
    public func response(_ result: SCControlPointResult, parameter: [UInt8] = []) -> [UInt8] {
        [0x10, opcode, result.rawValue] + parameter
    }
}

extension Characteristic where Value == SCControlPointRequest {
    /// Takes requests, and indicates how they went, in whichever service has it: Cycling or Running Speed and Cadence.
    public static var scControlPoint: Self { Characteristic(BluetoothUUID(0x2A55)) }
}
