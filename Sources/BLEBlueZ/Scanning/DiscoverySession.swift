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
    /// The changes of the scan: one at a time, in the order of their requests.
    private var changes = Turns<Part, Outcome<Void>>()
    private var lastChange = 0
    /// Whether the change that has its turn is to a scan without the management socket.
    var isLeavingSocket = false

    private enum Part { case scan }

    /// Adds a change. Returns its number, and the wait for its turn.
    mutating func addChange() -> (number: Int, turn: Outcome<Void>) {
        lastChange += 1
        return (lastChange, changes.wait(.scan, lastChange).turn)
    }

    /// The number of changes that have their turn or wait for it.
    var changeCount: Int { changes.count }

    /// Ends a change, whether or not its turn has come.
    mutating func endChange(_ number: Int) { changes.end(number) }

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
