internal import BLE

/// An upload that a device receives: which central sends it, and how much has arrived.
struct ReceivedUpload: Sendable {
    /// Distinguishes the upload from others that take its place while the storage works.
    var number: Int
    let image: Int
    let length: Int
    /// The SHA-256 of the whole upload. Nil if the central has not sent it; then the upload cannot go on later.
    let digest: [UInt8]?
    /// The number of bytes that were stored.
    var offset = 0
    /// The hash of the image, once it is complete and valid.
    var hash: [UInt8]?
    /// Whether the storage works for it.
    var isBusy = false
    /// The central that sends it.
    var holder = Holder()

    /// Whether everything has arrived.
    var isComplete: Bool { offset == length }

    /// Whether a central may send.
    func isAvailable(to central: DeviceID) -> Bool {
        isComplete && !isBusy || holder.isAvailable(to: central, isBusy: isBusy)
    }

    /// Whether a request for another upload is the beginning of this one.
    func isSame(image: Int, length: Int, digest: [UInt8]?) -> Bool {
        digest != nil && self.digest == digest && self.image == image && self.length == length
    }
}
