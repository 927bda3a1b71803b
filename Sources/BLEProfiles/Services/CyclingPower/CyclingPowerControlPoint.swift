public import BLE

/// The control point of a power meter (Cycling Power Service 1.1, Cycling Power Control Point).
///
/// Every procedure throws `characteristicNotFound` for a power meter without one, `procedureFailed` with a
/// ``CyclingPowerControlPointResult`` when the power meter cannot do it, `timedOut` when it does not answer within 30 s,
/// `attributeError` with 0xFE while it does something else, `invalidArgument` for a number that no field holds, and `invalidValue`
/// for an answer without its parameter. ``CyclingPowerFeature`` tells which procedures there are.
public struct CyclingPowerControlPoint: Sendable {
    private let service: PeripheralService
    private let controlPoint: ControlPoint<CyclingPowerControlPointResult>

    /// The control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        self.service = service
        controlPoint = ControlPoint(
            Characteristic.cyclingPowerControlPoint.uuid, of: service, responseOpcode: 0x20)
    }

    /// Sets the number of wheel revolutions.
    public func setWheelRevolutions(_ count: UInt32) async throws(BLEError) {
        try await perform(.setWheelRevolutions(count))
    }

    /// Tells the sensor where it sits.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await perform(.updateSensorLocation(location))
    }

    /// Where the sensor may be put.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await perform(.supportedSensorLocations).map(SensorLocation.init(rawValue:))
    }

    /// Sets the length of the crank in millimetres, 0 to 32767.5, to the nearest half.
    public func setCrankLength(millimeters: Double) async throws(BLEError) {
        try await perform(.setCrankLength(millimeters: millimeters))
    }

    /// The length of the crank in millimetres, with a resolution of 0.5 mm.
    public func crankLengthMillimeters() async throws(BLEError) -> Double {
        Double(try await ask(.crankLength, UInt16.self)) / 2
    }

    /// Sets the length of the chain in millimetres, 0 to 65535.
    public func setChainLength(millimeters: Int) async throws(BLEError) {
        try await perform(.setChainLength(millimeters: millimeters))
    }

    /// The length of the chain in millimetres.
    public func chainLengthMillimeters() async throws(BLEError) -> Int { Int(try await ask(.chainLength, UInt16.self)) }

    /// Sets the weight of the chain in grams, 0 to 65535.
    public func setChainWeight(grams: Int) async throws(BLEError) {
        try await perform(.setChainWeight(grams: grams))
    }

    /// The weight of the chain in grams.
    public func chainWeightGrams() async throws(BLEError) -> Int { Int(try await ask(.chainWeight, UInt16.self)) }

    /// Sets the span length in millimetres, 0 to 65535.
    public func setSpanLength(millimeters: Int) async throws(BLEError) {
        try await perform(.setSpanLength(millimeters: millimeters))
    }

    /// The span length in millimetres.
    public func spanLengthMillimeters() async throws(BLEError) -> Int { Int(try await ask(.spanLength, UInt16.self)) }

    /// Compensates the offset, and returns what was measured without a load. The crank stands still meanwhile.
    public func startOffsetCompensation() async throws(BLEError) -> CyclingPowerOffset {
        CyclingPowerOffset(rawValue: try await ask(.startOffsetCompensation, Int16.self))
    }

    /// Switches fields of the measurements off, and all others on again.
    public func maskMeasurementContent(_ mask: CyclingPowerContentMask) async throws(BLEError) {
        try await perform(.maskMeasurementContent(mask))
    }

    /// How often the sensor measures, in hertz.
    public func samplingRateHertz() async throws(BLEError) -> Int { Int(try await ask(.samplingRate, UInt8.self)) }

    /// When the sensor was calibrated in its factory.
    public func factoryCalibrationDate() async throws(BLEError) -> DateTime { try await ask(.factoryCalibrationDate) }

    /// Compensates the offset, and returns what was measured without a load, and what the maker adds. The crank stands still
    /// meanwhile.
    ///
    /// When it fails, the error's ``BLE/BLEError/offsetCompensationFailure`` may tell why.
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

/// What a power meter answers at its ``CyclingPowerControlPoint``. Other numbers are reserved.
public struct CyclingPowerControlPointResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It is done.
    public static let success = CyclingPowerControlPointResult(rawValue: 1)
    /// The power meter does not know the procedure.
    public static let opCodeNotSupported = CyclingPowerControlPointResult(rawValue: 2)
    /// The parameter is not one that the power meter takes.
    public static let invalidParameter = CyclingPowerControlPointResult(rawValue: 3)
    /// It went wrong.
    public static let operationFailed = CyclingPowerControlPointResult(rawValue: 4)

    /// A few words for a person; nil for a reserved number.
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
