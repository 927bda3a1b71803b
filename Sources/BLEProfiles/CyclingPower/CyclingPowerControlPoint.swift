public import BLE

/// The control point of a power meter (Cycling Power Service 1.1, Cycling Power Control Point).
///
/// All procedures throw `characteristicNotFound` if the power meter has no control point, `procedureFailed` with a
/// ``CyclingPowerControlPointResult`` if it cannot perform the procedure, `timedOut` if it does not answer within 30 s,
/// `attributeError` with 0xFE while another procedure is in progress, `invalidArgument` for a number that is out of
/// range of its field, and `invalidValue` for an answer without its parameter. ``CyclingPowerFeature`` lists the
/// supported procedures.
public struct CyclingPowerControlPoint: Sendable {
    private let service: PeripheralService
    private let controlPoint: ControlPoint<CyclingPowerControlPointResult>

    /// Creates a client for the control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        self.service = service
        controlPoint = ControlPoint(
            Characteristic.cyclingPowerControlPoint.uuid, of: service, responseOpcode: 0x20)
    }

    /// Sets the number of wheel revolutions.
    public func setWheelRevolutions(_ count: UInt32) async throws(BLEError) {
        try await perform(.setWheelRevolutions(count))
    }

    /// Sets the location of the sensor.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await perform(.updateSensorLocation(location))
    }

    /// Returns the locations that the sensor supports.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await perform(.supportedSensorLocations).map(SensorLocation.init(rawValue:))
    }

    /// Sets the crank length in millimeters, 0 to 32767.5, rounded to halves.
    public func setCrankLength(millimeters: Double) async throws(BLEError) {
        try await perform(.setCrankLength(millimeters: millimeters))
    }

    /// Returns the crank length in millimeters, with a resolution of 0.5 mm.
    public func crankLengthMillimeters() async throws(BLEError) -> Double {
        Double(try await ask(.crankLength, UInt16.self)) / 2
    }

    /// Sets the chain length in millimeters, 0 to 65535.
    public func setChainLength(millimeters: Int) async throws(BLEError) {
        try await perform(.setChainLength(millimeters: millimeters))
    }

    /// Returns the chain length in millimeters.
    public func chainLengthMillimeters() async throws(BLEError) -> Int { Int(try await ask(.chainLength, UInt16.self)) }

    /// Sets the chain weight in grams, 0 to 65535.
    public func setChainWeight(grams: Int) async throws(BLEError) {
        try await perform(.setChainWeight(grams: grams))
    }

    /// Returns the chain weight in grams.
    public func chainWeightGrams() async throws(BLEError) -> Int { Int(try await ask(.chainWeight, UInt16.self)) }

    /// Sets the span length in millimeters, 0 to 65535.
    public func setSpanLength(millimeters: Int) async throws(BLEError) {
        try await perform(.setSpanLength(millimeters: millimeters))
    }

    /// Returns the span length in millimeters.
    public func spanLengthMillimeters() async throws(BLEError) -> Int { Int(try await ask(.spanLength, UInt16.self)) }

    /// Compensates the offset, and returns the value measured without a load. The crank must not move meanwhile.
    public func startOffsetCompensation() async throws(BLEError) -> CyclingPowerOffset {
        CyclingPowerOffset(rawValue: try await ask(.startOffsetCompensation, Int16.self))
    }

    /// Disables the given fields of measurements, and enables all others.
    public func maskMeasurementContent(_ mask: CyclingPowerContentMask) async throws(BLEError) {
        try await perform(.maskMeasurementContent(mask))
    }

    /// Returns the sampling rate in hertz.
    public func samplingRateHertz() async throws(BLEError) -> Int { Int(try await ask(.samplingRate, UInt8.self)) }

    /// Returns the date of the factory calibration.
    public func factoryCalibrationDate() async throws(BLEError) -> DateTime { try await ask(.factoryCalibrationDate) }

    /// Compensates the offset, and returns the value measured without a load, with the manufacturer's data. The crank
    /// must not move meanwhile.
    ///
    /// If it fails, the error's ``BLE/BLEError/offsetCompensationFailure`` may contain the reason.
    public func startEnhancedOffsetCompensation() async throws(BLEError) -> EnhancedOffsetCompensation {
        try await ask(.startEnhancedOffsetCompensation)
    }

    @discardableResult
    private func perform(_ request: CyclingPowerRequest) async throws(BLEError) -> [UInt8] {
        try await controlPoint.send(request)
    }

    private func ask<Value: ValueCodable>(
        _ request: CyclingPowerRequest, _: Value.Type = Value.self
    ) async throws(BLEError) -> Value {
        let answer = try await perform(request)
        do throws(BLEError) {
            return try Value(bytes: answer)
        } catch {
            throw error.at(
                service.peripheral.id, service: service.uuid,
                characteristic: Characteristic.cyclingPowerControlPoint.uuid)
        }
    }
}

/// The result code of a ``CyclingPowerControlPoint``. Other numbers are reserved.
public struct CyclingPowerControlPointResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The operation succeeded.
    public static let success = CyclingPowerControlPointResult(rawValue: 1)
    /// The power meter does not support the procedure.
    public static let opCodeNotSupported = CyclingPowerControlPointResult(rawValue: 2)
    /// The power meter does not accept the parameter.
    public static let invalidParameter = CyclingPowerControlPointResult(rawValue: 3)
    /// The operation failed.
    public static let operationFailed = CyclingPowerControlPointResult(rawValue: 4)

    /// A short description. Nil for a reserved number.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .opCodeNotSupported: "op code not supported"
        case .invalidParameter: "invalid parameter"
        case .operationFailed: "operation failed"
        default: nil
        }
    }
}

extension CyclingPowerControlPointResult: NamedConstants {
    static let names = consecutive(from: 1, "success", "opCodeNotSupported", "invalidParameter", "operationFailed")
}
