public import BLE

/// An event of a fitness machine (Fitness Machine Service 1.0, section 4.17).
public enum FitnessMachineStatus: Hashable, Codable, ValueCodable {
    /// The machine was reset.
    case reset
    /// The user stopped the machine.
    case stopped
    /// The user paused the machine.
    case paused
    /// The safety key stopped the machine.
    case stoppedBySafetyKey
    /// The user started or resumed the training.
    case startedOrResumed
    /// The target speed changed. It has a resolution of 0.01 km/h.
    case targetSpeed(kilometersPerHour: Double)
    /// The target inclination changed. It has a resolution of 0.1 %.
    case targetInclination(percent: Double)
    /// The target resistance level, without a unit, changed. It has a resolution of 0.1. `isWide` is true if the level
    /// was sent in two bytes, as by machines that also expect two bytes.
    case targetResistanceLevel(Double, isWide: Bool)
    /// The target power changed.
    case targetPower(watts: Int)
    /// The target heart rate changed.
    case targetHeartRate(beatsPerMinute: Int)
    /// The target for the energy expended changed.
    case targetedExpendedEnergy(kilocalories: Int)
    /// The target number of steps changed.
    case targetedStepCount(Int)
    /// The target number of strides changed.
    case targetedStrideCount(Int)
    /// The target distance changed.
    case targetedDistance(meters: Int)
    /// The target time changed.
    case targetedTrainingTime(seconds: Int)
    /// The target times in heart rate zones changed.
    case targetedTimes(HeartRateZoneTimes)
    /// The parameters of the simulated ride changed.
    case indoorBikeSimulation(IndoorBikeSimulation)
    /// The wheel circumference changed. It has a resolution of 0.1 mm.
    case wheelCircumference(millimeters: Double)
    /// The state of the spin down procedure changed.
    case spinDown(SpinDown)
    /// The target cadence changed. It has a resolution of 0.5.
    case targetedCadence(perMinute: Double)
    /// Control was lost. Request it again with ``FitnessMachine/requestControl()``.
    case controlPermissionLost
    /// An event from a later edition of the specification, or a stop event with a reserved parameter.
    case other(opcode: UInt8, parameter: [UInt8])

    /// The state of the spin down procedure. Other numbers are reserved.
    public struct SpinDown: RawRepresentable, Hashable, Codable, Sendable {
        /// The number.
        public let rawValue: UInt8
        /// Creates a value with any number.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The machine requests a spin down.
        public static let requested = SpinDown(rawValue: 1)
        /// The operation succeeded.
        public static let success = SpinDown(rawValue: 2)
        /// The operation failed.
        public static let error = SpinDown(rawValue: 3)
        /// The user should stop pedaling.
        public static let stopPedaling = SpinDown(rawValue: 4)
    }

    /// Decodes an opcode and its parameter.
    public init(from reader: inout ValueReader) throws(BLEError) {
        let opcode = try reader.uint8()
        switch opcode {
        case 0x01: self = .reset
        case 0x02:
            let information = try reader.uint8()
            switch information {
            case 1: self = .stopped
            case 2: self = .paused
            default: self = .other(opcode: opcode, parameter: [information])
            }
        case 0x03: self = .stoppedBySafetyKey
        case 0x04: self = .startedOrResumed
        case 0x05: self = .targetSpeed(kilometersPerHour: Double(try reader.uint16()) / 100)
        case 0x06: self = .targetInclination(percent: Double(try reader.int16()) / 10)
        case 0x07:
            let isWide = reader.remaining > 1
            let tenths = isWide ? Int(try reader.int16()) : Int(try reader.uint8())
            self = .targetResistanceLevel(Double(tenths) / 10, isWide: isWide)
        case 0x08: self = .targetPower(watts: Int(try reader.int16()))
        case 0x09: self = .targetHeartRate(beatsPerMinute: Int(try reader.uint8()))
        case 0x0A: self = .targetedExpendedEnergy(kilocalories: Int(try reader.uint16()))
        case 0x0B: self = .targetedStepCount(Int(try reader.uint16()))
        case 0x0C: self = .targetedStrideCount(Int(try reader.uint16()))
        case 0x0D: self = .targetedDistance(meters: Int(try reader.uint24()))
        case 0x0E: self = .targetedTrainingTime(seconds: Int(try reader.uint16()))
        case 0x0F: self = .targetedTimes(try HeartRateZoneTimes(zoneCount: 2, from: &reader))
        case 0x10: self = .targetedTimes(try HeartRateZoneTimes(zoneCount: 3, from: &reader))
        case 0x11: self = .targetedTimes(try HeartRateZoneTimes(zoneCount: 5, from: &reader))
        case 0x12: self = .indoorBikeSimulation(try IndoorBikeSimulation(from: &reader))
        case 0x13: self = .wheelCircumference(millimeters: Double(try reader.uint16()) / 10)
        case 0x14: self = .spinDown(try reader.raw())
        case 0x15: self = .targetedCadence(perMinute: Double(try reader.uint16()) / 2)
        case 0xFF: self = .controlPermissionLost
        default: self = .other(opcode: opcode, parameter: reader.rest())
        }
    }

