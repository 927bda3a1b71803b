internal import BLE

/// The characteristics whose notifications this client has started.
struct NotificationUses {
    /// The paths of the characteristics with a delivery. Unlike the paths of a link's attributes, they outlast the
    /// link.
    private var delivered = AttributeTable<String>()
    /// The paths at which notifications were started and not stopped. bluetoothd keeps the notifications on when a link
    /// ends.
    private var started: [Peripheral.ID: Set<String>] = [:]

    /// The paths of all characteristics with a delivery.
    var deliveredPaths: Set<String> {
        Set(delivered.peripherals.flatMap { delivered.all(of: $0).map(\.value) })
    }

    /// Returns the characteristics of a peripheral with a delivery, and their paths.
    func delivered(of peripheral: Peripheral.ID) -> [(attribute: AttributeID, value: String)] {
        delivered.all(of: peripheral)
    }

    /// Returns the path of a characteristic with a delivery, or whose notifications were started.
    func path(of characteristic: AttributeID) -> String? {
        delivered[characteristic]
            ?? started[characteristic.peripheral]?.first { BlueZ.handle(ofPath: $0) == characteristic.handle }
    }

    func isStarted(_ path: String, _ peripheral: Peripheral.ID) -> Bool { started[peripheral]?.contains(path) == true }

    /// Returns the paths at which notifications of a peripheral were started.
    func started(of peripheral: Peripheral.ID) -> Set<String> { started[peripheral] ?? [] }

    /// All paths at which notifications were started.
    var allStarted: [(peripheral: Peripheral.ID, path: String)] {
        started.flatMap { peripheral, paths in paths.map { (peripheral, $0) } }
    }

    /// Records that notifications are about to be started.
    mutating func begin(_ characteristic: AttributeID, _ path: String) {
        delivered[characteristic] = path
        started[characteristic.peripheral, default: []].insert(path)
    }

    /// Removes a delivery. Returns its path; nil if there is none.
    mutating func endDelivery(of characteristic: AttributeID) -> String? {
        defer { delivered[characteristic] = nil }
        return delivered[characteristic]
    }

    /// Records that notifications are off.
    mutating func stopped(_ path: String, _ peripheral: Peripheral.ID) {
        started[peripheral]?.remove(path)
        if started[peripheral]?.isEmpty == true { started[peripheral] = nil }
    }
}
