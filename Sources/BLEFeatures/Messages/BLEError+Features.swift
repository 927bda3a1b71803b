public import BLE

extension BLEError.Code {
    /// A device did not reply in time.
    public static let commandTimedOut = BLEError.Code(rawValue: "commandTimedOut")
    /// What came from a device is no message, or a message cannot be sent as it is; the cause is a ``MessageError``.
    public static let invalidMessage = BLEError.Code(rawValue: "invalidMessage")
    /// A device answered a request with a request.
    public static let invalidMessageType = BLEError.Code(rawValue: "invalidMessageType")
    /// A message could not be encrypted or decrypted, or keys not be agreed on; the cause is a ``MessageError``.
    public static let encryptionFailed = BLEError.Code(rawValue: "encryptionFailed")
    /// A feature that is not in the configuration was asked for.
    public static let featureNotFound = BLEError.Code(rawValue: "featureNotFound")
    /// Two features claim the same command, or a feature uses one that it has not claimed.
    public static let commandConflict = BLEError.Code(rawValue: "commandConflict")
    /// What was to be remembered about devices could not be read or written.
    public static let storageFailed = BLEError.Code(rawValue: "storageFailed")
}

extension BLEError {
    /// The error as this framework throws it.
    init(_ error: MessageError) {
        let code: Code =
            switch error {
            case .missingKey, .notEncrypted, .authenticationFailed, .replayed, .malformedCiphertext, .invalidPublicKey,
                .invalidPrivateKey, .keyUnknownToDevice, .confirmationFailed, .unrequestedReply:
                .encryptionFailed
            case .tooShort, .lengthMismatch, .unknownType, .invalidEncryptedFlag, .payloadTooLong, .bufferTooSmall:
                .invalidMessage
            }
        self.init(code, error.message, isRetryable: false, remedy: error.remedy, cause: error)
    }
}
