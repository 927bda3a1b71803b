extension BLEError {
    /// Creates the error that a backend throws for a peripheral's ATT error response.
    public init(_ answer: ATTError) {
        switch answer {
        case .insufficientAuthentication, .insufficientEncryption, .encryptionKeySizeTooShort:
            self.init(
                .pairingRequired, "the attribute requires a paired link", attError: answer,
                remedy: "Pair with the peripheral.")
        case .readNotPermitted, .writeNotPermitted, .insufficientAuthorization:
            self.init(
                .notPermitted, "the peripheral does not permit the operation", attError: answer, isRetryable: false)
        case .requestNotSupported:
            self.init(
                .notSupported, "the peripheral does not support the operation", attError: answer, isRetryable: false)
        case .invalidOffset:
            self.init(.invalidOffset, "the offset is past the value's end", attError: answer)
        case .invalidAttributeValueLength:
            self.init(.invalidLength, "the attribute does not accept a value of this length", attError: answer)
        case .attributeNotLong:
            self.init(
                .attributeError, "the peripheral does not support reading part of the value: \(answer)",
                attError: answer,
                isRetryable: false,
                remedy: "A value of just the packet length less one byte can only be had by its notifications, or with "
                    + "another packet length, from a peripheral that answers so.")
        case .prepareQueueFull, .insufficientResources, .databaseOutOfSync, .procedureInProgress:
            self.init(
                .attributeError, "the peripheral cannot perform the operation at present: \(answer)", attError: answer,
                isRetryable: true)
        default:
            self.init(.attributeError, "the peripheral responded with \(answer)", attError: answer, isRetryable: false)
        }
    }
}
