/// A registration with bluetoothd, which must be renewed when bluetoothd restarts.
struct Registration: Sendable {
    /// Called when bluetoothd is gone, and the registration with it.
    let lost: @Sendable () -> Void
    /// Called when bluetoothd is back. Returns when it has accepted or refused the registration.
    let renew: @Sendable () async -> Void
}

/// The registrations of this program with bluetoothd, in order.
struct Registrations {
    private var entries: [(number: Int, registration: Registration)] = []
    private var last = 0

    /// Adds a registration. Returns its number.
    mutating func add(_ registration: Registration) -> Int {
        last += 1
        entries.append((last, registration))
        return last
    }

    mutating func remove(_ number: Int) {
        entries.removeAll { $0.number == number }
    }

    /// Informs all registrations that bluetoothd is gone.
    func lost() {
        for entry in entries { entry.registration.lost() }
    }

    /// The registrations, in the order in which they were added.
    var all: [(number: Int, registration: Registration)] { entries }

    func contains(_ number: Int) -> Bool { entries.contains { $0.number == number } }
}
