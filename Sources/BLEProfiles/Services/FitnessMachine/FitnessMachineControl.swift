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
        controlPoint = ControlPoint(
            Characteristic.fitnessMachineControlPoint.uuid, of: service, responseOpcode: 0x80)
    }

    /// Asks for the control again, once it was lost.
    public func request() async throws(BLEError) { try await perform(.requestControl) }

    /// Sets all settings back. Control is lost with it.
    public func reset() async throws(BLEError) { try await perform(.reset) }

    /// Sets a speed in kilometres per hour, 0 to 655.35, to the nearest hundredth.
    public func setTargetSpeed(kilometersPerHour: Double) async throws(BLEError) {
        try await perform(.setTargetSpeed(kilometersPerHour: kilometersPerHour))
    }

    /// Sets an inclination in percent, -3276.8 to 3276.7, to the nearest tenth.
    public func setTargetInclination(percent: Double) async throws(BLEError) {
        try await perform(.setTargetInclination(percent: percent))
    }

    /// Sets a resistance level, without a unit, to the nearest tenth.
    ///
    /// - Parameter isWide: sends two bytes, for levels from -3276.8 to 3276.7, as some machines want against the specification; else
    ///   one, for levels from 0 to 25.5.
    public func setTargetResistanceLevel(_ level: Double, isWide: Bool = false) async throws(BLEError) {
        try await perform(.setTargetResistanceLevel(level, isWide: isWide))
    }

    /// Sets a power in watts, -32768 to 32767.
    public func setTargetPower(watts: Int) async throws(BLEError) {
        try await perform(.setTargetPower(watts: watts))
    }

    /// Sets a heart rate in beats per minute, 0 to 255.
    public func setTargetHeartRate(beatsPerMinute: Int) async throws(BLEError) {
        try await perform(.setTargetHeartRate(beatsPerMinute: beatsPerMinute))
    }

    /// Starts or resumes the training.
    public func startOrResume() async throws(BLEError) { try await perform(.startOrResume) }

    /// Stops the training.
    public func stop() async throws(BLEError) { try await perform(.stop) }

    /// Pauses the training.
    public func pause() async throws(BLEError) { try await perform(.pause) }

    /// Sets an energy to expend in kilocalories, 0 to 65535.
    public func setTargetedExpendedEnergy(kilocalories: Int) async throws(BLEError) {
        try await perform(.setTargetedExpendedEnergy(kilocalories: kilocalories))
    }

    /// Sets a number of steps, 0 to 65535.
    public func setTargetedStepCount(_ count: Int) async throws(BLEError) {
        try await perform(.setTargetedStepCount(count))
    }

    /// Sets a number of strides, 0 to 65535.
    public func setTargetedStrideCount(_ count: Int) async throws(BLEError) {
        try await perform(.setTargetedStrideCount(count))
    }

    /// Sets a distance in metres, 0 to 16,777,215.
    public func setTargetedDistance(meters: Int) async throws(BLEError) {
        try await perform(.setTargetedDistance(meters: meters))
    }

    /// Sets a time in seconds, 0 to 65535.
    public func setTargetedTrainingTime(seconds: Int) async throws(BLEError) {
        try await perform(.setTargetedTrainingTime(seconds: seconds))
    }

    /// Sets times in two, three or five zones of the heart rate.
    public func setTargetedTimes(_ times: HeartRateZoneTimes) async throws(BLEError) {
        try await perform(.setTargetedTimes(times))
    }

    /// Sets the ride that an indoor bike simulates.
    public func setIndoorBikeSimulation(_ simulation: IndoorBikeSimulation) async throws(BLEError) {
        try await perform(.setIndoorBikeSimulation(simulation))
    }

    /// Sets the circumference of the wheel in millimetres, 0 to 6553.5, to the nearest tenth.
    public func setWheelCircumference(millimeters: Double) async throws(BLEError) {
        try await perform(.setWheelCircumference(millimeters: millimeters))
    }

    /// Starts the spin down procedure, and returns between which speeds the user is to let the wheel spin down. How it ends is told by
    /// ``FitnessMachineStatus/spinDown(_:)``.
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

    /// Lets the machine's request for a spin down pass.
    public func ignoreSpinDown() async throws(BLEError) { try await perform(.ignoreSpinDown) }

    /// Sets a cadence in revolutions per minute, 0 to 32767.5, to the nearest half.
    public func setTargetedCadence(perMinute: Double) async throws(BLEError) {
        try await perform(.setTargetedCadence(perMinute: perMinute))
    }

    @discardableResult
    private func perform(_ request: FitnessMachineRequest) async throws(BLEError) -> [UInt8] {
        try await controlPoint.send(request)
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

extension FitnessMachineResult: NamedConstants {
    static let names = consecutive(
        from: 1, "success", "opCodeNotSupported", "invalidParameter", "operationFailed", "controlNotPermitted")
}
