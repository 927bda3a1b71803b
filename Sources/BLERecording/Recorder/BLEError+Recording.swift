public import BLE

extension BLEError.Code {
    /// A recording could not be read or written.
    public static let recordingFailed = BLEError.Code("recordingFailed")
}