    /// Encodes the event. Throws `invalidValue` for an `other` event that has its own case.
    public func encode(into writer: inout ValueWriter) throws(BLEError) {
        writer.uint8(opcode)
        switch self {
        case .reset, .stoppedBySafetyKey, .startedOrResumed, .controlPermissionLost: break
        case .stopped: writer.uint8(1)
        case .paused: writer.uint8(2)
        case .targetSpeed(let speed): try writer.rounded(speed * 100, .uint16)
        case .targetInclination(let percent): try writer.rounded(percent * 10, .int16)
        case .targetResistanceLevel(let level, let isWide): try writer.rounded(level * 10, isWide ? .int16 : .uint8)
        case .targetPower(let watts): try writer.integer(watts, .int16)
        case .targetHeartRate(let rate): try writer.integer(rate, .uint8)
        case .targetedExpendedEnergy(let number), .targetedStepCount(let number), .targetedStrideCount(let number),
            .targetedTrainingTime(let number):
            try writer.integer(number, .uint16)
        case .targetedDistance(let meters): try writer.integer(meters, .uint24)
        case .targetedTimes(let times): try times.encode(into: &writer)
        case .indoorBikeSimulation(let simulation): try simulation.encode(into: &writer)
        case .wheelCircumference(let millimeters): try writer.rounded(millimeters * 10, .uint16)
        case .spinDown(let status): writer.raw(status)
        case .targetedCadence(let cadence): try writer.rounded(cadence * 2, .uint16)
        case .other(let opcode, let parameter):
            let isReservedReason = opcode == 0x02 && parameter.count == 1 && ![1, 2].contains(parameter[0])
            guard isReservedReason || !(1...0x15 ~= opcode) && opcode != 0xFF else {
                throw BLEError(.invalidValue, "opcode \(opcode) has a case of its own; use it instead of other")
            }
            writer.bytes(parameter)
        }
    }

    private var opcode: UInt8 {
        switch self {
        case .reset: 0x01
        case .stopped, .paused: 0x02
        case .stoppedBySafetyKey: 0x03
        case .startedOrResumed: 0x04
        case .targetSpeed: 0x05
        case .targetInclination: 0x06
        case .targetResistanceLevel: 0x07
        case .targetPower: 0x08
        case .targetHeartRate: 0x09
        case .targetedExpendedEnergy: 0x0A
        case .targetedStepCount: 0x0B
        case .targetedStrideCount: 0x0C
        case .targetedDistance: 0x0D
        case .targetedTrainingTime: 0x0E
        case .targetedTimes(.two): 0x0F
        case .targetedTimes(.three): 0x10
        case .targetedTimes(.five): 0x11
        case .indoorBikeSimulation: 0x12
        case .wheelCircumference: 0x13
        case .spinDown: 0x14
        case .targetedCadence: 0x15
        case .controlPermissionLost: 0xFF
        case .other(let opcode, _): opcode
        }
    }
}

extension FitnessMachineStatus.SpinDown: NamedConstants {
    static let names = consecutive(from: 1, "requested", "success", "error", "stopPedaling")
}

extension Characteristic where Value == FitnessMachineStatus {
    /// The events of the machine (section 4.17).
    public static var fitnessMachineStatus: Self { Characteristic(BluetoothUUID(0x2ADA), service: .fitnessMachine) }
}
