internal import BLE

/// An upload that a device receives: who sends it, and how much has arrived.
struct ReceivedUpload: Sendable {
    let image: Int
    let length: Int
    /// The SHA-256 of the whole upload. Nil if the central has not sent it; then the upload cannot go on later.
    let digest: [UInt8]?
    /// The number of bytes that have arrived.
    private(set) var offset = 0
    /// The central that sends it. Nil after the end of its link.
    private(set) var owner: DeviceID?
    /// Since the owner's last request.
    private var idle: Stopwatch
    /// Whether bytes are being stored.
    private(set) var isBusy = false

    init(image: Int, length: Int, digest: [UInt8]?, owner: DeviceID, clock: any Clock<Duration>) {
        self.image = image
        self.length = length
        self.digest = digest
        self.owner = owner
        idle = Stopwatch(clock)
    }

    /// Whether everything has arrived.
    var isComplete: Bool { offset == length }

    /// Whether a central may send: it has sent before, or no other one is at it.
    func isAvailable(to central: DeviceID) -> Bool {
        guard !isBusy else { return false }
        return owner == nil || owner == central || isComplete || idle.elapsed > ManagementSessions.holdTimeout
    }

    /// Whether a request for another upload is the beginning of this one.
    func isSame(image: Int, length: Int, digest: [UInt8]?) -> Bool {
        digest != nil && self.digest == digest && self.image == image && self.length == length
    }

    /// Records a request.
    mutating func didAsk(_ central: DeviceID, clock: any Clock<Duration>) {
        owner = central
        idle = Stopwatch(clock)
    }

    /// Begins to store bytes. ``end(count:)`` must follow.
    mutating func begin() { isBusy = true }

    /// Records that bytes were stored.
    mutating func end(count: Int) {
        isBusy = false
        offset += count
    }

    /// Records the end of a link.
    mutating func release(_ central: DeviceID) {
        if owner == central { owner = nil }
    }
}
