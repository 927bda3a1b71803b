public import BLE

/// The control of a fitness machine (Fitness Machine Service 1.0, section 4.16), which ``FitnessMachine/requestControl()`` asks
/// for.
///
/// Every procedure throws `procedureFailed` with a ``FitnessMachineResult`` when the machine cannot do it, among them
/// ``FitnessMachineResult/controlNotPermitted`` when control was lost; `timedOut` when it does not answer within 30 s;
/// `characteristicNotFound` for a machine that cannot be told anything; and `invalidArgument` for a number that no field holds.
/// ``FitnessMachineFeature`` and the supported ranges tell what a machine takes.
public struct FitnessMachineControl: Sendable {
    private let service: PeripheralService
    private let controlPoint: ControlPoint<FitnessMachineResult>

    init(of service: PeripheralService) {
        self.service = service
        controlPoint = ControlPoint(Self.uuid, of: service, responseOpcode: 0x80)
    }

    /// 0x2AD9.
    public static let uuid = BluetoothUUID(0x2AD9)

    /// Asks for the control again, once it was lost.
    public func request() async throws(BLEError) { try await controlPoint.perform(0x00) }

    /// Sets all settings back. Control is lost with it.
    public func reset() async throws(BLEError) { try await controlPoint.perform(0x01) }

    /// Sets a speed in kilometres per hour, 0 to 655.35, to the nearest hundredth.
    public func setTargetSpeed(kilometersPerHour: Double) async throws(BLEError) {
        try await perform(0x02, kilometersPerHour * 100, .uint16)
    }

    /// Sets an inclination in percent, -3276.8 to 3276.7, to the nearest tenth.
    public func setTargetInclination(percent: Double) async throws(BLEError) {
        try await perform(0x03, percent * 10, .int16)
    }

    /// Sets a resistance level, without a unit, to the nearest tenth.
    ///
    /// - Parameter isWide: sends two bytes, for levels from -3276.8 to 3276.7, as some machines want against the specification; else
    ///   one, for levels from 0 to 25.5.
    public func setTargetResistanceLevel(_ level: Double, isWide: Bool = false) async throws(BLEError) {
        try await perform(0x04, level * 10, isWide ? .int16 : .uint8)
    }

    /// Sets a power in watts, -32768 to 32767.
    public func setTargetPower(watts: Int) async throws(BLEError) { try await perform(0x05, Double(watts), .int16) }

    /// Sets a heart rate in beats per minute, 0 to 255.
    public func setTargetHeartRate(beatsPerMinute: Int) async throws(BLEError) {
        try await perform(0x06, Double(beatsPerMinute), .uint8)
    }

    /// Starts or resumes the training.
    public func startOrResume() async throws(BLEError) { try await controlPoint.perform(0x07) }

    /// Stops the training.
    public func stop() async throws(BLEError) { try await controlPoint.perform(0x08, [1]) }

    /// Pauses the training.
    public func pause() async throws(BLEError) { try await controlPoint.perform(0x08, [2]) }

    /// Sets an energy to expend in kilocalories, 0 to 65535.
    public func setTargetedExpendedEnergy(kilocalories: Int) async throws(BLEError) {
        try await perform(0x09, Double(kilocalories), .uint16)
    }

    /// Sets a number of steps, 0 to 65535.
    public func setTargetedStepCount(_ count: Int) async throws(BLEError) {
        try await perform(0x0A, Double(count), .uint16)
    }

    /// Sets a number of strides, 0 to 65535.
    public func setTargetedStrideCount(_ count: Int) async throws(BLEError) {
        try await perform(0x0B, Double(count), .uint16)
    }

    /// Sets a distance in metres, 0 to 16,777,215.
    public func setTargetedDistance(meters: Int) async throws(BLEError) {
        try await perform(0x0C, Double(meters), .uint24)
    }

    /// Sets a time in seconds, 0 to 65535.
    public func setTargetedTrainingTime(seconds: Int) async throws(BLEError) {
        try await perform(0x0D, Double(seconds), .uint16)
    }

    /// Sets times in two, three or five zones of the heart rate.
    public func setTargetedTimes(_ times: HeartRateZoneTimes) async throws(BLEError) {
        let opcode: UInt8 =
            switch times {
            case .two: 0x0E
            case .three: 0x0F
            case .five: 0x10
            }
        try await controlPoint.perform(
            opcode, try parameter { (writer) throws(BLEError) in try times.encode(into: &writer) })
    }

    /// Sets the ride that an indoor bike simulates.
    public func setIndoorBikeSimulation(_ simulation: IndoorBikeSimulation) async throws(BLEError) {
        try await controlPoint.perform(
            0x11, try parameter { (writer) throws(BLEError) in try simulation.encode(into: &writer) })
    }

    /// Sets the circumference of the wheel in millimetres, 0 to 6553.5, to the nearest tenth.
    public func setWheelCircumference(millimeters: Double) async throws(BLEError) {
        try await perform(0x12, millimeters * 10, .uint16)
    }

    /// Starts the spin down procedure, and returns between which speeds the user is to let the wheel spin down. How it ends is told by
    /// ``FitnessMachineStatus/spinDown(_:)``.
    public func startSpinDown() async throws(BLEError) -> SpinDownTarget {
        let answer = try await controlPoint.perform(0x13, [1])
        do throws(BLEError) {
            return try SpinDownTarget(bytes: answer)
        } catch {
            throw error.at(service.peripheral.id, service: service.uuid, characteristic: Self.uuid)
        }
    }

    /// Lets the machine's request for a spin down pass.
    public func ignoreSpinDown() async throws(BLEError) { try await controlPoint.perform(0x13, [2]) }

    /// Sets a cadence in revolutions per minute, 0 to 32767.5, to the nearest half.
    public func setTargetedCadence(perMinute: Double) async throws(BLEError) {
        try await perform(0x14, perMinute * 2, .uint16)
    }

    private func perform(_ opcode: UInt8, _ number: Double, _ format: IntegerFormat) async throws(BLEError) {
        try await controlPoint.perform(
            opcode, try parameter { (writer) throws(BLEError) in try writer.rounded(number, format) })
    }

    /// What `write` writes; what it cannot is the caller's mistake.
    private func parameter(
        _ write: (inout ValueWriter) throws(BLEError) -> Void
    ) throws(BLEError) -> [UInt8] {
        var writer = ValueWriter()
        do throws(BLEError) {
            try write(&writer)
        } catch {
            throw BLEError(.invalidArgument, error.message)
        }
        return writer.bytes
    }
}

/// What a fitness machine answers to one who tells it what to do (section 4.16.2). Other numbers are reserved.
public struct FitnessMachineResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It is done.
    public static let success = FitnessMachineResult(rawValue: 1)
    /// The machine does not know the procedure.
    public static let opCodeNotSupported = FitnessMachineResult(rawValue: 2)
    /// The parameter is not one that the machine takes.
    public static let invalidParameter = FitnessMachineResult(rawValue: 3)
    /// It went wrong.
    public static let operationFailed = FitnessMachineResult(rawValue: 4)
    /// Control was not asked for, or is lost.
    public static let controlNotPermitted = FitnessMachineResult(rawValue: 5)

    /// A few words for a person; nil for a reserved number.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .opCodeNotSupported: "op code not supported"
        case .invalidParameter: "invalid parameter"
        case .operationFailed: "operation failed"
        case .controlNotPermitted: "control not permitted"
        default: nil
        }
    }
}
