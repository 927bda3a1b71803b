public import BLE

extension BLEError.Code {
    /// A device did not reply in time. The cause, if there is one, is the last problem during the wait.
    public static let commandTimedOut = BLEError.Code(
        "commandTimedOut", isRetryable: true, mayHaveReachedPeripheral: true)
    /// A device rejected a message. The cause is the ``MessageRejection``.
    public static let messageRejected = BLEError.Code("messageRejected", mayHaveReachedPeripheral: true)
    /// A device sent an invalid message, or a message cannot be sent. The cause, if there is one, is the reason, for
    /// example a ``MessageError``.
    public static let invalidMessage = BLEError.Code("invalidMessage", mayHaveReachedPeripheral: true)
    /// A device answered a request with a request.
    public static let invalidMessageType = BLEError.Code("invalidMessageType", mayHaveReachedPeripheral: true)
    /// A message could not be encrypted or decrypted, or keys could not be agreed on. The cause is usually a
    /// ``MessageError``.
    public static let encryptionFailed = BLEError.Code("encryptionFailed")
    /// A feature that is not in the configuration was requested.
    public static let featureNotFound = BLEError.Code("featureNotFound")
    /// Two features claim the same command, or a feature uses one that it has not claimed.
    public static let commandConflict = BLEError.Code("commandConflict")
    /// Saved devices could not be read or written. If another program is changing them, the error is retryable.
    public static let storageFailed = BLEError.Code("storageFailed")
}

extension BLEError {
    /// Creates the error that this framework throws for a message error.
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
