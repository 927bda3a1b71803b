internal import BLE
internal import Waiting

/// The scan of a central.
struct CentralScan {
    /// The number of its wish for bluetoothd's session; nil without one.
    private(set) var wish: Int?
    /// Whether bluetoothd's session reports to it.
    private(set) var hasSession = false
    /// The number of scans that have ended without a request. Changes from before such an end are void.
    private(set) var epoch = 0
    /// What is scanned for, without the tolerance. Nil if that is unknown.
    var filter: DiscoveryFilter?
    /// Whether a start is under way.
    private var isStarting = false
    /// Why what has reported advertisements has ended during that start.
    private(set) var lastEnd: BLEError?

    private var changes = Turns<Int, Outcome<Void>>()
    private var lastChange = 0

    /// The number of starts and stops that are under way or wait for it.
    var changeCount: Int { changes.count }

    /// Adds a start or a stop. Returns its number, and the wait for its turn.
    mutating func addChange() -> (number: Int, turn: Outcome<Void>) {
        lastChange += 1
        return (lastChange, changes.wait(0, lastChange).turn)
    }

    mutating func endChange(_ number: Int) { changes.end(number) }

    mutating func startBegins() { (isStarting, lastEnd) = (true, nil) }

    mutating func startEnds() { isStarting = false }

    /// Handles an end of what reports advertisements. Returns false if a start is under way, which then decides.
    mutating func ended(_ error: BLEError) -> Bool {
        if isStarting { lastEnd = error } else { filter = nil }
        return !isStarting
    }

    /// Handles the beginning of a wish.
    mutating func wants(_ wish: Int) { self.wish = wish }

    /// Handles bluetoothd's start of the session.
    mutating func sessionBegan() { hasSession = wish != nil }

    /// Forgets the session. Returns its wish.
    mutating func leaveSession() -> Int? {
        defer { (wish, hasSession) = (nil, false) }
        return wish
    }

    /// Handles the end of the scan without a request.
    mutating func void() {
        _ = leaveSession()
        filter = nil
        epoch += 1
    }
}
