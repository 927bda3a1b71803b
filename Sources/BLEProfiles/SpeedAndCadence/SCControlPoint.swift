public import BLE

/// The control point of cycling and of running speed and cadence sensors (GATT Specification Supplement, SC Control
/// Point).
///
/// All procedures throw `characteristicNotFound` if the sensor has no control point, `procedureFailed` with an
/// ``SCControlPointResult`` if it cannot perform the procedure, `timedOut` if it does not answer within 30 s, and
/// `attributeError` with ``BLE/ATTError/speedAndCadenceProcedureInProgress`` while another procedure is in progress.
public struct SCControlPoint: Sendable {
    private let controlPoint: ControlPoint<SCControlPointResult>

    /// Creates a client for the control point of a service. Nothing is sent yet.
    public init(of service: PeripheralService) {
        controlPoint = ControlPoint(Characteristic.scControlPoint.uuid, of: service, responseOpcode: 0x10)
    }

    /// Sets the cumulative value of the sensor: wheel revolutions for cycling, tenths of a meter for running.
    public func setCumulativeValue(_ value: UInt32) async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.setCumulativeValue(value))
    }

    /// Calibrates the sensor, and returns when the calibration is complete. Only running sensors support it.
    public func startSensorCalibration() async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.startSensorCalibration)
    }

    /// Sets the location of the sensor.
    public func updateSensorLocation(_ location: SensorLocation) async throws(BLEError) {
        try await controlPoint.send(SCControlPointRequest.updateSensorLocation(location))
    }

    /// Returns the locations that the sensor supports.
    public func supportedSensorLocations() async throws(BLEError) -> [SensorLocation] {
        try await controlPoint.send(SCControlPointRequest.supportedSensorLocations).map(
            SensorLocation.init(rawValue:))
    }
}

/// The result code of an ``SCControlPoint``. Other numbers are reserved.
public struct SCControlPointResult: ControlPointResult {
    /// The number.
    public let rawValue: UInt8
    /// Creates a value with any number.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The operation succeeded.
    public static let success = SCControlPointResult(rawValue: 1)
    /// The sensor does not support the procedure.
    public static let opCodeNotSupported = SCControlPointResult(rawValue: 2)
    /// The sensor does not accept the parameter.
    public static let invalidOperand = SCControlPointResult(rawValue: 3)
    /// The operation failed.
    public static let operationFailed = SCControlPointResult(rawValue: 4)

    /// A short description. Nil for a reserved number.
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
    /// A speed and cadence sensor is already performing a procedure of its control point (Cycling Speed and Cadence
    /// Service 1.0, section 1.6).
    public static let speedAndCadenceProcedureInProgress = ATTError(rawValue: 0x80)
    /// The indications of a speed and cadence sensor's control point are not enabled (Cycling Speed and Cadence Service
    /// 1.0, section 1.6).
    public static let speedAndCadenceImproperlyConfigured = ATTError(rawValue: 0x81)
}
