internal import BLE
internal import DBus

/// The requests that bluetoothd has lost with a link and will never answer, and the devices whose lost requests are
/// being looked for.
///
/// Another such request for the attribute would join a list that no longer exists: it is refused as `InProgress`, stays
/// unanswered, takes the answer of another attribute's request, or crashes bluetoothd. Only a late answer, the end of
/// the attribute's object or another bluetoothd helps.
struct LostRequests {
    /// The error of such a request.
    static let error = BLEError(
        .failed, "bluetoothd has lost an earlier request for this attribute, and answers no other", isRetryable: false,
        remedy: "Unpair the peripheral, or remove its trust and alias, and connect again; or restart bluetoothd.")

    /// The calls, by the path of the device.
    private var calls: [String: [PendingCall]] = [:]
    private var searches: [String: Task<Void, Never>] = [:]

    /// Whether bluetoothd would not answer a call of an attribute.
    func has(_ call: MethodCall) -> Bool {
        guard !calls.isEmpty, let lost = calls[call.object ?? call.path] else { return false }
        return lost.contains { $0.isLost && $0.path == call.path && $0.method == call.method }
    }

    /// The devices with lost requests.
    var devices: [String] { Array(calls.keys) }

    /// Returns the calls for a device that have not been answered after all.
    func all(ofDevice device: String) -> [PendingCall] { calls[device]?.filter(\.isLost) ?? [] }

    mutating func add(_ lost: [PendingCall], ofDevice device: String) {
        calls[device] = all(ofDevice: device) + lost
    }

    mutating func remove(_ call: PendingCall, ofDevice device: String) { removeAll(ofDevice: device) { $0 === call } }

    /// Forgets the calls to objects that no longer exist.
    mutating func update(ofDevice device: String, _ objects: ObjectTree) {
        guard calls[device] != nil else { return }
        removeAll(ofDevice: device) { objects.devices[device] == nil || !objects.hasAttribute($0.path) }
    }

    /// Forgets the calls to objects that are not among those listed.
    mutating func listed(_ objects: ObjectTree) {
        for device in calls.keys { update(ofDevice: device, objects) }
    }

    private mutating func removeAll(ofDevice device: String, where isOver: (PendingCall) -> Bool) {
        calls[device]?.removeAll(where: isOver)
        if calls[device]?.isEmpty == true { calls[device] = nil }
    }

    // MARK: Searches

    /// The searches in progress.
    var tasks: [Task<Void, Never>] { Array(searches.values) }

    func isSearching(_ device: String) -> Bool { searches[device] != nil }

    mutating func begin(_ search: Task<Void, Never>, ofDevice device: String) { searches[device] = search }

    mutating func end(ofDevice device: String) { searches[device] = nil }
}
