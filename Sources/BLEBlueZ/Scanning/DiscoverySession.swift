internal import BLE

/// This client's discovery session with bluetoothd, which serves any number of scans, and connections to peripherals
/// without objects.
struct DiscoverySession {
    /// Whether bluetoothd has a session for this client.
    private(set) var isOn = false
    /// Whether the session is that of a scan.
    private(set) var isScan = false
    /// The number of connections that wait for bluetoothd to make an object, for which it scans.
    private(set) var awaitedObjects = 0
    /// The number of sessions that have ended without a request. Answers to calls from before such an end are outdated.
    private(set) var epoch = 0
    /// What is scanned for, actively or passively, without the tolerance. Nil if that is unknown.
    var filter: DiscoveryFilter?
    /// The number of changes of the scan that have their turn or wait for it.
    var changeCount = 0
    /// Whether the change that has its turn is to a scan without the management socket.
    var isLeavingSocket = false

    /// Handles the success of a start that began in an epoch. Returns false if the session has ended since.
    mutating func started(in epoch: Int) -> Bool {
        guard epoch == self.epoch else { return false }
        isOn = true
        return true
    }

    /// Uses the session for a scan.
    mutating func beginScan() { isScan = isOn }

    /// Ends its use for a scan. Returns whether the session is to be ended.
    ///
    /// - Parameter isLast: whether nothing else may use it any longer.
    mutating func endScan(isLast: Bool) -> Bool {
        isScan = false
        return end(awaitedObjects == 0 || isLast)
    }

    /// Whether an object would be the last use of the session.
    var isForOneObject: Bool { isOn && !isScan && awaitedObjects == 1 }

    mutating func beginObject() { awaitedObjects += 1 }

    /// Ends its use for an object. Returns whether the session is to be ended.
    mutating func endObject() -> Bool {
        awaitedObjects -= 1
        return end(awaitedObjects == 0 && !isScan)
    }

    private mutating func end(_ isUnused: Bool) -> Bool {
        guard isOn, isUnused else { return false }
        isOn = false
        return true
    }

    /// Handles the end of the session without a request.
    mutating func void() {
        (isOn, isScan) = (false, false)
        filter = nil
        epoch += 1
    }
}
