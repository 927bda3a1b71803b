internal import BLE

/// The links that were made for this client. bluetoothd ends a link for all its clients, so only these may be ended.
struct OwnLinks {
    private var own: Set<Peripheral.ID> = []
    /// The links from before the loss of bluetoothd. A bluetoothd that starts soon takes over its predecessor's links.
    private var former: Set<Peripheral.ID> = []
    /// The reasons for links that this client is ending, by the device's path.
    private var reasons: [String: BLEError] = [:]

    /// The maximum number of links from earlier losses to remember.
    private static let capacity = 1000

    var all: Set<Peripheral.ID> { own }

    func contains(_ id: Peripheral.ID) -> Bool { own.contains(id) }

    mutating func insert(_ id: Peripheral.ID) { own.insert(id) }

    mutating func remove(_ id: Peripheral.ID) { own.remove(id) }

    /// Handles a new request for a link: a link from before a loss of bluetoothd that is still up belongs to this
    /// client.
    mutating func adopt(_ id: Peripheral.ID, isConnected: Bool) {
        if former.remove(id) != nil, isConnected { own.insert(id) }
    }

    /// Handles the loss of bluetoothd.
    mutating func stackLost() {
        former = former.count < Self.capacity ? former.union(own) : own
        own = []
        reasons = [:]
    }

    /// Sets the error with which the end of a device's link is reported.
    mutating func setReason(_ error: BLEError, _ path: String) { reasons[path] = error }

    /// Returns that error, and removes it.
    mutating func takeReason(_ path: String) -> BLEError? { reasons.removeValue(forKey: path) }
}
