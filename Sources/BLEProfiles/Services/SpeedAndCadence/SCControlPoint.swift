public import BLE

/// The control point that sensors of cycling and of running speed and cadence have in common
/// (GATT Specification Supplement, SC Control Point).
///
/// Every procedure throws `characteristicNotFound` for a sensor without one, `procedureFailed` with an ``SCControlPointResult`` when
/// the sensor cannot do it, `timedOut` when it does not answer within 30 s, and `attributeError` with
/// ``BLE/ATTError/speedAndCadenceProcedureInProgress`` while it does something else.
public struct SCControlPoint: Sendable {
    private let controlPoint: ControlPoint<SCControlPointResult>

    /// The control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        controlPoint = ControlPoint(Characteristic.scControlPoint.uuid, of: service, responseOpcode: 0x10)
    }

    /// Sets the number that the sensor counts up: wheel revolutions when cycling, tenths of a metre when running.
    public func setCumulativeValue(_ value: UInt32) async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.setCumulativeValue(value))
    }

    /// Starts the sensor's calibration, and returns when it is done. Only sensors for running have it.
    public func startSensorCalibration() async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.startSensorCalibration)
    }

    /// Tells the sensor where it sits.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.updateSensorLocation(location))
    }

    /// Where the sensor may be put.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await controlPoint.send(SCControlPointRequest.supportedSensorLocations).map(
            SensorLocation.init(rawValue:))
    }
}

/// What a sensor answers at its ``SCControlPoint``. Other numbers are reserved.
public struct SCControlPointResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// It is done.
    public static let success = SCControlPointResult(rawValue: 1)
    /// The sensor does not know the procedure.
    public static let opCodeNotSupported = SCControlPointResult(rawValue: 2)
    /// The parameter is not one that the sensor takes.
    public static let invalidOperand = SCControlPointResult(rawValue: 3)
    /// It went wrong.
    public static let operationFailed = SCControlPointResult(rawValue: 4)

    /// A few words for a person; nil for a reserved number.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .opCodeNotSupported: "op code not supported"
        case .invalidOperand: "invalid operand"
        case .operationFailed: "operation failed"
        default: nil
        }
    }
}

extension SCControlPointResult: NamedConstants {
    static let names = consecutive(from: 1, "success", "opCodeNotSupported", "invalidOperand", "operationFailed")
}

extension ATTError {
    /// What a speed and cadence sensor answers while a procedure of its control point is running
    /// (Cycling Speed and Cadence Service 1.0, section 1.6).
    public static let speedAndCadenceProcedureInProgress = ATTError(rawValue: 0x80)
    /// What a speed and cadence sensor answers when the indications of its control point are not switched on
    /// (Cycling Speed and Cadence Service 1.0, section 1.6).
    public static let speedAndCadenceImproperlyConfigured = ATTError(rawValue: 0x81)
}
