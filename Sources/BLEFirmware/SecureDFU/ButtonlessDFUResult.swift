public import BLE

/// The result codes of an application that starts its bootloader (nRF5 SDK 17, `ble_dfu_buttonless_rsp_code_t`).
public struct ButtonlessDFUResult: ControlPointResult {
    /// The code as sent over the air.
    public let rawValue: UInt8
    /// Creates a result from its code.
    public init(rawValue: UInt8) { self.rawValue = rawValue }

    /// The request was performed.
    public static let success = ButtonlessDFUResult(rawValue: 1)
    /// There is no such opcode.
    public static let notSupported = ButtonlessDFUResult(rawValue: 2)
    /// The request failed.
    public static let failed = ButtonlessDFUResult(rawValue: 4)
    /// The name is not valid.
    public static let invalidName = ButtonlessDFUResult(rawValue: 5)
    /// The device is busy.
    public static let busy = ButtonlessDFUResult(rawValue: 6)
    /// The central is not bonded.
    public static let notBonded = ButtonlessDFUResult(rawValue: 7)

    /// A short description.
    public var meaning: String? {
        switch self {
        case .success: "success"
        case .notSupported: "the opcode is not supported"
        case .failed: "the operation failed"
        case .invalidName: "the name is not valid"
        case .busy: "the device is busy"
        case .notBonded: "the central is not bonded"
        default: nil
        }
    }
}
