public import BLE

/// Controls a fitness machine (Fitness Machine Service 1.0, section 4.16). Created by
/// ``FitnessMachine/requestControl()``.
///
/// All procedures throw `procedureFailed` with a ``FitnessMachineResult`` if the machine cannot perform the procedure,
/// for example ``FitnessMachineResult/controlNotPermitted`` if control was lost; `timedOut` if the machine does not
/// answer within 30 s; `characteristicNotFound` if it has no control point; and `invalidArgument` for a number that is
/// out of range of its field. ``FitnessMachineFeature`` and the supported ranges describe the settings that a machine
/// accepts.
public struct FitnessMachineControl: Sendable {
    private let service: PeripheralService
    private let controlPoint: ControlPoint<FitnessMachineResult>

    init(of service: PeripheralService) {
        self.service = service
        controlPoint = ControlPoint(
            Characteristic.fitnessMachineControlPoint.uuid, of: service, responseOpcode: 0x80)
    }

    /// Requests control again after it was lost.
    public func request() async throws(BLEError) { try await perform(.requestControl) }

    /// Resets all settings, and ends control.
    public func reset() async throws(BLEError) { try await perform(.reset) }

    /// Sets the target speed in kilometers per hour, 0 to 655.35, rounded to hundredths.
    public func setTargetSpeed(kilometersPerHour: Double) async throws(BLEError) {
        try await perform(.setTargetSpeed(kilometersPerHour: kilometersPerHour))
    }

    /// Sets the target inclination in percent, -3276.8 to 3276.7, rounded to tenths.
    public func setTargetInclination(percent: Double) async throws(BLEError) {
        try await perform(.setTargetInclination(percent: percent))
    }

    /// Sets the target resistance level, without a unit, rounded to tenths.
    ///
    /// - Parameter isWide: whether to send two bytes, for levels from -3276.8 to 3276.7, which some machines require
    ///   contrary to the specification. If false, one byte is sent, for levels from 0 to 25.5.
    public func setTargetResistanceLevel(_ level: Double, isWide: Bool = false) async throws(BLEError) {
        try await perform(.setTargetResistanceLevel(level, isWide: isWide))
    }

    /// Sets the target power in watts, -32768 to 32767.
    public func setTargetPower(watts: Int) async throws(BLEError) {
        try await perform(.setTargetPower(watts: watts))
    }

    /// Sets the target heart rate in beats per minute, 0 to 255.
    public func setTargetHeartRate(beatsPerMinute: Int) async throws(BLEError) {
        try await perform(.setTargetHeartRate(beatsPerMinute: beatsPerMinute))
    }

    /// Starts or resumes the training.
    public func startOrResume() async throws(BLEError) { try await perform(.startOrResume) }

    /// Stops the training.
    public func stop() async throws(BLEError) { try await perform(.stop) }

    /// Pauses the training.
    public func pause() async throws(BLEError) { try await perform(.pause) }

    /// Sets the target for the energy expended in kilocalories, 0 to 65535.
    public func setTargetedExpendedEnergy(kilocalories: Int) async throws(BLEError) {
        try await perform(.setTargetedExpendedEnergy(kilocalories: kilocalories))
    }

    /// Sets the target number of steps, 0 to 65535.
    public func setTargetedStepCount(_ count: Int) async throws(BLEError) {
        try await perform(.setTargetedStepCount(count))
    }

    /// Sets the target number of strides, 0 to 65535.
    public func setTargetedStrideCount(_ count: Int) async throws(BLEError) {
        try await perform(.setTargetedStrideCount(count))
    }

    /// Sets the target distance in meters, 0 to 16,777,215.
    public func setTargetedDistance(meters: Int) async throws(BLEError) {
        try await perform(.setTargetedDistance(meters: meters))
    }

    /// Sets the target time in seconds, 0 to 65535.
    public func setTargetedTrainingTime(seconds: Int) async throws(BLEError) {
        try await perform(.setTargetedTrainingTime(seconds: seconds))
    }

    /// Sets the target times in two, three or five heart rate zones.
    public func setTargetedTimes(_ times: HeartRateZoneTimes) async throws(BLEError) {
        try await perform(.setTargetedTimes(times))
    }

    /// Sets the parameters of a simulated ride on an indoor bike.
    public func setIndoorBikeSimulation(_ simulation: IndoorBikeSimulation) async throws(BLEError) {
        try await perform(.setIndoorBikeSimulation(simulation))
    }

    /// Sets the wheel circumference in millimeters, 0 to 6553.5, rounded to tenths.
    public func setWheelCircumference(millimeters: Double) async throws(BLEError) {
        try await perform(.setWheelCircumference(millimeters: millimeters))
    }

    /// Starts the spin down procedure, and returns the speeds between which the user should let the wheel spin down.
    /// ``FitnessMachineStatus/spinDown(_:)`` reports the result.
    public func startSpinDown() async throws(BLEError) -> SpinDownTarget {
        let answer = try await perform(.startSpinDown)
        do throws(BLEError) {
            return try SpinDownTarget(bytes: answer)
        } catch {
            throw error.at(
                service.peripheral.id, service: service.uuid,
                characteristic: Characteristic.fitnessMachineControlPoint.uuid)
        }
    }

    /// Ignores the machine's request for a spin down.
    public func ignoreSpinDown() async throws(BLEError) { try await perform(.ignoreSpinDown) }

    /// Sets the target cadence in revolutions per minute, 0 to 32767.5, rounded to halves.
    public func setTargetedCadence(perMinute: Double) async throws(BLEError) {
        try await perform(.setTargetedCadence(perMinute: perMinute))
    }

    @discardableResult
    private func perform(_ request: FitnessMachineRequest) async throws(BLEError) -> [UInt8] {
        try await controlPoint.send(request)
    }
}

/// The result code of a fitness machine's control point (section 4.16.2). Other numbers are reserved.
public struct FitnessMachineResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The operation succeeded.
    public static let success = FitnessMachineResult(rawValue: 1)
    /// The machine does not support the procedure.
    public static let opCodeNotSupported = FitnessMachineResult(rawValue: 2)
    /// The machine does not accept the parameter.
    public static let invalidParameter = FitnessMachineResult(rawValue: 3)
    /// The operation failed.
    public static let operationFailed = FitnessMachineResult(rawValue: 4)
    /// Control was not requested, or was lost.
    public static let controlNotPermitted = FitnessMachineResult(rawValue: 5)

    /// A short description. Nil for a reserved number.
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

extension FitnessMachineResult: NamedConstants {
    static let names = consecutive(
        from: 1, "success", "opCodeNotSupported", "invalidParameter", "operationFailed", "controlNotPermitted")
}
