internal import BLE

/// The requests that bluetoothd has lost with a link, and the devices that are being recovered from that.
///
/// bluetoothd would add another request for the attribute to a list that no longer exists: the request is refused as
/// `InProgress`, stays unanswered, receives the answer of another attribute's request, or crashes bluetoothd. The
/// attribute is usable again only after its object is removed.
struct LostRequests {
    /// The error of a request for such an attribute.
    static let error = BLEError(
        .failed, "bluetoothd has lost an earlier request for this attribute, and does not answer another one",
        isRetryable: false, remedy: "Unpair, or restart bluetoothd.")

    /// The paths of the attributes, by the path of the device.
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
