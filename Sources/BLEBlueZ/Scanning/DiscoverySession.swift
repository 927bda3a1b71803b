internal import BLE
internal import Waiting

/// This client's discovery session with bluetoothd, which serves any number of scans.
struct DiscoverySession {
    /// Whether bluetoothd has a session for this client.
    private(set) var isOn = false
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

    /// Handles a request to stop. Returns whether there was a session.
    mutating func stop() -> Bool {
        defer { isOn = false }
        return isOn
    }

    /// Handles the end of the session without a request.
    mutating func void() {
        isOn = false
        filter = nil
        epoch += 1
    }
}
