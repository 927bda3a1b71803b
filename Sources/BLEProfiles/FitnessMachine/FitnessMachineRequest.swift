public import BLE

/// A request to the control point of a fitness machine (Fitness Machine Service 1.0, section 4.16.2).
///
/// The methods of ``FitnessMachineControl`` send requests. A machine that is simulated or hosted decodes them, and
/// answers with ``response(_:parameter:)``.
public enum FitnessMachineRequest: Hashable, Codable, ValueCodable {
    /// Request control.
    case requestControl
    /// Reset all settings, and end control.
    case reset
    /// Set the target speed, 0 to 655.35 with a resolution of 0.01 km/h.
    case setTargetSpeed(kilometersPerHour: Double)
    /// Set the target inclination, -3276.8 to 3276.7 with a resolution of 0.1 %.
    case setTargetInclination(percent: Double)
    /// Set the target resistance level, without a unit and with a resolution of 0.1. The level has one byte, for 0 to
    /// 25.5, or with `isWide` two bytes, for -3276.8 to 3276.7, which some machines require contrary to the
    /// specification.
    case setTargetResistanceLevel(Double, isWide: Bool)
    /// Set the target power in watts, -32768 to 32767.
    case setTargetPower(watts: Int)
    /// Set the target heart rate, 0 to 255 beats per minute.
    case setTargetHeartRate(beatsPerMinute: Int)
    /// Start or resume the training.
    case startOrResume
    /// Stop the training.
    case stop
    /// Pause the training.
    case pause
    /// Set the target for the energy expended in kilocalories, 0 to 65535.
    case setTargetedExpendedEnergy(kilocalories: Int)
    /// Set the target number of steps, 0 to 65535.
    case setTargetedStepCount(Int)
    /// Set the target number of strides, 0 to 65535.
    case setTargetedStrideCount(Int)
    /// Set the target distance in meters, 0 to 16,777,215.
    case setTargetedDistance(meters: Int)
    /// Set the target time in seconds, 0 to 65535.
    case setTargetedTrainingTime(seconds: Int)
    /// Set the target times in heart rate zones.
    case setTargetedTimes(HeartRateZoneTimes)
    /// Set the parameters of a simulated ride on an indoor bike.
    case setIndoorBikeSimulation(IndoorBikeSimulation)
    /// Set the wheel circumference, 0 to 6553.5 with a resolution of 0.1 mm.
    case setWheelCircumference(millimeters: Double)
    /// Start the spin down procedure. The response has a ``SpinDownTarget``.
    case startSpinDown
    /// Ignore the machine's request for a spin down.
    case ignoreSpinDown
    /// Set the target cadence, 0 to 32767.5 revolutions per minute with a resolution of 0.5.
    case setTargetedCadence(perMinute: Double)
    /// A request from a later edition of the specification, or a request to stop, pause or spin down with a reserved
    /// parameter.
    case other(opcode: UInt8, parameter: [UInt8])

