public import BLE

extension BLEError.Code {
    /// A device answered a management request with an error; see ``BLE/BLEError/managementFailure``.
    public static let managementFailed = BLEError.Code("managementFailed", mayHaveReachedPeripheral: true)
    /// A device sent a management response that is not valid. The cause, if there is one, is a ``SMPFrameError``.
    public static let invalidManagementResponse = BLEError.Code(
        "invalidManagementResponse", mayHaveReachedPeripheral: true)
    /// A firmware image is not valid; nothing was sent. The cause is a ``FirmwareImageError``.
    public static let invalidFirmwareImage = BLEError.Code("invalidFirmwareImage")
    /// An upload cannot go on: the device does not accept data, or what it has received is not what was sent.
    public static let uploadFailed = BLEError.Code("uploadFailed", mayHaveReachedPeripheral: true)
}

extension BLEError {
    /// The device's answer, for an error with code `managementFailed`. Nil for other errors.
    public var managementFailure: SMPFailure? { cause as? SMPFailure }

    init(_ failure: SMPFailure) {
        self.init(
            .managementFailed, "the device could not perform the request: \(failure)",
            isRetryable: failure.isTemporary, cause: failure)
    }

    init(_ error: SMPFrameError) {
        self.init(
            .invalidManagementResponse, "the device sent an invalid response: \(error)", isRetryable: false,
            remedy: "Check that the device uses the Simple Management Protocol.", cause: error)
    }

    /// Creates the error for an image that is not valid.
    public init(_ error: FirmwareImageError) {
        self.init(
            .invalidFirmwareImage, "the firmware image is not valid: \(error)", isRetryable: false,
            remedy: "Pass the signed image for MCUboot, such as zephyr.signed.bin.", cause: error)
    }

    static func lacking(field: String) -> BLEError {
        BLEError(
            .invalidManagementResponse, "the device's response has no valid field “\(field)”", isRetryable: false)
    }
}

extension CBORMap {
    /// Returns a field of a response.
    func required<Value>(_ key: String, _ value: (CBOR) -> Value?) throws(BLEError) -> Value {
        guard let found = self[key].flatMap(value) else { throw .lacking(field: key) }
        return found
    }
}
