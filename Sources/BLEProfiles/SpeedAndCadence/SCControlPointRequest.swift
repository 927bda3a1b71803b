public import BLE

/// A request to the control point of a speed and cadence sensor (GATT Specification Supplement, SC Control Point).
///
/// The methods of ``SCControlPoint`` send requests. A simulated or hosted sensor decodes them and responds with
/// ``response(_:parameter:)``.
public enum SCControlPointRequest: Hashable, Codable, ValueCodable {
    /// Set the cumulative value: wheel revolutions for cycling, tenths of a meter for running.
    case setCumulativeValue(UInt32)
    /// Calibrate the sensor.
    case startSensorCalibration
    /// Update the location of the sensor.
    case updateSensorLocation(SensorLocation)
    /// Request the supported locations. The response contains one byte for each.
    case supportedSensorLocations
    /// A request from a later version of the specification.
    case other(opcode: UInt8, parameter: [UInt8])

    /// Decodes an opcode and its parameter.
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

    /// Encodes the value. Throws `invalidValue` for an `other` whose opcode has a case of its own.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(opcode)
        switch self {
        case .setCumulativeValue(let value): writer.uint32(value)
        case .updateSensorLocation(let location): writer.raw(location)
        case .startSensorCalibration, .supportedSensorLocations: break
        case .other(let opcode, let parameter):
            guard !(1...4 ~= opcode) else {
                throw BLEError(.invalidValue, "opcode \(opcode) has a case of its own; use it instead of other")
            }
            writer.bytes(parameter)
        }
    }

    /// The opcode, which is the first byte of a request.
    public var opcode: UInt8 {
        switch self {
        case .setCumulativeValue: 1
        case .startSensorCalibration: 2
        case .updateSensorLocation: 3
        case .supportedSensorLocations: 4
        case .other(let opcode, _): opcode
        }
    }

    /// Returns the bytes that a sensor indicates when the request is complete.
    public func response(_ result: SCControlPointResult, parameter: [UInt8] = []) -> [UInt8] {
        [0x10, opcode, result.rawValue] + parameter
    }
}

extension Characteristic where Value == SCControlPointRequest {
    /// The SC Control Point of the Cycling Speed and Cadence or the Running Speed and Cadence service.
    public static var scControlPoint: Self { Characteristic(BluetoothUUID(0x2A55)) }
}
