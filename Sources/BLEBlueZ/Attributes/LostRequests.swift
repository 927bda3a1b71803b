internal import BLE

/// The requests that bluetoothd has lost with a link, and the devices that are being recovered from that.
///
/// Another request for the attribute would join a list that no longer exists: it is refused as `InProgress`, stays
/// unanswered, takes the answer of another attribute's request, or crashes bluetoothd. Only the end of the attribute's
/// object helps.
struct LostRequests {
    /// The error of a request for such an attribute.
    static let error = BLEError(
        .failed, "bluetoothd has lost an earlier request for this attribute, and answers no other", isRetryable: false,
        remedy: "Unpair, or restart bluetoothd.")

    /// The paths of the attributes, by that of the device.
    private var attributes: [String: Set<String>] = [:]
    private var recoveries: [String: Task<Void, Never>] = [:]

    func has(_ attribute: String, ofDevice device: String) -> Bool {
        attributes[device]?.contains(attribute) ?? false
    }

    mutating func add(_ lost: Set<String>, ofDevice device: String) {
        attributes[device, default: []].formUnion(lost)
    }

    mutating func removeAll(ofDevice device: String) { attributes[device] = nil }

    /// Forgets all attributes, because bluetoothd is gone.
    mutating func removeAll() { attributes = [:] }

    /// The recoveries in progress.
    var tasks: [Task<Void, Never>] { Array(recoveries.values) }

    func isRecovering(_ device: String) -> Bool { recoveries[device] != nil }

    mutating func begin(_ recovery: Task<Void, Never>, ofDevice device: String) { recoveries[device] = recovery }

    mutating func end(ofDevice device: String) { recoveries[device] = nil }
}
