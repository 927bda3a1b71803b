internal import BLE

/// The links that were made for this client. bluetoothd ends a link for all its clients, so only these may be ended.
struct OwnLinks {
    /// The numbers of the links.
    private var own: [Peripheral.ID: Int] = [:]
    private var lastNumber = 0
    /// The links from before the loss of bluetoothd. A bluetoothd that starts soon takes over its predecessor's links.
    private var former: Set<Peripheral.ID> = []
    /// The reasons for links that this client is ending, by the device's path.
    private var reasons: [String: BLEError] = [:]
    /// When the last link of a device has ended, by the device's path.
    private var ends: [String: ContinuousClock.Instant] = [:]
    /// Since when links have been watched. Others may have ended just before.
    private var beginning = ContinuousClock.now

    /// The maximum number of links from earlier losses to remember.
    private static let capacity = 1000

    var all: Set<Peripheral.ID> { Set(own.keys) }

    func contains(_ id: Peripheral.ID) -> Bool { own[id] != nil }

    /// What distinguishes a link, or an attempt to make one, from earlier and later ones. Nil for a link that was not
    /// made for this client.
    func number(of id: Peripheral.ID) -> Int? { own[id] }

    mutating func insert(_ id: Peripheral.ID) {
        guard own[id] == nil else { return }
        lastNumber += 1
        own[id] = lastNumber
    }

    mutating func remove(_ id: Peripheral.ID) { own[id] = nil }

    /// Removes the link with that number, and no later one.
    mutating func remove(_ id: Peripheral.ID, _ number: Int?) {
        if own[id] == number { own[id] = nil }
    }

    /// Handles a new request for a link: a link from before a loss of bluetoothd that is still up belongs to this
    /// client.
    mutating func adopt(_ id: Peripheral.ID, isConnected: Bool) {
        if former.remove(id) != nil, isConnected { insert(id) }
    }

    /// Handles the loss of bluetoothd.
    mutating func stackLost() {
        former = former.count < Self.capacity ? former.union(own.keys) : all
        own = [:]
        reasons = [:]
        ends = [:]
    }

    /// Records that links are watched from now on.
    mutating func begin() { beginning = .now }

    /// The time since the last link of a device has ended, at least.
    func timeSinceEnd(_ path: String) -> Duration { .now - (ends[path] ?? beginning) }

    /// Records the end of any link of a device.
    mutating func ended(_ path: String) { ends[path] = .now }

    /// Forgets when the last link of a device has ended.
    mutating func forgetEnd(_ path: String) { ends[path] = nil }

    /// Sets the error with which the end of a device's link is reported.
    mutating func setReason(_ error: BLEError, _ path: String) { reasons[path] = error }

    /// Returns that error, and removes it.
    mutating func takeReason(_ path: String) -> BLEError? { reasons.removeValue(forKey: path) }
}