    /// Decodes an opcode and its parameter.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let opcode = try reader.uint8()
        switch opcode {
        case 0x00: self = .requestControl
        case 0x01: self = .reset
        case 0x02: self = .setTargetSpeed(kilometersPerHour: Double(try reader.uint16()) / 100)
        case 0x03: self = .setTargetInclination(percent: Double(try reader.int16()) / 10)
        case 0x04:
            let isWide = reader.remaining > 1
            let tenths = isWide ? Int(try reader.int16()) : Int(try reader.uint8())
            self = .setTargetResistanceLevel(Double(tenths) / 10, isWide: isWide)
        case 0x05: self = .setTargetPower(watts: Int(try reader.int16()))
        case 0x06: self = .setTargetHeartRate(beatsPerMinute: Int(try reader.uint8()))
        case 0x07: self = .startOrResume
        case 0x08: self = Self.choice(opcode, try reader.uint8(), .stop, .pause)
        case 0x09: self = .setTargetedExpendedEnergy(kilocalories: Int(try reader.uint16()))
        case 0x0A: self = .setTargetedStepCount(Int(try reader.uint16()))
        case 0x0B: self = .setTargetedStrideCount(Int(try reader.uint16()))
        case 0x0C: self = .setTargetedDistance(meters: Int(try reader.uint24()))
        case 0x0D: self = .setTargetedTrainingTime(seconds: Int(try reader.uint16()))
        case 0x0E: self = .setTargetedTimes(try HeartRateZoneTimes(zoneCount: 2, from: &reader))
        case 0x0F: self = .setTargetedTimes(try HeartRateZoneTimes(zoneCount: 3, from: &reader))
        case 0x10: self = .setTargetedTimes(try HeartRateZoneTimes(zoneCount: 5, from: &reader))
        case 0x11: self = .setIndoorBikeSimulation(try IndoorBikeSimulation(from: &reader))
        case 0x12: self = .setWheelCircumference(millimeters: Double(try reader.uint16()) / 10)
        case 0x13: self = Self.choice(opcode, try reader.uint8(), .startSpinDown, .ignoreSpinDown)
        case 0x14: self = .setTargetedCadence(perMinute: Double(try reader.uint16()) / 2)
        default: self = .other(opcode: opcode, parameter: reader.rest())
        }
    }

    private static func choice(_ opcode: UInt8, _ number: UInt8, _ first: Self, _ second: Self) -> Self {
        number == 1 ? first : number == 2 ? second : .other(opcode: opcode, parameter: [number])
    }

    /// Encodes the request. Throws `invalidValue` for a number that is out of range of its field, and for an `other`
    /// request that has its own case.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(opcode)
        switch self {
        case .requestControl, .reset, .startOrResume: break
        case .stop, .startSpinDown: writer.uint8(1)
        case .pause, .ignoreSpinDown: writer.uint8(2)
        case .setTargetSpeed(let speed): try writer.rounded(speed * 100, .uint16)
        case .setTargetInclination(let percent): try writer.rounded(percent * 10, .int16)
        case .setTargetResistanceLevel(let level, let isWide):
            try writer.rounded(level * 10, isWide ? .int16 : .uint8)
        case .setTargetPower(let watts): try writer.integer(watts, .int16)
        case .setTargetHeartRate(let rate): try writer.integer(rate, .uint8)
        case .setTargetedExpendedEnergy(let number), .setTargetedStepCount(let number),
            .setTargetedStrideCount(let number), .setTargetedTrainingTime(let number):
            try writer.integer(number, .uint16)
        case .setTargetedDistance(let meters): try writer.integer(meters, .uint24)
        case .setTargetedTimes(let times): try times.encode(into: &writer)
        case .setIndoorBikeSimulation(let simulation): try simulation.encode(into: &writer)
        case .setWheelCircumference(let millimeters): try writer.rounded(millimeters * 10, .uint16)
        case .setTargetedCadence(let cadence): try writer.rounded(cadence * 2, .uint16)
        case .other(let opcode, let parameter):
            let isReservedChoice =
                [0x08, 0x13].contains(opcode) && parameter.count == 1 && ![[1], [2]].contains(parameter)
            guard isReservedChoice || opcode > 0x14 else {
                throw BLEError(.invalidValue, "opcode \(opcode) has a case of its own; use it instead of other")
            }
            writer.bytes(parameter)
        }
    }

    /// The opcode, which is the first byte of a request.
    public var opcode: UInt8 {
        switch self {
        case .requestControl: 0x00
        case .reset: 0x01
        case .setTargetSpeed: 0x02
        case .setTargetInclination: 0x03
        case .setTargetResistanceLevel: 0x04
        case .setTargetPower: 0x05
        case .setTargetHeartRate: 0x06
        case .startOrResume: 0x07
        case .stop, .pause: 0x08
        case .setTargetedExpendedEnergy: 0x09
        case .setTargetedStepCount: 0x0A
        case .setTargetedStrideCount: 0x0B
        case .setTargetedDistance: 0x0C
        case .setTargetedTrainingTime: 0x0D
        case .setTargetedTimes(.two): 0x0E
        case .setTargetedTimes(.three): 0x0F
        case .setTargetedTimes(.five): 0x10
        case .setIndoorBikeSimulation: 0x11
        case .setWheelCircumference: 0x12
        case .startSpinDown, .ignoreSpinDown: 0x13
        case .setTargetedCadence: 0x14
        case .other(let opcode, _): opcode
        }
    }

    /// Returns the bytes that a machine indicates when the request is complete.
    public func response(_ result: FitnessMachineResult, parameter: [UInt8] = []) -> [UInt8] {
        [0x80, opcode, result.rawValue] + parameter
    }
}

extension Characteristic where Value == FitnessMachineRequest {
    /// The control point, which indicates the results of requests (section 4.16).
    public static var fitnessMachineControlPoint: Self {
        Characteristic(BluetoothUUID(0x2AD9), service: .fitnessMachine)
    }
}
