public import BLE

/// The result codes of Nordic's Secure DFU (nRF5 SDK 17, `nrf_dfu_result_t`).
public struct DFUResult: ControlPointResult {
    /// The code as sent over the air.
    public let rawValue: UInt8
    /// Creates a result from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request was performed.
    public static let success = DFUResult(rawValue: 1)
    /// There is no such opcode.
    public static let notSupported = DFUResult(rawValue: 2)
    /// A parameter is missing or not valid.
    public static let invalidParameter = DFUResult(rawValue: 3)
    /// There is not enough memory for the object.
    public static let insufficientResources = DFUResult(rawValue: 4)
    /// The object is not valid: its content, its signature, or its requirements.
    public static let invalidObject = DFUResult(rawValue: 5)
    /// There is no such type of object.
    public static let unsupportedType = DFUResult(rawValue: 7)
    /// The state does not allow the request.
    public static let notPermitted = DFUResult(rawValue: 8)
    /// The request failed.
    public static let failed = DFUResult(rawValue: 10)
    /// The request failed; the parameter has the error's number.
    public static let extendedError = DFUResult(rawValue: 11)

    /// A short description.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .notSupported: "the opcode is not supported"
        case .invalidParameter: "invalid parameter"
        case .insufficientResources: "not enough memory for the object"
        case .invalidObject: "the object is not valid"
        case .unsupportedType: "the type of object is not supported"
        case .notPermitted: "not permitted in this state"
        case .failed: "the operation failed"
        case .extendedError: "an extended error"
        default: nil
        }
    }
}
