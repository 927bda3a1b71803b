internal import BLE
internal import Waiting

/// This client's discovery session with bluetoothd, which serves any number of scans.
struct DiscoverySession {
    /// Whether bluetoothd has a session for this client's scans.
    private(set) var isOn = false
    /// The number of sessions that have ended without a request. Answers to calls from before such an end are outdated.
    private(set) var epoch = 0
    /// What is scanned for, actively or passively, without the tolerance. Nil if that is unknown.
    var filter: DiscoveryFilter?
    /// The number of changes of the scan that have their turn, wait for it, or keep it.
    var changeCount = 0
    /// Whether the change that has its turn is to a scan without the management socket.
    var isLeavingSocket = false
    /// Why the socket has ended during such a change.
    var socketEnd: BLEError?
    /// The connections that wait for objects.
    var objects = AwaitedObjects()

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

/// The connections that wait for bluetoothd to make the objects of their peripherals, in batches: it scans from the
/// first to the last connection of one, which is one change of the scan. A batch accepts more until another change
/// waits behind it.
struct AwaitedObjects {
    private struct Batch {
        /// The number of connections.
        var count = 0
        /// Those that wait for bluetoothd to scan; nil once it does.
        var starts: [Outcome<Void>]? = []
        /// Whether another change waits behind it.
        var isFollowed = false
        /// Succeeds when the last connection has left.
        let end = Outcome<Void>()
    }

    private var batches: [Int: Batch] = [:]
    private var lastBatch = 0
    /// The batch that accepts connections.
    private var open: Int?

    /// Adds a connection. Returns its batch, and the wait for bluetoothd to scan.
    mutating func join() -> (batch: Int, isNew: Bool, start: Outcome<Void>) {
        let isNew = open == nil
        if isNew {
            lastBatch += 1
            batches[lastBatch] = Batch()
        }
        let (batch, start) = (open ?? lastBatch, Outcome<Void>())
        open = batch
        batches[batch]?.count += 1
        if batches[batch]?.starts?.append(start) == nil { start.deliver(.success(())) }
        return (batch, isNew, start)
    }

    /// Ends the wait of a connection.
    mutating func leave(_ batch: Int) {
        batches[batch]?.count -= 1
        guard isEmpty(batch) else { return }
        if open == batch { open = nil }
        batches[batch]?.end.deliver(.success(()))
    }

    /// Another change waits. The batch before it accepts no more connections once bluetoothd scans.
    mutating func close() {
        guard let batch = open else { return }
        batches[batch]?.isFollowed = true
        if batches[batch]?.starts == nil { open = nil }
    }

    func isEmpty(_ batch: Int) -> Bool { batches[batch]?.count ?? 0 == 0 }

    /// Handles the result of bluetoothd's start. Returns the wait for the last connection to leave.
    mutating func begin(_ batch: Int, _ result: Result<Void, BLEError>) -> Outcome<Void>? {
        for start in batches[batch]?.starts ?? [] { start.deliver(result) }
        batches[batch]?.starts = nil
        if open == batch, batches[batch]?.isFollowed == true { open = nil }
        return batches[batch]?.end
    }

    mutating func remove(_ batch: Int) {
        batches[batch] = nil
        if open == batch { open = nil }
    }
}
