extension BLEError.Code {
    /// There is a bond with the peripheral already.
    public static let alreadyPaired = BLEError.Code(rawValue: "alreadyPaired")
    /// Pairing failed: a wrong number, a refusal on either side, or too little to show or ask with.
    public static let pairingFailed = BLEError.Code(rawValue: "pairingFailed")
    /// The peripheral does not pair now.
    public static let pairingRejected = BLEError.Code(rawValue: "pairingRejected")
    /// Somebody else ended the pairing.
    public static let pairingCancelled = BLEError.Code(rawValue: "pairingCancelled")
    /// The peripheral did not go on with the pairing in time.
    public static let pairingTimedOut = BLEError.Code(rawValue: "pairingTimedOut")
}

extension BLEError {
    /// A pairing with a peripheral that there is a bond with.
    public static let alreadyPaired = BLEError(
        .alreadyPaired, "there is a bond with the peripheral already", isRetryable: false,
        remedy: "If the peripheral has lost its half, unpair first.")

    /// A pairing that failed, for a reason in words.
    public static func pairingFailed(_ reason: String) -> BLEError {
        BLEError(
            .pairingFailed, "pairing failed: \(reason)",
            remedy: "Is the peripheral ready to pair, and was the right number given?")
    }

    /// An attribute operation that began a pairing, which was refused here.
    public static let pairingRefused = BLEError(
        .pairingRequired, "the attribute wants a paired link, and pairing was refused here", isRetryable: false,
        remedy: "Pair with the peripheral.")
}
