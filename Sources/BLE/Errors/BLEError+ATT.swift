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
                remedy:
                    "Read the whole value, without an offset. If that fails too, the value is exactly one byte shorter "
                    + "than the ATT MTU: read it over a link with a different ATT MTU.")
        case .prepareQueueFull, .insufficientResources, .databaseOutOfSync, .procedureInProgress:
            self.init(
                .attributeError, "the peripheral cannot perform the operation now: \(answer)", attError: answer,
                isRetryable: true)
        default:
            self.init(.attributeError, "the peripheral responded with \(answer)", attError: answer, isRetryable: false)
        }
    }
}
