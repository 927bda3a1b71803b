public import BLE

extension BLEError.Code {
    /// The other side has refused or ended a transfer; see ``BLE/BLEError/transferRefusal``.
    public static let transferRefused = BLEError.Code("transferRefused", mayHaveReachedPeripheral: true)
    /// The other side of a transfer does not follow the protocol, or the data has the wrong checksum.
    public static let transferFailed = BLEError.Code("transferFailed", mayHaveReachedPeripheral: true)
}

extension BLEError {
    /// The reason of the other side, for an error with code `transferRefused`. Nil for other errors.
    public var transferRefusal: TransferRefusal? { code == .transferRefused ? cause as? TransferRefusal : nil }

    /// Creates the error for a refusal by the other side.
    init(_ refusal: TransferRefusal) {
        self.init(
            .transferRefused, "the other side has ended the transfer: \(refusal)", isRetryable: refusal.isRetryable,
            cause: refusal)
    }

    /// Creates the error for a transfer that this side has ended.
    init(endedHere refusal: TransferRefusal) {
        switch refusal {
        case .cancelled: self = .cancelled
        case .timedOut: self.init(.timedOut, "the other side has not answered", cause: refusal)
        case .tooLarge: self.init(.invalidLength, "the file is too large", isRetryable: false, cause: refusal)
        case .wrongChecksum:
            self.init(
                .transferFailed, "what has arrived does not have the checksum of the file", isRetryable: true,
                cause: refusal)
        case .invalidMessage, .version:
            self.init(
                .transferFailed, "the other side does not follow the protocol: \(refusal)", isRetryable: false,
                remedy: "Check that both sides have the same version of the protocol.", cause: refusal)
        default: self.init(.transferFailed, "\(refusal)", isRetryable: refusal.isRetryable, cause: refusal)
        }
    }
}
