extension BLEError.Code {
    /// There is already a bond with the peripheral.
    public static let alreadyPaired = BLEError.Code("alreadyPaired")
    /// Pairing failed: a wrong number, a refusal on either side, or insufficient IO capabilities.
    public static let pairingFailed = BLEError.Code("pairingFailed")
    /// The peripheral does not accept pairing at present.
    public static let pairingRejected = BLEError.Code("pairingRejected", isRetryable: true)
    /// Another client ended the pairing.
    public static let pairingCancelled = BLEError.Code("pairingCancelled")
    /// The peripheral did not continue the pairing in time.
    public static let pairingTimedOut = BLEError.Code("pairingTimedOut", isRetryable: true)
}

extension BLEError {
    /// The error of pairing with a peripheral that already has a bond.
    public static let alreadyPaired = BLEError(
        .alreadyPaired, "there is already a bond with the peripheral", isRetryable: false,
        remedy: "If the peripheral has lost its keys, unpair first.")

    /// The error of a failed pairing, with a description of the reason.
    public static func pairingFailed(_ reason: String) -> BLEError {
        BLEError(
            .pairingFailed, "pairing failed: \(reason)",
            remedy: "Check that the peripheral is ready to pair and that the number is correct.")
    }

    /// The error of an attribute operation that started a pairing, which was refused on this side.
    public static let pairingRefused = BLEError(
        .pairingRequired, "the attribute requires a paired link, but pairing was refused on this side",
        isRetryable: false,
        remedy: "Pair with the peripheral.")
}
